"""Runs whose read-out is solved in closed form: sums, choice of the penalty, resuming, refusals."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiny
import torch
from marks import mostly_slow
from runs import StopAt, digests
from says import Says, refuses

from tagkit.cli.shown.reports import info_lines
from tagkit.config import Config, load_config
from tagkit.errors import ConfigError, Interrupted, TrainingError
from tagkit.features.batching.batch import Batch
from tagkit.inference.predict.predictor import load
from tagkit.models.base.model import Model
from tagkit.models.bundle.bundle import load_bundle
from tagkit.nn.heads.ridge import RidgeSums, Solution
from tagkit.training.events.callbacks import Listener
from tagkit.training.readout import PENALTIES
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train

SMALL = [
    "encoder.cell=echo-state", "encoder.hidden=40", "encoder.leak=1", "train.readout=ridge",
    "embeddings.word_dim=20", "embeddings.char_cell=none", "embeddings.affix_dim=10",
    "train.batch_size=16", "train.device=cpu",
]  # fmt: skip


def settings(folder: Path, *overrides: str, task: str = "tag") -> Config:
    files = {"tag": tiny.corpus, "classify": tiny.classified, "both": tiny.joint}[task](folder)
    own = [f"task={task}", f"output.dir={folder / 'model'}"]
    own += ["head.pooling=mean+max"] if task != "tag" else []
    return load_config(overrides=[*SMALL, *own, *overrides], flags=files)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tagger whose penalty was chosen on dev."""
    return train(settings(tmp_path_factory.mktemp("solved")))


def test_a_run_has_one_epoch_that_is_saved_and_scored_as_any_other(trained: Trained) -> None:
    (epoch,) = trained.epochs
    assert (epoch.number, epoch.step, epoch.lr, epoch.is_best) == (1, 5, 0.0, True)
    assert trained.dev.headline > 0.9
    assert epoch.score == trained.dev.headline
    # Those of a model that has learnt: of 5 tags each by chance it would be 1.6 nats.
    assert 0 < epoch.loss < 0.5
    assert epoch.dev_loss is not None
    assert 0 < epoch.dev_loss < 0.5
    lines = (trained.folder / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["dev"] for line in lines] == [epoch.score]


def test_a_saved_model_is_of_the_only_epoch(trained: Trained) -> None:
    lines = info_lines("solved", load_bundle(trained.folder))
    assert "epoch       1 of 1, seed 1" in list(lines)


def test_the_saved_model_answers_as_the_solved_one(trained: Trained) -> None:
    loaded = load(trained.folder)
    words = [["Ada", "visits", "Rome", "."], ["Ben"], ["Cleo", "Novak", "likes", "New", "York"]]
    answers = trained.predictor.predict(words)
    assert loaded.predict(words) == answers
    assert [loaded.predict([each])[0] for each in words] == answers  # alone equals in a batch


@pytest.mark.parametrize("kind", mostly_slow(["crf", "softmax", "viterbi"], always=1))
def test_every_linear_head_of_tags_is_solved(tmp_path: Path, kind: str) -> None:
    assert train(settings(tmp_path, f"head.kind={kind}")).dev.headline > 0.9


@pytest.mark.parametrize("task", mostly_slow(["classify", "both"], always=1))
def test_classes_are_solved_too(tmp_path: Path, task: str) -> None:
    assert train(settings(tmp_path, task=task)).dev.headline > 0.9


@pytest.mark.slow
def test_the_penalty_of_the_best_score_on_dev_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [0.3, 0.1, 0.7, 0.2, 0.7, 0.4]  # the first of the two best is the smaller penalty
    left = iter(chosen)
    monkeypatch.setattr("tagkit.training.readout._dev_rank", lambda run: next(left))
    listener = StopAt()
    train(settings(tmp_path), listener)
    note = f"ridge regression: the best penalty on dev is {PENALTIES[2]:g}"
    assert note in listener.notes
    found = digests(tmp_path)
    monkeypatch.setattr("tagkit.training.readout.PENALTIES", PENALTIES[2:3])
    left = iter([0.0])
    train(settings(tmp_path), force=True)
    assert digests(tmp_path) == found


@pytest.mark.slow
def test_the_size_of_batches_does_not_change_the_scores(tmp_path: Path) -> None:
    found = []
    for size in (4, 80):
        sizes = [f"train.batch_size={size}", "embeddings.min_count=2"]
        own = train(settings(tmp_path, *sizes), force=True)
        found.append(own.predictor.model.state_dict())
    for name, tensor in found[0].items():
        torch.testing.assert_close(found[1][name], tensor, rtol=1e-3, atol=1e-4, msg=name)


