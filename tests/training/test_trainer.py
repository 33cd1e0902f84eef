"""Training: the loop's promises."""

import gc
import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from marks import mostly_slow
from runs import StopAt
from safetensors.torch import load_file
from says import Says, refuses
from small_runs import TASKS, of_task
from steps import loop_steps
from torch import Tensor

from tagkit.config import EmbeddingsConfig, allowed, load_config, with_options
from tagkit.errors import CheckpointError, DataError, DeviceError, Interrupted
from tagkit.features.batching import document_batches as buckets
from tagkit.inference.predict.predictor import load
from tagkit.inference.score.score import DevScores
from tagkit.models.base.device import set_threads, to_tensors
from tagkit.models.base.model import Model
from tagkit.nn.layers.encoder import LAYERS
from tagkit.nn.threads import chosen_threads, given_threads
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import illegal_count
from tagkit.training.events.callbacks import Epoch, Listener, Save, Step
from tagkit.training.folder.checkpoint import newest_checkpoint
from tagkit.training.loop.dev_loss import DevLoss
from tagkit.training.loop.state import RunState
from tagkit.training.optim.lr_schedule import Schedule
from tagkit.training.optim.optimizer import OPTIMIZERS
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import train, undisturbed


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


class Memory(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.starts: list[Prepared] = []
        self.epochs: list[Epoch] = []

    def on_start(self, prepared: Prepared, threads: int) -> None:
        self.starts.append(prepared)

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with refuses(DataError, "corpus", "1"):
        train(tiny.config(tmp_path), corpus=[1])  # type: ignore[arg-type]
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_what_a_listener_draws_changes_nothing(tmp_path: Path) -> None:
    class Drawing(Listener):
        def on_step(self, step: Step) -> None:
            torch.rand(step.done)

        def on_epoch(self, epoch: Epoch) -> None:
            torch.rand(epoch.number)

    tiny.corpus(tmp_path, 2)
    configs = [tiny.small(tmp_path, f"output.dir={tmp_path / name}") for name in "ab"]
    found = [train(config, each) for config, each in zip(configs, (None, Drawing()), strict=True)]
    assert digest(found[0].folder / "best") == digest(found[1].folder / "best")


@pytest.mark.slow
def test_a_run_in_a_callback_of_another_changes_neither(tmp_path: Path) -> None:
    tiny.corpus(tmp_path, 2)
    folders = [tmp_path / name for name in "abcd"]
    one, within, again, other = (tiny.small(tmp_path, f"output.dir={each}") for each in folders)
    other, within = (
        with_options(each, {"train.threads": 2, "train.seed": 5}) for each in (other, within)
    )

    class Training(Listener):
        def on_epoch(self, epoch: Epoch) -> None:
            if epoch.number == 1:
                train(within)
                set_threads(3)

    before = torch.get_num_threads()
    train(one)
    train(other)
    train(again, Training())
    assert torch.get_num_threads() == before
    weights = {each.name: digest(each / "best") for each in folders}
    assert weights["a"] == weights["c"] != weights["b"]
    assert weights["b"] == weights["d"]


@pytest.mark.slow
def test_gradients_that_a_program_has_turned_off_are_on_in_a_run(tmp_path: Path) -> None:
    tiny.corpus(tmp_path, 2)
    configs = [tiny.small(tmp_path, f"output.dir={tmp_path / name}") for name in "abc"]
    expected = digest(train(configs[0]).folder / "best")
    with torch.no_grad():
        assert digest(train(configs[1]).folder / "best") == expected
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        assert digest(train(configs[2]).folder / "best") == expected


def test_a_run_learns_its_corpus_and_reports_dev_and_test(tmp_path: Path) -> None:
    memory = Memory()
    trained = train(tiny.config(tmp_path), memory)
    assert trained.best.score == max(epoch.score for epoch in memory.epochs)
    assert trained.dev.micro.f1 == pytest.approx(trained.best.score)
    assert trained.test is not None
    assert trained.test.micro.f1 > 0.95
    assert memory.epochs[-1].loss < memory.epochs[0].loss / 3
    assert memory.starts[0].corpus.train.detection.scheme == "iob2"


def test_two_runs_with_one_seed_give_identical_weights_and_another_seed_others(
    tmp_path: Path,
) -> None:
    digests = []
    for name, seed in [("a", 5), ("b", 5), ("c", 6)]:
        folder = tmp_path / name
        options = [f"train.seed={seed}", f"output.dir={folder}", "train.max_epochs=2"]
        train(tiny.config(tmp_path, *options))
        digests.append((digest(folder / "best"), digest(folder / "last")))
    assert digests[0] == digests[1]
    assert digests[0][1] != digests[2][1]


def test_a_run_leaves_the_callers_random_state_alone(tmp_path: Path) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    train(tiny.config(tmp_path, "train.max_epochs=1"))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_every_optimizer_lowers_the_loss(tmp_path: Path, optimizer: str) -> None:
    memory = Memory()
    lr = 0.5 if optimizer == "sgd" else 0.01
    train(
        tiny.config(
            tmp_path, f"train.optimizer={optimizer}", f"train.lr={lr}", "train.max_epochs=3"
        ),
        memory,
    )
    assert memory.epochs[-1].loss < 0.7 * memory.epochs[0].loss


@pytest.mark.parametrize(
    ("cell", "head"),
    mostly_slow(  # torch's cells and each head once; more with the slow tests
        [("lstm", "crf"), ("gru", "softmax"), ("elman", "viterbi"), ("lstm", "feedback"),
         ("lstm", "softmax"), ("lstm", "viterbi"), ("gru", "crf"), ("gru", "viterbi"),
         ("elman", "crf"), ("elman", "softmax"), ("gru", "feedback"), ("elman", "feedback"),
         *((cell, "crf") for cell in sorted(LAYERS.keys() - {"lstm", "gru", "elman"}))],
        always=4,
    ),
)  # fmt: skip
def test_every_cell_learns_with_every_head(tmp_path: Path, cell: str, head: str) -> None:
    chars = cell if cell in allowed(EmbeddingsConfig, "char_cell") else "lstm"
    trained = train(
        tiny.config(
            tmp_path,
            f"encoder.cell={cell}",
            f"embeddings.char_cell={chars}",
            f"head.kind={head}",
            f"train.max_epochs={5 if cell in ('lstm', 'gru', 'elman') else 10}",
        )
    )
    assert trained.best.score > 0.9
    sentence = Sentence(("Ada", "Miller", "visits", "New", "York", "."))
    assert load(trained.folder).predict([sentence]) == trained.predictor.predict([sentence])


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides", [["train.batch_size=4"], ['data.tag_column=["UPOS", "MISC.NER"]']], ids="+".join
)
def test_a_head_knows_the_step_of_the_run_whatever_its_batches(
    tmp_path: Path, overrides: list[str]
) -> None:
    columns = "UPOS" in overrides[0]
    files = tiny.treebank(tmp_path) if columns else tiny.corpus(tmp_path)
    kind = ["head.kind=feedback", "head.sampling=linear", "head.sampling_steps=9"]
    run = prepare(tiny.small(tmp_path, *kind, *overrides, **files), torch.device("cpu"))
    state = RunState(run, processes_of(torch.device("cpu")), print)
    heads = run.model.heads if columns else [run.model.head]
    state.step = 40  # as of a run that is resumed
    loop_steps(state, 3)
    assert [head.step for head in heads] == [42] * len(heads)
    assert {head.sampling.probability(head.step) for head in heads} == {0.25}


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [  # what each option does is proved where it belongs
        ["encoder.merge=product", "head.constrain=train"],
        ["encoder.bidirectional=false", *tiny.WITHOUT_CHARACTERS],
        ["data.train_scheme=bilou", "train.batch_tokens=60", "train.schedule=cosine"],
        ["encoder.merge=sum", "encoder.layers=2"],
        ["data.train_scheme=iob2", "train.schedule=plateau", "embeddings.lowercase=false"],
        ["encoder.locked_dropout=0.2", "encoder.word_dropout=0.1", "train.average_decay=0"],
        ["embeddings.min_count=2", "train.warmup_steps=10"],
    ],
    ids=lambda overrides: " ".join(overrides),
)
def test_the_options_can_be_combined(tmp_path: Path, overrides: list[str]) -> None:
    assert train(tiny.config(tmp_path, *overrides, "train.max_epochs=6")).best.score > 0.8


