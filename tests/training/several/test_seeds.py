"""Several seeds of one configuration."""

import json
import shutil
import statistics
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
from runs import StopAt
from says import Says, refuses

from tagkit.cli.shown.train_progress import seed_lines
from tagkit.config import Config, load_config
from tagkit.errors import CheckpointError, ConfigError, DataError, Interrupted
from tagkit.evaluation.reports.criterion import find_criterion
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.scores import Score
from tagkit.inference.predict.predictor import load
from tagkit.training.folder.manifest import Manifest
from tagkit.training.folder.run_files import GOLD, MODEL_FILES, RESULTS
from tagkit.training.several.seeds import (
    SeedScores,
    TrainedSeeds,
    label_spreads,
    mean_and_deviation,
    train_seeds,
)
from tagkit.training.trainer import train

SEEDS = (3, 1, 2)

USUAL = {*RESULTS} - {GOLD}  # which only classifiers without a dev corpus write


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedSeeds:
    folder = tmp_path_factory.mktemp("seeds")
    return train_seeds(tiny.config(folder, "train.seeds=[3,1,2]", "train.max_epochs=1"))


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def test_each_seed_has_a_model_and_they_differ(trained: TrainedSeeds) -> None:
    assert [score.seed for score in trained.scores] == list(SEEDS)
    models = {weights(trained.folder / f"seed-{seed}" / "best") for seed in SEEDS}
    assert len(models) == 3


def test_a_seed_among_several_gives_the_model_that_it_gives_alone(
    trained: TrainedSeeds, tmp_path: Path
) -> None:
    train(tiny.config(tmp_path, "train.seed=1", "train.max_epochs=1"))
    assert weights(tmp_path / "model" / "best") == weights(trained.folder / "seed-1" / "best")


def test_the_folders_best_is_the_seed_that_is_best_on_dev(trained: TrainedSeeds) -> None:
    best = max(trained.scores, key=lambda score: score.dev)
    assert trained.best.best.score == best.dev
    assert weights(trained.folder / "best") == weights(
        trained.folder / f"seed-{best.seed}" / "best"
    )
    assert load(trained.folder).config.train.seed == best.seed
    summary = json.loads((trained.folder / "seeds.json").read_text())
    assert [row["dev"] for row in summary] == [score.dev for score in trained.scores]


