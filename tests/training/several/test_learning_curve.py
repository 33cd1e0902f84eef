"""Learning curves: what is trained, what is kept, what is refused."""

import json
import math
import threading
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny
from says import Says, refuses

from tagkit.config import Config
from tagkit.errors import (
    BundleError,
    CheckpointError,
    ConfigError,
    DataError,
    Interrupted,
    TagkitError,
)
from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.storage import CURVE
from tagkit.training.events.callbacks import Step
from tagkit.training.several.curve_sizes import counts_of, usual_counts
from tagkit.training.several.learning_curve import CurveListener, CurveTable, learning_curve
from tagkit.training.trainer import train

SIZES = (20, 40, Fraction(1))


def settings(folder: Path, *overrides: str, **flags: object) -> Config:
    return tiny.config(
        folder, "train.max_epochs=2", f"output.dir={folder / 'curve'}", *overrides, **flags
    )


class Recorder(CurveListener):
    """Keeps what it receives; asks the curve to end after a step of a training."""

    def __init__(self, stop_in: tuple[int, int] | None = None) -> None:
        self.started: list[Any] = []
        self.trainings: list[tuple[int, int]] = []
        self.points: list[tuple[Point, bool]] = []
        self.stop = threading.Event()
        self.stop_in = stop_in

    def on_start(self, sizes: Sequence[int], seeds: Sequence[int], measure: str, unit: str) -> None:
        self.started.append((tuple(sizes), tuple(seeds), measure, unit))

    def on_training(self, sentences: int, seed: int) -> None:
        self.trainings.append((sentences, seed))

    def on_step(self, step: Step) -> None:
        if self.trainings[-1] == self.stop_in and step.run_done == 3:
            self.stop.set()

    def on_point(self, point: Point, *, was_there: bool) -> None:
        self.points.append((point, was_there))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LearningCurve, Recorder]:
    folder = tmp_path_factory.mktemp("curve")
    recorder = Recorder()
    return folder, learning_curve(settings(folder), SIZES, listener=recorder), recorder