@pytest.mark.slow
def test_feature_columns_are_read_by_the_model(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "data.feature_columns=[-2]", columns=3)
    trained = train(config)
    # Counted from the left once the file is known: prediction may lack the tags' column.
    assert trained.predictor.config.data.feature_columns == (1,)
    assert trained.predictor.vocabulary.features == (("UP", "LOW"),)
    assert trained.best.score > 0.9


def test_an_iob1_corpus_is_learnt_and_predicted_in_iob1(tmp_path: Path) -> None:
    # Two neighbours of one type: IOB1 needs its B- there, and only there.
    sentence = ["Oslo\tI-LOC", "Rome\tB-LOC", "met\tO", "Ada\tI-PER", "Novak\tI-PER"]
    files = {
        f"data.{name}_file": str(tiny.write(tmp_path / f"{name}.iob", [sentence] * 30))
        for name in ("train", "dev")
    }
    config = tiny.config(tmp_path, "train.max_epochs=8", "data.test_file=''", **files)
    trained = train(config)
    assert trained.predictor.config.data.scheme == "iob1"
    found = trained.predictor.predict(["Oslo Rome met Ada Novak".split()])[0]
    assert [token.tag for token in found.tokens] == ["I-LOC", "B-LOC", "O", "I-PER", "I-PER"]