def test_mean_and_deviation_are_those_of_a_sample(trained: TrainedSeeds) -> None:
    values = [score.dev for score in trained.scores]
    mean, deviation = mean_and_deviation(values)
    assert mean == pytest.approx(sum(values) / 3)
    assert deviation == pytest.approx((sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
    assert mean_and_deviation([0.5]) == (0.5, 0.0)
    lines = list(seed_lines(trained, "F1"))
    assert lines[:1] == [""]
    assert lines[1].split() == ["seed", "epoch", "dev", "F1", "test"]
    assert [line.split()[0] for line in lines[2:5]] == ["3", "1", "2"]
    assert lines[5].split()[:2] == ["mean", f"{100 * statistics.mean(values):.2f}"]
    assert lines[6].split()[:3] == ["standard", "deviation", f"{100 * deviation:.2f}"]
    assert sum(line.endswith("*") for line in lines) == 1


@pytest.mark.slow
def test_a_run_of_seeds_goes_on_where_it_was_stopped(trained: TrainedSeeds, tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.seeds=[3,1,2]", "train.max_epochs=1")
    listener = StopAt(14)  # in the second seed
    with pytest.raises(Interrupted):
        train_seeds(config, listener, stop=listener.stop)
    with pytest.raises(CheckpointError):
        train_seeds(config)
    listener = StopAt()
    again = train_seeds(config, listener, resume=True)
    assert listener.count == 6 + 10
    assert again.scores == trained.scores
    assert weights(again.folder / "best") == weights(trained.folder / "best")


@pytest.mark.slow
def test_runs_of_other_kinds_are_neither_lost_nor_mixed(tmp_path: Path) -> None:
    one = tiny.config(tmp_path, "train.max_epochs=1")
    many = tiny.config(tmp_path, "train.max_epochs=1", "train.seeds=[1,2]")
    train(one)
    for resume in (False, True):
        with pytest.raises(CheckpointError):
            train_seeds(many, resume=resume)
    nothing = tiny.config(tmp_path, "train.seeds=[1,2]", **{"data.train_file": "nope.conll"})
    with refuses(DataError):
        train_seeds(nothing, force=True)
    assert load(tmp_path / "model")
    train_seeds(many, force=True)
    names = {"best", "seeds.json", "seed-1", "seed-2", "tagkit-run.json", *USUAL}
    assert {path.name for path in (tmp_path / "model").iterdir()} == names
    for resume in (False, True):
        with pytest.raises(CheckpointError):
            train(one, resume=resume)
    assert {path.name for path in (tmp_path / "model").iterdir()} == names
    train(one, force=True)
    assert not names & {path.name for path in (tmp_path / "model").iterdir()} - {
        "best",
        "tagkit-run.json",
        *USUAL,
    }


@pytest.mark.slow
def test_minutes_are_for_all_seeds_together(tmp_path: Path) -> None:
    config = tiny.config(
        tmp_path, "train.seeds=[3,1,2]", "train.max_epochs=1000", "train.max_minutes=0.05"
    )
    listener = StopAt()
    ended = train_seeds(config, listener)
    assert sum(epoch.seconds for epoch in listener.epochs) < 3
    assert len(ended.scores) == 3


def fake_training(monkeypatch: pytest.MonkeyPatch, scores: dict[int, float]) -> list[Config]:
    """Runs that take a minute each by the clock of the seeds and have these scores."""
    configs: list[Config] = []

    def run(config: Config, *_: object, **__: object) -> SimpleNamespace:
        configs.append(config)
        seed, folder = config.train.seed, Path(config.output.dir)
        (folder / "best").mkdir(parents=True)
        for name in MODEL_FILES:
            (folder / "best" / name).write_text(f"of seed {seed}")
        best = SimpleNamespace(score=scores[seed], number=1)
        criterion = find_criterion("auto", [Kind.SPANS], "F1")
        return SimpleNamespace(
            best=best, dev=None, test=None, folder=folder, criterion=criterion,
            results={"dev.pred": b"a"},
        )  # fmt: skip

    monkeypatch.setattr("tagkit.training.several.fits.train", run)
    monkeypatch.setattr("time.monotonic", lambda: 60.0 * len(configs))
    return configs


@pytest.mark.parametrize(
    ("scores", "best"),
    [([0.5, 0.7, 0.7, 0.6], 1), ([0.7, 0.7, 0.5, 0.7], 0), ([0.0, 0.0, 0.0, 0.0], 0),
     ([0.1, 0.2, 0.3, 0.4], 3)],
)  # fmt: skip
def test_of_seeds_that_score_the_same_the_first_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scores: list[float], best: int
) -> None:
    seeds = [4, 3, 9, 1]  # in the order in which they were given
    fake_training(monkeypatch, dict(zip(seeds, scores, strict=True)))
    found = train_seeds(tiny.config(tmp_path, f"train.seeds={seeds}"))
    assert found.best.folder.name == f"seed-{seeds[best]}"
    assert weights(found.folder / "best") == f"of seed {seeds[best]}".encode()
    assert [score.dev for score in found.scores] == scores
    assert [score.seed for score in found.scores] == seeds


def test_the_minutes_that_are_left_are_shared_by_the_seeds_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = fake_training(monkeypatch, {1: 0.1, 2: 0.2, 3: 0.3})
    train_seeds(tiny.config(tmp_path, "train.seeds=[1,2,3]", "train.max_minutes=12"))
    assert [c.train.max_minutes for c in configs] == pytest.approx([12 / 3, 11 / 2, 10 / 1])
    assert all(c.train.seeds == () for c in configs)


def test_a_resumed_seed_that_is_done_leaves_its_minutes_to_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = fake_training(monkeypatch, {1: 0.1, 2: 0.2, 3: 0.3})
    monkeypatch.setattr(
        "tagkit.training.several.seeds.is_finished", lambda run: run.name == "seed-2"
    )
    config = tiny.config(tmp_path, "train.seeds=[1,2,3]", "train.max_minutes=12")
    listener = StopAt()
    train_seeds(config, listener, resume=True)
    assert [c.train.max_minutes for c in configs] == pytest.approx([12 / 2, 1e-6, 10 / 1])
    assert listener.notes == [
        "seed 2 is done, and only scored again; the other seeds share the time limit"
    ]


def test_where_all_seeds_are_done_a_time_limit_is_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = fake_training(monkeypatch, {1: 0.1, 2: 0.2})
    monkeypatch.setattr("tagkit.training.several.seeds.is_finished", lambda _: True)
    listener = StopAt()
    config = tiny.config(tmp_path, "train.seeds=[1,2]", "train.max_minutes=12")
    train_seeds(config, listener, resume=True)
    assert [c.train.max_minutes for c in configs] == pytest.approx([1e-6, 1e-6])
    assert listener.notes == ["seeds 1, 2 are done, and only scored again"]


@pytest.mark.slow
def test_a_seed_that_its_minutes_have_ended_takes_no_further_step(tmp_path: Path) -> None:
    config = tiny.config(
        tmp_path, "train.seeds=[1,2]", "train.max_epochs=1000", "train.max_minutes=0.12"
    )
    train_seeds(config)
    folder = tmp_path / "model"
    before = [(folder / name / "history.jsonl").read_bytes() for name in ("seed-1", "seed-2")]
    train_seeds(config, resume=True)
    after = [(folder / name / "history.jsonl").read_bytes() for name in ("seed-1", "seed-2")]
    assert after == before


@pytest.mark.parametrize("has_checkpoints", [True, False])
def test_the_model_of_another_command_is_not_replaced_by_resumed_seeds(
    tmp_path: Path, *, has_checkpoints: bool
) -> None:
    train(tiny.config(tmp_path, "train.max_epochs=1"))
    model = tmp_path / "model"
    if not has_checkpoints:
        shutil.rmtree(model / "checkpoints")
    before = weights(model / "best")
    what = "a run of one seed" if has_checkpoints else "a model"
    with refuses(CheckpointError, "model", what):
        train_seeds(tiny.config(tmp_path, "train.seeds=[1]", "train.max_epochs=1"), resume=True)
    assert weights(model / "best") == before


def test_a_run_of_one_seed_does_not_replace_several_seeds(trained: TrainedSeeds) -> None:
    config = tiny.config(trained.folder.parent, "train.max_epochs=1")
    for resume in (True, False):
        with refuses(CheckpointError, "train.seeds", "several"):
            train(config, resume=resume)
    again = tiny.config(trained.folder.parent, "train.max_epochs=1", "train.seeds=[3,1,2]")
    with refuses(CheckpointError, "force=True", "finished"):
        train_seeds(again)


def test_seeds_that_have_not_all_ended_are_resumed_as_several(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.seeds=[10,9]", "train.max_epochs=1")
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train_seeds(config, listener, stop=listener.stop)
    one = tiny.config(tmp_path, "train.max_epochs=1")
    for resume in (True, False):
        with refuses(CheckpointError, "train.seeds", "several"):
            train(one, resume=resume)
    with refuses(CheckpointError, "resume=True", "continues"):
        train_seeds(config)


@pytest.mark.parametrize(
    ("name", "what"), [("learning-curve.json", "a learning curve"), ("study.db", "a search")]
)
@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("seeds", ["[]", "[1,2]"])
def test_what_another_command_has_written_is_called_by_its_name(
    tmp_path: Path, name: str, what: str, *, resume: bool, seeds: str
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / name).write_text("{}")
    Manifest(folder).record([name])
    run = train_seeds if seeds != "[]" else train
    with pytest.raises(CheckpointError) as refused:
        run(tiny.config(tmp_path, f"train.seeds={seeds}"), resume=resume)
    assert str(refused.value) == Says(folder, what, "output.dir")


def test_seeds_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with refuses(ConfigError):
        load_config(overrides=["train.seeds=[1,1]"])
    with refuses(ConfigError, "train_seeds", "several"):
        train(tiny.config(tmp_path, "train.seeds=[1,2]"))
    with refuses(ConfigError, "least"):
        train_seeds(tiny.config(tmp_path))


def test_each_type_has_mean_and_deviation_over_the_seeds(trained: TrainedSeeds) -> None:
    rows = json.loads((trained.folder / "seeds.json").read_text())
    for row, score in zip(rows, trained.scores, strict=True):
        assert row["by_label"].keys() == {"types"}
        assert row["by_label"]["types"]["LOC"]["f1"] == score.by_label["types"]["LOC"].f1
    assert trained.best.test is not None
    best = next(s for s in trained.scores if s.dev == max(each.dev for each in trained.scores))
    assert best.by_label == {"types": trained.best.test.types}  # type: ignore[attr-defined]
    spreads = label_spreads(trained.scores)["types"]
    assert [each.label for each in spreads] == sorted(best.by_label["types"])
    for each in spreads:
        found = [score.by_label["types"][each.label] for score in trained.scores]
        assert each.f1 == mean_and_deviation([score.f1 for score in found])
        assert each.precision == mean_and_deviation([score.precision for score in found])
        assert each.recall == mean_and_deviation([score.recall for score in found])
        assert each.support == found[0].support


def scores(seed: int, **f1: float) -> SeedScores:
    """Scores of a seed: precision above F1 and recall below it."""
    table = {label: Score(x + 0.1, x - 0.1, x, 7) for label, x in f1.items()}
    return SeedScores(seed, 1, 0.5, None, {"classes": table})


def test_a_label_that_a_seed_does_not_predict_counts_as_nothing() -> None:
    spreads = label_spreads([scores(1, a=0.5, b=0.4), scores(2, a=0.7)])["classes"]
    assert [each.label for each in spreads] == ["a", "b"]
    assert spreads[0].f1 == pytest.approx((0.6, 0.02**0.5))
    assert spreads[0].precision == pytest.approx((0.7, 0.02**0.5))
    assert spreads[0].recall == pytest.approx((0.5, 0.02**0.5))
    assert spreads[1].f1 == pytest.approx((0.2, 0.08**0.5))


@pytest.mark.slow
def test_fewer_seeds_than_have_ended_are_not_resumed_as_their_scores_would_be_lost(
    tmp_path: Path,
) -> None:
    train_seeds(tiny.config(tmp_path, "train.seeds=[1,2,3]", "train.max_epochs=1"))
    table = (tmp_path / "model" / "seeds.json").read_bytes()
    with refuses(CheckpointError, "model", "1", "3", "train.seeds=2", "1,3", "output.dir"):
        train_seeds(tiny.config(tmp_path, "train.seeds=[2]", "train.max_epochs=1"), resume=True)
    assert (tmp_path / "model" / "seeds.json").read_bytes() == table
    # More of them, in another order; and fewer where the table is of somebody else.
    four = tiny.config(tmp_path, "train.seeds=[4,3,2,1]", "train.max_epochs=1")
    assert [row.seed for row in train_seeds(four, resume=True).scores] == [4, 3, 2, 1]
    (tmp_path / "model" / "seeds.json").write_text("[]", encoding="utf-8")
    one = tiny.config(tmp_path, "train.seeds=[2]", "train.max_epochs=1")
    assert [row.seed for row in train_seeds(one, resume=True).scores] == [2]
