"""Models that train the language models whose states they read."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from language_parts import save_parts
from marks import mostly_slow
from program import Program
from runs import StopAt, digests
from says import Says, refuses
from small_runs import TASKS, of_task

from tagkit.cli.shown.reports import info_lines
from tagkit.config import Config, with_options
from tagkit.errors import ConfigError, Interrupted
from tagkit.features.batching.contextual_states import ContextualUnits
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.score.score import annotated
from tagkit.limits import BATCH_SIZE
from tagkit.models.base.device import to_tensors
from tagkit.models.bundle.bundle import Bundle, load_bundle
from tagkit.text.records import Sentence
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.folder.run_identity import facts_of
from tagkit.training.optim.optimizer import ModelOptimizer
from tagkit.training.setup.language_models import TrainedReader
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train

CPU = torch.device("cpu")
FURTHER = "embeddings.freeze_contextual=false"
READ = "contextual."  # of the names of the language models' tensors


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def settings(folder: Path, *options: str, task: str = "tag", unit: str = "character") -> Config:
    known = [str(folder / f"{unit}-{each}") for each in ("forward", "backward")]
    parts = known if Path(known[0]).exists() else save_parts(folder, unit)
    return of_task(folder, task, f"embeddings.contextual={json.dumps(parts)}", *options)


def prepared(config: Config) -> Prepared:
    torch.manual_seed(1)
    return prepare(config, CPU)


def loss_of(run: Prepared, count: int = 8) -> torch.Tensor:
    run.model.train()
    torch.manual_seed(2)
    total, _ = run.task.loss(run.model, to_tensors(run.encoded.batch(np.arange(count))))
    return total


def files(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


@pytest.mark.parametrize("task", mostly_slow(TASKS, always=1))
def test_before_the_first_step_the_loss_is_that_with_frozen_ones_and_each_weight_has_a_gradient(
    tmp_path: Path, cache: Path, task: str
) -> None:
    more = ["embeddings.contextual_dim=6"] if task == "both" else []
    config = settings(tmp_path, FURTHER, *more, task=task)
    run = prepared(config)
    assert not cache.exists()
    frozen = prepared(with_options(config, {"embeddings.freeze_contextual": True}))
    total, expected = loss_of(run), loss_of(frozen)
    torch.testing.assert_close(total, expected, rtol=1e-5, atol=1e-4)
    assert run.model.saved_tensors().keys() == frozen.model.saved_tensors().keys()
    assert run.model.saved_weights == frozen.model.saved_weights
    total.backward()
    read = set()
    for name, weights in run.model.named_parameters():
        assert weights.grad is not None, name
        assert weights.grad.abs().sum() > 0 or not name.startswith(READ), name
        if name.startswith(READ):
            read.add(name.removeprefix(READ).partition(".")[2])
    assert read == {
        "embed.words.trained.weight",
        *(f"encoder.layers.0.forwards.{name}_l0"
          for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
    }  # fmt: skip


@pytest.mark.slow
def test_training_changes_the_model_and_not_the_language_models_on_disk(tmp_path: Path) -> None:
    config = settings(tmp_path, FURTHER, "train.lr=0.01")
    folders = [Path(path) for path in config.embeddings.contextual]
    before = [files(folder) for folder in folders]
    trained = train(config)
    assert [files(folder) for folder in folders] == before
    originals = [load_bundle(folder).model.state_dict() for folder in folders]
    for folder in folders:
        shutil.rmtree(folder)
    model = load(tmp_path / "model")
    assert model.model.contextual is not None
    own = model.model.contextual.tensors()
    for number, tensors in enumerate(originals):
        for name, tensor in tensors.items():
            further = not name.startswith("head.") and name != "embed.words.vectors"
            assert torch.equal(own[f"{READ}{number}.{name}"], tensor) != further, name
    dev = model.task.read(settings(tmp_path)).dev
    assert annotated(model, dev, batch_size=BATCH_SIZE).report.to_dict() == trained.dev.to_dict()
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert [each["trained_further"] for each in metadata["contextual"]] == [True, True]


class Watch(Listener):
    """Keeps the weights of the language models after each epoch, and the notes."""

    def __init__(self) -> None:
        self.prepared: Prepared | None = None
        self.weights: list[dict[str, torch.Tensor]] = []
        self.notes: list[str] = []

    def on_start(self, prepared: Prepared, threads: int) -> None:
        self.prepared = prepared
        self.weights.append(self._now())

    def on_epoch(self, epoch: Epoch) -> None:
        self.weights.append(self._now())

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def _now(self) -> dict[str, torch.Tensor]:
        assert self.prepared is not None
        named = self.prepared.model.named_parameters()
        return {name: one.detach().clone() for name, one in named if name.startswith(READ)}


@pytest.mark.slow
def test_they_can_be_frozen_for_some_epochs_and_have_a_rate_of_their_own(tmp_path: Path) -> None:
    watch = Watch()
    train(
        settings(tmp_path, FURTHER, "train.unfreeze=2", "train.max_epochs=3", "encoder.layers=2"),
        watch,
    )
    first, one, two, three = watch.weights
    for name, weights in first.items():
        assert torch.equal(weights, one[name])
        assert torch.equal(weights, two[name])
        assert not torch.equal(weights, three[name]), name
    assert "epoch 1 trains the other layers alone" in watch.notes
    assert "epoch 3 trains the language models too: all layers" in watch.notes
    run = prepared(settings(tmp_path, FURTHER, "train.layer_lr_decay=0.25", "encoder.layers=2"))
    groups = ModelOptimizer(run.model, run.config.train, 1).optimizer.param_groups
    assert {group["share"]: len(group["params"]) for group in groups}[0.25] == 10
    assert {group["share"] for group in groups} == {0.25, 1}


@pytest.mark.parametrize(("epochs", "further"), [(2, [None, None]), (3, [True, True])])
def test_language_models_that_no_epoch_trains_are_not_said_to_be_trained_further(
    tmp_path: Path, epochs: int, further: list[bool | None]
) -> None:
    run = prepared(settings(tmp_path, FURTHER, "train.unfreeze=2", f"train.max_epochs={epochs}"))
    assert [each.get("trained_further") for each in facts_of(run)["contextual"]] == further
    metadata = {**facts_of(run), "epoch": 1}
    bundle = Bundle(run.vocabulary, run.config, metadata, run.model)
    (told,) = (line for line in info_lines("m", bundle) if line.startswith("contextual"))
    assert told.endswith(", trained further") == (further == [True, True])


def predictor_of(run: Prepared) -> Predictor:
    return Predictor(run.model, run.vocabulary, run.config, CPU)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["encoder.context=document"]], ids=str)
def test_a_batch_has_the_loss_of_its_sentences_alone(tmp_path: Path, options: list[str]) -> None:
    run = prepared(settings(tmp_path, FURTHER, *options))
    run.model.eval()
    whole, count = run.task.loss(run.model, to_tensors(run.encoded.batch(np.arange(6))))
    if not options:
        alone = [
            run.task.loss(run.model, to_tensors(run.encoded.batch(np.array([n])))) for n in range(6)
        ]
        assert int(count) == sum(int(one) for _, one in alone)
        torch.testing.assert_close(whole, sum(one for one, _ in alone), rtol=1e-5, atol=1e-4)
    # And the states of training are those of prediction.
    sentences = [Sentence(s.words) for s in run.corpus.train.sentences[:6]]
    batch = to_tensors(run.encoded.batch(np.arange(6))).tokens
    assert isinstance(batch.contextual, ContextualUnits)
    assert isinstance(run.model.contextual, TrainedReader)
    states = run.model.contextual.states(batch.contextual, batch.mask)
    for row, read in zip(states, run.model.contextual.read(sentences, CPU), strict=True):
        torch.testing.assert_close(row[: len(read)], torch.from_numpy(read), rtol=0, atol=1e-5)
        assert not row[len(read) :].any()


@pytest.mark.slow
def test_after_steps_prediction_reads_with_the_new_weights(tmp_path: Path) -> None:
    run = prepared(settings(tmp_path, FURTHER))
    sentences = [Sentence(s.words) for s in run.corpus.train.sentences[:4]]
    reader = run.model.contextual
    assert isinstance(reader, TrainedReader)
    before = reader.read(sentences, CPU)
    optimizer = ModelOptimizer(run.model, run.config.train, 1)
    loss_of(run).backward()
    optimizer.clip_gradients(0.0)
    optimizer.step(0.05, 0.0)
    batch = to_tensors(run.encoded.batch(np.arange(4))).tokens
    assert isinstance(batch.contextual, ContextualUnits)
    states = reader.states(batch.contextual, batch.mask).detach().numpy()
    for row, old, new in zip(states, before, reader.read(sentences, CPU), strict=True):
        assert not np.allclose(old, new, atol=1e-2)
        np.testing.assert_allclose(row[: len(new)], new, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["train.unfreeze=1", "train.workers=2"]], ids=str)
def test_a_run_that_is_stopped_goes_on_bit_for_bit(tmp_path: Path, options: list[str]) -> None:
    found = []
    for name, after in (("whole", 10**6), ("stopped", 7)):
        place = tmp_path / name
        place.mkdir()
        while True:
            listener = StopAt(after)
            try:
                config = settings(
                    tmp_path, FURTHER, "encoder.dropout=0.2", "train.checkpoint_every=3",
                    f"output.dir={place / 'model'}", *options,
                )  # fmt: skip
                train(config, listener, resume=True, stop=listener.stop)
                break
            except Interrupted:
                assert name == "stopped"
        found.append(digests(place))
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_run_with_frozen_ones_is_not_resumed_with_others(tmp_path: Path) -> None:
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    with refuses(Exception, "embeddings.freeze_contextual"):
        train(settings(tmp_path, FURTHER), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [["train.precision=bf16"], ["train.optimizer=adamw", "train.weight_decay=0.1"],
     ["train.lm_loss=0.1", "train.lm_units=characters"], ["train.averaging=triggered"],
     ["train.flow_strength=0.1", "encoder.cell=elman", "encoder.activation=tanh"]],
    ids=str,
)  # fmt: skip
def test_other_ways_of_training_train_them_too_and_a_seed_gives_one_result(
    tmp_path: Path, options: list[str]
) -> None:
    found = []
    for _ in range(2):
        more = [*options, "train.lr=0.01"]
        trained = train(settings(tmp_path, FURTHER, *more), force=True)
        assert np.isfinite([epoch.loss for epoch in trained.epochs]).all()
        assert trained.epochs[-1].loss < trained.epochs[0].loss
        found.append(digests(tmp_path))
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["word", "bpe"])
def test_models_of_words_and_byte_pairs_are_trained_too(
    tmp_path: Path, unit: str, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    program = Program(monkeypatch, capfdbinary)
    trained = train(settings(tmp_path, FURTHER, "train.max_epochs=4", unit=unit))
    assert trained.dev.headline > 0
    model, test = tmp_path / "model", tmp_path / "test.conll"
    alone = program("predict", model, test, "--workers", "1").out
    assert alone
    assert program("predict", model, test, "--workers", "2").out == alone
    assert ", trained further\n" in program("info", model).out


def test_options_that_need_language_models_or_gradients_are_refused(tmp_path: Path) -> None:
    for options, problem in (
        ([FURTHER, "embeddings.contextual=[]"],
         Says("embeddings.freeze_contextual = false", "embeddings.contextual = []")),
        (["train.unfreeze=1"],
         Says("train.unfreeze = 1", 'train.init_from = ""', "embeddings.freeze_contextual = true")),
        ([FURTHER, "encoder.cell=echo-state", "train.readout=ridge"],
         Says("embeddings.freeze_contextual = false", 'train.readout = "ridge"')),
    ):  # fmt: skip
        with refuses(ConfigError, problem):
            train(settings(tmp_path, *options))