def test_plain_labels_are_learnt_by_accuracy(tmp_path: Path) -> None:
    sentences = [["the\tDT", "dog\tNN", "barks\tVBZ"], ["a\tDT", "cat\tNN", "sleeps\tVBZ"]]
    files = {
        f"data.{name}_file": str(tiny.write(tmp_path / f"{name}.pos", sentences * 20))
        for name in ("train", "dev", "test")
    }
    trained = train(tiny.config(tmp_path, **files))
    assert trained.best.score == 1.0
    assert trained.test is not None
    assert (trained.test.scheme, trained.test.mode, trained.test.accuracy) == (
        "labels",
        "per token",
        1.0,
    )
    assert trained.predictor.predict("the dog sleeps").spans == ()


@pytest.mark.slow
def test_dev_is_split_off_when_none_is_given(tmp_path: Path) -> None:
    memory = Memory()
    train(tiny.config(tmp_path, "data.dev_fraction=0.25", **{"data.dev_file": ""}), memory)
    corpus = memory.starts[0].corpus
    assert (len(corpus.train.sentences), len(corpus.dev.sentences)) == (60, 20)
    read = [s for split in (corpus.train, corpus.dev) for s in split.sentences]
    everything = [line for sentence in tiny.lines(80, 1) for line in sentence]
    assert sorted(word for s in read for word in s.words) == sorted(
        line.split("\t")[0] for line in everything
    )


@pytest.mark.slow
def test_a_sentence_over_max_length_is_cut_into_pieces_and_told(tmp_path: Path) -> None:
    memory = Memory()
    train(tiny.config(tmp_path, "data.max_length=3"), memory)
    long = [s for s in tiny.lines(80, 1) if len(s) > 3]
    assert memory.starts[0].cut == len(long) > 0


@pytest.mark.slow
def test_words_of_dev_and_test_never_enter_the_vocabulary(tmp_path: Path) -> None:
    config = tiny.config(tmp_path)
    Path(config.data.dev_file).write_text("Zanzibar\tB-LOC\n\n", encoding="utf-8")
    vocabulary = train(config).predictor.vocabulary
    assert "zanzibar" not in vocabulary.words
    assert "Z" not in vocabulary.chars