def test_an_attempt_that_was_short_of_memory_is_not_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[RidgeSums] = []
    failing: set[int] = set()
    sizes: list[int] = []
    solve, read = RidgeSums.solve, Model.read_batch

    def kept(own: RidgeSums, penalties: Sequence[float]) -> list[Solution]:
        found.append(own)
        return solve(own, penalties)

    def limited(model: Model, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        sizes.append(len(batch.tokens.mask))
        if len(sizes) in failing:
            raise MemoryError
        return read(model, batch)

    monkeypatch.setattr(RidgeSums, "solve", kept)
    monkeypatch.setattr(Model, "read_batch", limited)
    train(settings(tmp_path, "embeddings.min_count=2"))
    sizes.clear()
    failing |= {1, 3}  # the whole batch; then the second half of it, after the first was read
    train(settings(tmp_path, "embeddings.min_count=2"), force=True)
    assert sizes[:7] == [16, 8, 8, 4, 4, 4, 4]
    whole, cut = (own.tensors() for own in found)
    for expected, tensor in zip(whole, cut, strict=True):
        torch.testing.assert_close(tensor, expected, rtol=1e-5, atol=1e-4)


def test_what_lies_on_padding_has_no_part_in_the_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train(settings(tmp_path)).predictor.model.state_dict()
    read = Model.read_batch

    def spoilt(model: Model, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        states, final = read(model, batch)
        return states.masked_fill(~batch.tokens.mask.unsqueeze(2), torch.nan), final

    monkeypatch.setattr(Model, "read_batch", spoilt)
    found = train(settings(tmp_path), force=True).predictor.model.state_dict()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def test_a_run_that_is_stopped_begins_again_and_ends_with_the_same_weights(tmp_path: Path) -> None:
    train(settings(tmp_path))
    undisturbed = digests(tmp_path)
    listener = StopAt(3)
    with refuses(Interrupted, "3", "stopped"):
        train(settings(tmp_path), listener, force=True, stop=listener.stop)
    train(settings(tmp_path), resume=True)
    assert digests(tmp_path) == undisturbed
    again = StopAt()
    resumed = train(settings(tmp_path), again, resume=True)  # it has ended: nothing is read again
    assert (again.count, len(resumed.epochs), resumed.ended) == (0, 1, "epochs")
    assert digests(tmp_path) == undisturbed


def test_states_that_are_no_numbers_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RidgeSums, "are_finite", False)
    with pytest.raises(TrainingError) as raised:
        train(settings(tmp_path))
    assert str(raised.value) == (
        "the states of the training corpus are not finite: lower encoder.spectral_radius"
    )


@pytest.mark.parametrize(
    ("task", "overrides", "problems"),
    [
        ("tag", ["encoder.cell=leaky"],
         (Says("encoder.cell = 'echo-state'", "'leaky'"),)),
        ("tag", ["encoder.leak=learned", "encoder.output_layers=[5]", "head.kind=feedback"],
         (Says("encoder.leak = 'learned'", "'spectrum'"), Says("encoder.output_layers"),
          Says("head.kind = 'feedback'", "'crf', 'softmax' or 'viterbi'"))),
        ("tag", ["encoder.layers=2", "encoder.connection=highway"],
         (Says("encoder.connection = 'highway'", "'residual'"),)),
        ("classify", ["head.pooling=attention", "head.hidden=[4]"],
         (Says("head.pooling = 'attention'", "'concat'"), Says("head.hidden"))),
        ("classify", ["head.multi_label=yes", "head.class_weights=balanced"],
         (Says("head.class_weights"),)),
    ],
)  # fmt: skip
def test_what_would_have_to_be_trained_is_refused(
    tmp_path: Path, task: str, overrides: list[str], problems: tuple[Says, ...]
) -> None:
    with pytest.raises(ConfigError) as raised:
        train(settings(tmp_path, *overrides, task=task), Listener())
    assert (raised.value.source, raised.value.problems) == ("train.readout = 'ridge'", problems)
    assert not (tmp_path / "model" / "best").exists()


@pytest.mark.slow
def test_a_saved_configuration_trains_the_same_model_again(trained: Trained) -> None:
    config = load_config(trained.folder / "best" / "config.toml")
    assert (config.train.lr, config.train.max_epochs, config.train.patience) == ("auto",) * 3
    # None of its options is refused as one without an effect.
    again = trained.folder.parent / "again"
    found = train(config.model_copy(
        update={"output": config.output.model_copy(update={"dir": str(again)})}
    ))  # fmt: skip
    weights = [each.predictor.model.state_dict() for each in (found, trained)]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())