def scored(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Trainings take no time: the score is the share of a thousand; the configurations of all."""
    trained: list[Config] = []

    def run(config: Config, *_: object, **__: object) -> SimpleNamespace:
        trained.append(config)
        score = (config.data.train_sentences or 80) / 1000 + config.train.seed / 10_000
        return SimpleNamespace(
            criterion=SimpleNamespace(of_report=lambda report: report), dev=score
        )

    monkeypatch.setattr("tagkit.training.several.fits.train", run)
    return trained


def test_a_model_to_start_from_that_is_not_there_is_named(
    tmp_path: Path, measured: tuple[Path, LearningCurve, Recorder]
) -> None:
    for folder, resume, rest in (
        (tmp_path, True, ""),
        (measured[0], True, ". A run is resumed with what it started with: put it back"),
    ):
        with pytest.raises(BundleError) as refused:
            learning_curve(settings(folder, "train.init_from=lost"), SIZES, resume=resume)
        assert str(refused.value) == Says("train.init_from", rest)


def test_each_size_is_trained_once_and_reported_in_order(
    measured: tuple[Path, LearningCurve, Recorder],
) -> None:
    _, curve, recorder = measured
    assert recorder.started == [((20, 40, 80), (1,), "F1", "sentence")]
    assert recorder.trainings == [(20, 1), (40, 1), (80, 1)]
    assert recorder.points == [(point, False) for point in curve.points]
    assert [point.sentences for point in curve.points] == [20, 40, 80]
    assert [each.sentences for each in curve.forecasts] == [160, 320]


def test_the_point_of_all_sentences_is_the_score_that_train_gives(
    measured: tuple[Path, LearningCurve, Recorder], tmp_path: Path
) -> None:
    _, curve, _ = measured
    trained = train(settings(tmp_path))
    assert curve.points[-1].score == trained.best.score == trained.dev.headline


@pytest.mark.slow
def test_the_point_of_a_part_is_that_of_training_on_so_many_sentences(
    measured: tuple[Path, LearningCurve, Recorder], tmp_path: Path
) -> None:
    _, curve, _ = measured
    trained = train(settings(tmp_path, "data.train_sentences=40"))
    assert curve.points[1].score == trained.best.score
    log = (tmp_path / "curve" / "train.log").read_text()
    assert "train.conll: 40 sentences, " in log
    assert "dev.conll: 20 sentences, " in log


def test_the_curve_and_its_picture_are_kept_and_no_model(
    measured: tuple[Path, LearningCurve, Recorder],
) -> None:
    folder, curve, _ = measured
    assert sorted(path.name for path in (folder / "curve").iterdir()) == [
        "learning-curve.json", "learning-curve.svg", "tagkit-run.json",
    ]  # fmt: skip
    record = json.loads((folder / "curve" / "learning-curve.json").read_text())
    kept = {
        key: record[key] for key in ("measure", "unit", "points", "law", "forecasts", "remarks")
    }
    assert kept == curve.to_dict()


def test_a_curve_of_several_seeds_draws_other_sentences_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch)
    curve = learning_curve(settings(tmp_path, "train.seeds=[2,3]"), SIZES)
    assert [(c.data.train_sentences, c.train.seed) for c in trained] == [
        (20, 2), (20, 3), (40, 2), (40, 3), (0, 2), (0, 3),
    ]  # fmt: skip
    assert all(not c.train.seeds and not c.data.test_file for c in trained)
    assert [(p.sentences, p.seed) for p in curve.points] == [
        (20, 2), (20, 3), (40, 2), (40, 3), (80, 2), (80, 3),
    ]  # fmt: skip


def test_what_is_there_is_not_trained_again_and_more_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch)
    first = learning_curve(settings(tmp_path), SIZES)
    again = learning_curve(settings(tmp_path), SIZES, resume=True)
    assert again == first
    assert len(trained) == 3
    recorder = Recorder()
    more = learning_curve(
        settings(tmp_path, "train.seeds=[1,2]"), (10, 20, 80), listener=recorder, resume=True
    )
    assert recorder.trainings == [(10, 1), (10, 2), (20, 2), (80, 2)]
    assert [was_there for _, was_there in recorder.points] == [0, 0, 1, 0, 1, 0]
    assert len(more.points) == 7  # that of 40 sentences stays
    assert {*first.points} < {*more.points}


def test_without_sizes_a_resumed_curve_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch)
    first = learning_curve(settings(tmp_path), SIZES)
    assert learning_curve(settings(tmp_path), resume=True) == first
    assert len(trained) == 3
    learning_curve(settings(tmp_path), (10, 20, 80), resume=True)
    recorder = Recorder()
    learning_curve(settings(tmp_path, "train.seeds=[1,2]"), None, listener=recorder, resume=True)
    assert recorder.trainings == [(10, 2), (20, 2), (40, 2), (80, 2)]


def test_a_curve_that_is_stopped_at_once_keeps_its_seeds_and_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Interrupted("stopped")

    monkeypatch.setattr("tagkit.training.several.fits.train", stopped)
    with pytest.raises(Interrupted):
        learning_curve(settings(tmp_path, "train.seeds=[3,2]"), SIZES)
    trained = scored(monkeypatch)

    def resumed(*overrides: str) -> set[int]:
        curve = learning_curve(settings(tmp_path, *overrides), resume=True)
        assert {point.sentences for point in curve.points} == {20, 40, 80}
        return {config.train.seed for config in trained}

    assert resumed() == {2, 3}
    assert len(trained) == 6
    assert resumed("train.seed=2") == {2, 3}  # as a file of all options names one
    assert len(trained) == 6
    assert resumed("train.seeds=[2,3,4]") == {2, 3, 4}
    assert len(trained) == 9


def test_a_share_of_a_corpus_whose_dev_is_split_off_is_one_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch)
    config = settings(tmp_path, "data.dev_fraction=0.25", **{"data.dev_file": ""})
    curve = learning_curve(config, [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
    assert [point.sentences for point in curve.points] == [15, 30, 60]
    assert [config.data.train_sentences for config in trained] == [15, 30, 0]


@pytest.mark.slow
def test_a_curve_that_is_stopped_goes_on_with_the_step_that_follows(
    measured: tuple[Path, LearningCurve, Recorder], tmp_path: Path
) -> None:
    recorder = Recorder(stop_in=(40, 1))
    with pytest.raises(Interrupted) as raised:
        learning_curve(settings(tmp_path), SIZES, listener=recorder, stop=recorder.stop)
    assert str(raised.value) == "stopped in the training on 40 of 80, which can be continued"
    assert (tmp_path / "curve" / "size-40-seed-1" / "checkpoints").exists()
    with pytest.raises(CheckpointError) as refused:
        learning_curve(settings(tmp_path), SIZES)
    assert str(refused.value) == (Says(tmp_path, "resume=True", "force=True"))
    again = Recorder()
    curve = learning_curve(settings(tmp_path), SIZES, listener=again, resume=True)
    assert curve == measured[1]
    assert again.trainings == [(40, 1), (80, 1)]
    assert not (tmp_path / "curve" / "size-40-seed-1").exists()


def test_a_curve_of_before_goes_on_with_the_defaults_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch)
    learning_curve(settings(tmp_path), SIZES)
    file = tmp_path / "curve" / "learning-curve.json"
    now = file.read_text()
    former = now.replace('"encoder.word_dropout": "auto"', '"encoder.word_dropout": 0.05')
    assert former != now
    file.write_text(former)
    learning_curve(settings(tmp_path), (10, 20, 80), resume=True)
    assert [config.encoder.word_dropout for config in trained] == ["auto"] * 3 + [0.05]


def test_a_curve_is_resumed_with_the_same_options_and_corpora_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(monkeypatch)
    learning_curve(settings(tmp_path), SIZES)
    with pytest.raises(CheckpointError) as raised:
        learning_curve(settings(tmp_path, "encoder.hidden=9"), SIZES, resume=True)
    assert str(raised.value) == (
        Says(tmp_path, "encoder.hidden", "16", "9", "output.dir", "force=True")
    )
    config = settings(tmp_path)
    tiny.write(tmp_path / "train.conll", tiny.lines(80, 5))
    with refuses(CheckpointError, "learning"):
        learning_curve(config, SIZES, resume=True)
    assert learning_curve(config, SIZES, force=True).points


def test_a_folder_that_holds_something_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(monkeypatch)
    config = settings(tmp_path)
    (tmp_path / "curve").mkdir()
    (tmp_path / "curve" / "learning-curve.json").write_text('{"mine": 1}')
    for force in (False, True):
        with refuses(CheckpointError, "curve.json", "learning"):
            learning_curve(config, SIZES, force=force)
    assert (tmp_path / "curve" / "learning-curve.json").read_text() == '{"mine": 1}'


@pytest.mark.slow
def test_a_model_is_not_replaced_by_a_curve(tmp_path: Path) -> None:
    config = settings(tmp_path, "train.max_epochs=1")
    train(config)
    for force in (False, True):
        with refuses(CheckpointError, "learning"):
            learning_curve(config, SIZES, force=force)
    assert (tmp_path / "curve" / "best" / "model.safetensors").exists()


def test_without_sizes_each_is_twice_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(monkeypatch)
    recorder = Recorder()
    learning_curve(settings(tmp_path), None, listener=recorder)  # 80 sentences: a 16th would be 5
    assert recorder.started[0][0] == (10, 17, 28, 48, 80)


@pytest.mark.parametrize("total", [14, 15, 83, 100, 159, 160, 161, 168, 999, 8_936])
def test_the_usual_sizes_begin_with_ten_sentences_or_a_16th(total: int) -> None:
    counts = usual_counts(total, "train.conll", "sentence")
    assert counts[0] == max(10, round(Fraction(total, 16)))
    assert counts[-1] == total
    assert all(before < after for before, after in pairwise(counts))
    if total >= 160:
        assert counts == tuple(round(Fraction(total, 2**power)) for power in (4, 3, 2, 1, 0))


def test_thirteen_sentences_make_no_curve() -> None:
    with refuses(DataError, "train.conll", "13", "14", "sentences"):
        usual_counts(13, "train.conll", "sentence")


@pytest.mark.parametrize(
    "sizes",
    [
        [0.25, 0.5, 1.0],
        ["1/4", "1/2", "1/1"],
        ["0.25", "0.5", "1.0"],
        [Fraction(1, 4), Fraction(1, 2), Fraction(1)],
        [np.int64(20), "40", 80],
    ],
)
def test_sizes_are_given_as_numbers_shares_or_text(sizes: list[Any]) -> None:
    assert counts_of(sizes, 80, "train.conll", "sentence") == (20, 40, 80)


@pytest.mark.parametrize(
    ("size", "found"),
    [(None, "None"), (True, "True"), ([1], "[1]"), (math.nan, "nan"), ("a half", "'a half'")],
)
def test_what_is_no_size_is_refused_and_shown(size: Any, found: str) -> None:
    with refuses(ConfigError, "sizes", "1/8", f"found {found}"):
        counts_of([10, size, 20], 80, "train.conll", "sentence")


@pytest.mark.parametrize(
    ("override", "sizes", "kind", "problem"),
    [
        (
            "",
            (Fraction(1, 16), 40, 80),
            DataError,
            "{0}: has 80 sentences to train on; parts of 5,",
        ),
        ("", (), ConfigError, "at least 3 sizes, found none"),
        ("", (20, 40), ConfigError, "at least 3 sizes, found 20, 40"),
        ("", (40, 20, 80), ConfigError, "found 40, 20, 80"),
        ("", (20, 20, 80), ConfigError, "found 20, 20, 80"),
        ("", (20, 40, 81), DataError, "{0}: has 80 sentences to train on, fewer than the largest"),
        ("", (20, 40, Fraction(5, 4)), ConfigError, "up to 1, found 5/4"),
        ("", (0, 40, 80), ConfigError, "above 0"),
        ("train.max_minutes=1", SIZES, ConfigError, "train.max_minutes"),
        ("data.train_sentences=30", SIZES, ConfigError, "data.train_sentences"),
        ("data.dev_file=nope.conll", SIZES, DataError, "nope.conll: no such file"),
    ],
)
def test_what_makes_no_curve_is_refused_before_anything_is_written(
    tmp_path: Path,
    override: str,
    sizes: Sequence[int | Fraction],
    kind: type[TagkitError],
    problem: str,
) -> None:
    name, _, value = override.partition("=")
    given = {name: int(value) if value.isdigit() else value} if name else {}
    with refuses(kind, problem.format(tmp_path / "train.conll")):
        learning_curve(settings(tmp_path, **given), sizes)
    assert not (tmp_path / "curve").exists()


def test_a_part_without_anything_to_learn_names_the_part(tmp_path: Path) -> None:
    lines = tiny.lines(80, 1)
    plain = [[line.split("\t")[0] + "\tO" for line in sentence] for sentence in lines[:-1]]
    config = settings(tmp_path)
    tiny.write(tmp_path / "train.conll", [*plain, lines[-1]])
    with pytest.raises(DataError) as raised:
        learning_curve(config, (10, 20, 80))
    assert raised.value.lines == (
        f"{tmp_path}/train.conll: every tag is O, so there is nothing to learn",
        "That is with 10 of 80 for training: start with a larger part.",
    )


@pytest.mark.slow
def test_texts_with_classes_have_a_curve_by_accuracy_and_each_part_has_its_classes(
    tmp_path: Path,
) -> None:
    config = settings(tmp_path, "task=classify", "train.metric=loss", **tiny.classified(tmp_path))
    recorder = Recorder()
    curve = learning_curve(config, (10, 30, 90), listener=recorder)
    assert recorder.started == [((10, 30, 90), (1,), "acc.", "text")]
    assert (curve.measure, curve.unit) == ("acc.", "text")
    assert all(0 <= point.score <= 1 for point in curve.points)


POINTS = (Point(10, 1, 0.25), Point(20, 2**64 - 1, 0.5), Point(40, 1, 0.625))
MEASURED = CurveTable(
    {"task": "tag", "data.tag_column": None, "train.lr": 0.1},
    "F1",
    "text",
    POINTS,
    (10, 20, 40, 80),
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    MEASURED.write(tmp_path)
    assert CurveTable.read(tmp_path) == MEASURED
    assert json.loads((tmp_path / CURVE).read_text())["law"] is None
    curve = fit("F1", POINTS, "text")
    MEASURED.write(tmp_path, curve)
    assert CurveTable.read(tmp_path) == MEASURED
    record = json.loads((tmp_path / CURVE).read_text())
    assert record["law"] == curve.law.to_dict()
    assert record["forecasts"] == [each.to_dict() for each in curve.forecasts]
    assert record["remarks"] == []
    flat = fit("F1", [Point(size, 1, 0.96) for size in (10, 20, 40)], "text")
    MEASURED.write(tmp_path, flat)
    (remark,) = json.loads((tmp_path / CURVE).read_text())["remarks"]
    assert remark.startswith("more data of this kind would bring little: ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "is damaged ('format_version')"),
        ("[1]", "is damaged ("),
        ('{"format_version": 1, "run": {}, "measure": "F1", "unit": "text", "points": [{}]}',
         "is damaged ('sentences')"),
        ('{"format_version": 1, "run": {}, "measure": "F1", "unit": "text", "points": '
         '[{"sentences": 5, "seed": 1, "score": 1.5}]}', "is damaged (a point is out of range)"),
        ('{"format_version": 2, "tagkit": "9.0"}',
         "made by tagkit 9.0"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_a_sentence(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / CURVE).write_text(content)
    with pytest.raises(CheckpointError) as raised:
        CurveTable.read(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / CURVE}: {problem}")