@pytest.mark.slow
def test_training_stops_when_dev_does_not_get_better(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.patience=2", "train.max_epochs=40")
    trained = train(config)
    assert trained.ended == "patience"
    assert len(trained.epochs) == trained.best.number + 2


@pytest.mark.slow
def test_vectors_of_words_that_training_lacks_are_used_in_prediction(tmp_path: Path) -> None:
    names = ["oslo", "rome", "lima", "quito", "zagreb", "ada", "ben", "cleo", "dan", "eve"]
    rows = [f"{name} {'1 0' if i < 5 else '0 1'} 0.5" for i, name in enumerate(names)]
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for freeze in ("false", "true"):
        config = tiny.config(
            tmp_path,
            f"embeddings.vectors={path}",
            f"embeddings.freeze_vectors={freeze}",
            "embeddings.affix_dim=0",  # capitals are no help: the sentence's first word has one too
            *tiny.WITHOUT_CHARACTERS,
        )
        trained = train(config, force=True)
        vocabulary = trained.predictor.vocabulary
        assert "zagreb" not in vocabulary.words
        assert ("rome" in vocabulary.words) == (freeze == "false")
        words = trained.predictor.model.embed.words
        assert words.vectors[vocabulary.vector_row("Zagreb")].tolist() == [1.0, 0.0, 0.5]
        # An unseen name with a place's vector, in capitals that the vectors do not know.
        found = trained.predictor.predict([["Finn", "visits", "ZAGREB", "."]])[0]
        assert [(span.text, span.label) for span in found.spans][-1] == ("ZAGREB", "LOC")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "pool"),
    mostly_slow(
        [(["train.batch_tokens=26"], 3), (["train.batch_size=8"], 1)], always=1,
    ),
)  # fmt: skip
def test_the_rate_falls_to_its_end_with_the_last_step_where_epochs_differ_in_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: list[str], pool: int
) -> None:
    monkeypatch.setattr(buckets, "MAX_TOKENS", 20)  # sentences so long that memory is at risk
    monkeypatch.setattr(buckets, "_POOL_BATCHES", pool)  # each of few sentences, by chance
    rates: list[float] = []
    next_step = Schedule.next_step

    def recorded(schedule: Schedule) -> float:
        rates.append(next_step(schedule))
        return rates[-1]

    monkeypatch.setattr(Schedule, "next_step", recorded)
    trained = train(
        tiny.config(
            tmp_path, *budget, "train.max_epochs=6", "train.patience=0", "train.warmup_steps=4"
        )
    )  # fmt: skip
    ends = [0, *(epoch.step for epoch in trained.epochs)]
    assert len({after - before for before, after in pairwise(ends)}) > 1
    total = ends[-1]
    assert len(rates) == total
    last = range(ends[-2], total)
    exact = [0.02 * (1 - (step - 4) / (total - 4)) for step in last]
    assert [rates[step] for step in last] == pytest.approx(exact)
    assert rates[-1] == pytest.approx(0.02 / (total - 4))
    # The epochs before it take those to come to be as long as they are: near to the line.
    line = [0.02 * (1 - (step - 4) / (total - 4)) for step in range(4, total)]
    assert rates[4:] == pytest.approx(line, abs=0.02 * 0.1)


@pytest.mark.slow
def test_clipping_bounds_what_a_step_can_change(tmp_path: Path) -> None:
    weights = []
    for norm in (0, 1e-9):
        config = tiny.config(
            tmp_path, f"train.max_grad_norm={norm}", "train.optimizer=sgd", "train.max_epochs=1"
        )
        weights.append(
            train(config, force=True).predictor.model.head.linear.weight.detach().clone()
        )
    start = train(
        tiny.config(tmp_path, "train.lr=1e-30", "train.optimizer=sgd", "train.max_epochs=1"),
        force=True,
    ).predictor.model.head.linear.weight.detach()
    assert (weights[0] - start).abs().max() > 1e-3
    assert (weights[1] - start).abs().max() < 1e-6


def test_a_corpus_of_nothing_but_o_is_refused(tmp_path: Path) -> None:
    path = tiny.write(tmp_path / "empty.conll", [["a\tO", "b\tO"]] * 4)
    with refuses(DataError, "nothing"):
        train(load_config(flags={"data.train_file": str(path), "output.dir": str(tmp_path / "m")}))


def test_a_missing_training_file_is_named() -> None:
    with refuses(DataError, "nowhere.conll"):
        train(load_config(flags={"data.train_file": "nowhere.conll"}))
    with refuses(DataError, "data.train_file", "training"):
        train(load_config())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with refuses(DeviceError, "GPU", "there"):
        train(tiny.config(tmp_path, "train.device=cuda"))


def test_predicted_tags_are_always_well_formed(tmp_path: Path) -> None:
    # One epoch at a tiny rate: what is predicted is next to random.
    trained = train(tiny.config(tmp_path, "train.max_epochs=1", "train.lr=0.0001"))
    words = [line.split("\t")[0] for sentence in tiny.lines(40, 9) for line in sentence]
    found = trained.predictor.predict([words[i : i + 7] for i in range(0, 140, 7)])
    tags = [[token.tag for token in tagged.tokens] for tagged in found]
    assert len({tag for sentence in tags for tag in sentence}) > 2
    assert illegal_count(tags, "iob2") == 0


CPU = torch.device("cpu")
ALONE = processes_of(CPU)


def anything(_: object) -> None:
    """Takes over every checkpoint."""


def last_weights(folder: Path, name: str = "last") -> dict[str, Tensor]:
    return load_file(folder / "model" / name / "model.safetensors")


def saved(folder: Path) -> dict[str, Tensor]:
    """Tensors of the newest checkpoint."""
    checkpoint = newest_checkpoint(folder / "model" / "checkpoints", print, anything)
    assert checkpoint is not None
    return dict(checkpoint.tensors)


def test_steps_are_taken_in_training_mode_and_dev_is_scored_outside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: dict[str, list[bool]] = {"forward": [], "read": []}

    def recorded(name: str) -> None:
        whole = getattr(Model, name)

        def call(model: Model, *args: object, **options: object) -> object:
            found = {module.training for module in model.modules()}
            assert len(found) == 1
            modes[name] += found
            return whole(model, *args, **options)

        monkeypatch.setattr(Model, name, call)

    recorded("forward")
    recorded("read")
    trained = train(of_task(tmp_path, "tag", "embeddings.dropout=0.5"))
    # Ten steps and the loss of dev in one batch, twice: steps also after dev was scored.
    assert modes["forward"] == 2 * (10 * [True] + [False])
    assert len(modes["read"]) >= 2
    assert not any(modes["read"])
    kept = load(tmp_path / "model")
    expected = kept.predict("Ada visits Rome .", confidence=True)
    for predictor in (trained.predictor, kept):  # of new words, and of words that it has seen
        predictor.model.train()
        assert predictor.predict("Ada visits Rome .", confidence=True) == expected
        assert not predictor.model.training


@pytest.mark.slow
def test_a_plateau_on_dev_lowers_the_rate_of_a_run_and_of_one_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.loop.run.dev_scores", lambda *_: DevScores(0.5, {}))
    rates = []
    for after in (10**6, 7):
        config = of_task(
            tmp_path, "tag", "train.schedule=plateau", "train.max_epochs=8",
            "train.lr=0.02", "train.batch_size=16", "train.patience=0",
            f"output.dir={tmp_path / str(after) / 'model'}",
        )  # fmt: skip
        while True:
            listener = StopAt(after)
            try:
                trained = train(config, listener, resume=True, stop=listener.stop)
                break
            except Interrupted:
                pass
        rates.append([epoch.lr for epoch in trained.epochs])
    assert rates[0] == rates[1] == [*[0.02] * 4, *[0.01] * 3, 0.005]


class Weights(StopAt):
    """Keeps the weights at the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.model: Model | None = None
        self.weights: list[dict[str, Tensor]] = []

    def on_start(self, prepared: Prepared, threads: int) -> None:
        self.model = prepared.model

    def on_epoch(self, epoch: Epoch) -> None:
        assert self.model is not None
        super().on_epoch(epoch)
        named = self.model.named_parameters()
        self.weights.append({name: p.detach().clone() for name, p in named})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "losses", "best"),
    [([0.0] * 5, [3.0, 2.0, 2.5, 2.0, 4.0], [1, 2, 3, 4, 5]),
     ([0.0] * 5, [3.0, None, 2.5, 2.4, None], [1, 3, 4]),  # where it is not finite
     ([0.0, 0.0, 0.1, 0.0, 0.1], [3.0, 2.0, 9.0, 1.0, 1.0], [1, 2, 3])],
)  # fmt: skip
def test_as_long_as_epochs_score_0_the_last_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: list[float],
    losses: list[float | None], best: list[int],
) -> None:  # fmt: skip
    left, other = iter(scores), iter(losses)
    monkeypatch.setattr("tagkit.training.loop.run.dev_scores", lambda *_: DevScores(next(left), {}))
    monkeypatch.setattr("tagkit.training.loop.dev_loss.DevLoss.compute", lambda _: next(other))
    trained = train(of_task(tmp_path, "tag", "train.max_epochs=5", "train.patience=0"))
    assert [epoch.number for epoch in trained.epochs if epoch.is_best] == best
    assert [epoch.dev_loss for epoch in trained.epochs] == losses


@pytest.mark.slow
def test_of_epochs_that_score_the_same_the_first_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.4, 0.6, 0.6, 0.5, 0.6])
    monkeypatch.setattr(
        "tagkit.training.loop.run.dev_scores", lambda *_: DevScores(next(scores), {})
    )
    listener = Weights()
    config = of_task(
        tmp_path, "tag", "train.max_epochs=5", "train.patience=0", "train.average_decay=0",
        "train.optimizer=sgd",
    )  # fmt: skip
    trained = train(config, listener)
    assert trained.best.number == 2
    assert [epoch.is_best for epoch in trained.epochs] == [True, True, False, False, False]
    log = (tmp_path / "model" / "train.log").read_text().splitlines()
    assert [line.endswith("best so far") for line in log if " epoch " in line] == [
        epoch.is_best for epoch in trained.epochs
    ]
    best, last = (last_weights(tmp_path, name) for name in ("best", "last"))
    own = dict(trained.predictor.model.named_parameters())
    for name, tensor in listener.weights[1].items():
        assert torch.equal(best[name], tensor), name
        assert torch.equal(own[name], tensor), name  # and is what the run returns
        assert torch.equal(last[name], listener.weights[4][name]), name
        assert name == "head.crf.start_transitions" or not torch.equal(last[name], tensor), name


@pytest.mark.slow
def test_last_and_best_are_saved_with_the_mean_of_the_weights(tmp_path: Path) -> None:
    config = of_task(tmp_path, "tag", "train.optimizer=sgd", "train.lr=0.3", "train.max_epochs=1")
    listener = StopAt(5)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    for name in ("stopped", "ended"):
        tensors, models = saved(tmp_path), [last_weights(tmp_path)]
        if name == "ended":
            models.append(last_weights(tmp_path, "best"))
        means = {key.removeprefix("mean."): value for key, value in tensors.items()
                 if key.startswith("mean.")}  # fmt: skip
        assert means
        for key, mean in means.items():
            assert not torch.equal(mean, tensors[f"weights.{key}"]), key
            for model in models:
                assert torch.equal(model[key], mean), (name, key)
        trained = train(config, resume=True)
    # Dev was scored with the weights that were saved.
    prepared = prepare(config, CPU)
    prepared.model.load_state_dict(last_weights(tmp_path, "best"))
    assert DevLoss(prepared).compute() == pytest.approx(trained.best.dev_loss, rel=1e-5)


@pytest.mark.parametrize("task", list(TASKS))
def test_the_loss_of_an_epoch_is_the_mean_over_its_targets(tmp_path: Path, task: str) -> None:
    config = of_task(tmp_path, task, "train.lr=1e-30", "train.max_epochs=1")
    trained = train(config)
    run = prepare(config, CPU)
    run.model.load_state_dict(trained.predictor.model.state_dict())
    total, count = run.model.eval()(to_tensors(run.encoded.batch(np.arange(len(run.encoded)))))
    tokens = int(run.encoded.lengths.sum())
    assert int(count) == (len(run.encoded) if task == "classify" else tokens)
    assert trained.epochs[0].loss == pytest.approx(total.item() / int(count), rel=1e-4)


@pytest.mark.parametrize("task", list(TASKS))
def test_a_steps_gradient_is_that_of_its_loss_over_the_targets_of_an_average_step(
    tmp_path: Path, task: str
) -> None:
    config = of_task(
        tmp_path, task, "train.optimizer=sgd", "train.momentum=0", "train.max_grad_norm=0",
        "train.lr=1.0", "train.schedule=constant",
    )  # fmt: skip
    torch.manual_seed(1)
    run = prepare(config, CPU)
    state = RunState(run, ALONE, print)
    plan = state.plan_epoch().steps
    before = [p.detach().clone() for p in run.model.parameters()]
    loss, _ = run.model(to_tensors(run.encoded.batch(plan[0])))
    expected = torch.autograd.grad(loss, list(run.model.parameters()))
    targets = len(run.encoded) if task == "classify" else int(run.encoded.lengths.sum())
    assert loop_steps(state, 1) == [pytest.approx(loss.item())]
    for p, old, gradient in zip(run.model.parameters(), before, expected, strict=True):
        step = gradient.to_dense() * len(plan) / targets
        torch.testing.assert_close(old - p.detach(), step, rtol=1e-4, atol=1e-6)


class CountTables(StopAt):
    """Counts the tensors in memory that are as large as the table of words, whenever it is told."""

    def __init__(self, *steps: int) -> None:
        super().__init__(*steps)
        self.counts: set[int] = set()

    def on_start(self, prepared: Prepared, threads: int) -> None:
        self.shape = prepared.model.embed.words.trained.weight.shape

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        self._count()

    def on_epoch(self, epoch: Epoch) -> None:
        super().on_epoch(epoch)
        self._count()

    def on_save(self, save: Save) -> None:
        self._count()

    def _count(self) -> None:
        gc.collect()
        # Not isinstance, which would look at attributes of objects of all kinds.
        tensors = [t for t in gc.get_objects() if type(t) in (Tensor, torch.nn.Parameter)]
        # Those that share their memory count once.
        self.counts.add(len({t.data_ptr() for t in tensors if t.shape == self.shape}))


@pytest.mark.slow
def test_a_run_has_its_table_of_words_in_memory_four_times_resumed_or_not(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=3")
    listener = CountTables(4)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    resumed = CountTables()
    train(config, resumed, resume=True)
    assert len(resumed.epochs) >= 2
    # Weights, two moments, running mean: no second copy of the best epoch's weights, nor of what
    # was read from the checkpoint.
    assert listener.counts == resumed.counts == {4}


def test_of_a_damaged_checkpoint_the_best_weights_are_refused(tmp_path: Path) -> None:
    class Damages(Listener):
        def on_save(self, save: Save) -> None:
            if save.what == "last model":  # saved just before the best weights are read back
                for path in tmp_path.glob("*/checkpoints/*/best.safetensors"):
                    content = path.read_bytes()
                    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    with pytest.raises(CheckpointError) as caught:
        train(tiny.config(tmp_path, "train.max_epochs=1"), Damages())
    assert Says("best.safetensors") == str(caught.value)


class Drawing(Listener):
    def __init__(self) -> None:
        self.told: list[object] = []

    def on_note(self, text: str) -> None:
        torch.rand(3)
        self.told.append(text)

    def on_step(self, step: Step) -> None:
        torch.rand(3)
        raise KeyError(step)


def test_the_next_number_is_the_one_that_was_due_even_after_an_error() -> None:
    torch.manual_seed(1)
    expected = torch.rand(4).tolist()
    drawing = Drawing()
    listener = undisturbed(drawing, torch.device("cpu"))
    torch.manual_seed(1)
    found = [torch.rand(1).item()]
    listener.on_note("a")
    found.append(torch.rand(1).item())
    with pytest.raises(KeyError):
        listener.on_step("step")  # type: ignore[arg-type]
    found.append(torch.rand(1).item())
    listener.on_epoch("epoch")  # type: ignore[arg-type]  # one that it does not have
    found.append(torch.rand(1).item())
    assert found == expected
    assert drawing.told == ["a"]


def test_the_number_of_threads_is_what_it_was_even_after_an_error() -> None:
    class Setting(Listener):
        def on_note(self, text: str) -> None:
            set_threads(3)
            raise KeyError(text)

    before = torch.get_num_threads()
    with given_threads(2):
        with pytest.raises(KeyError):
            undisturbed(Setting(), torch.device("cpu")).on_note("a")
        assert torch.get_num_threads() == 2
        with chosen_threads():
            assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


@pytest.mark.cuda
def test_numbers_of_the_gpu_are_those_that_were_due_too() -> None:
    class DrawingThere(Listener):
        def on_note(self, text: str) -> None:
            torch.rand(3, device="cuda")

    torch.manual_seed(1)
    expected = torch.rand(2, device="cuda").tolist()
    listener = undisturbed(DrawingThere(), torch.device("cuda"))
    torch.manual_seed(1)
    found = [torch.rand(1, device="cuda").item()]
    listener.on_note(text="a")
    assert [*found, torch.rand(1, device="cuda").item()] == expected
