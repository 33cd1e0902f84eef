"""Trainings on growing parts of a corpus, and the learning curve that they make.

Each seed draws its own parts of the training corpus, of which the smaller lie within the larger
(`dataset.draw`): points scatter over seeds as they would over other corpora of their size. Dev is
the same for all sizes. The models are not kept; `tagkit train` makes that of all sentences. The
curve is written as learning-curve.json (see `curve_files`) and, with the points, the law and the
forecasts, as the picture learning-curve.svg.
"""

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tagkit.config import Config, TrainConfig, as_config, refuse_without_effect, with_options
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import CheckpointError, ConfigError, DataError, Interrupted
from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve, Point, fit
from tagkit.evaluation.reports.criterion import AUTO, LOSS
from tagkit.html.chart import FILE, FILE_TICKS, Axis, Chart, label, picture, round_ticks, straight
from tagkit.html.elements import Child
from tagkit.models.base.device import choose_device
from tagkit.models.task_table import task_of
from tagkit.storage import CURVE, cannot_write, encoded, write_whole
from tagkit.text.json_text import plain
from tagkit.training.events.callbacks import Listener, Step, listener_of
from tagkit.training.folder.curve_files import (
    PICTURE,
    MeasuredPoints,
    read_measured,
    size_folder,
    write_measured,
)
from tagkit.training.folder.run_files import CHECKPOINTS
from tagkit.training.folder.run_folder import RunFolder, discard_run
from tagkit.training.folder.run_identity import (
    differences,
    identity,
    output_folder,
    refuse_unreadable,
    with_former_defaults,
)
from tagkit.training.folder.start_checks import check_beforehand
from tagkit.training.processes.launcher import is_alone
from tagkit.training.setup.setup import chosen_criterion
from tagkit.training.several.curve_sizes import Size, counts_of, usual_counts
from tagkit.training.trainer import train
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE, plural_of

# Options that differ from one point to the next, or that no point depends on.
_OF_A_POINT = ("data.train_sentences", "train.seed", "train.seeds", "test corpus")
# Of the picture.
_WIDTH, _HEIGHT = 600, 360  # pixels
_MEASURED, _FORECAST = "#1f77b4", "#c25700"
_STEPS = 60  # straight pieces of the law
_RADIUS = 3.5  # pixels of a dot
_SPACE = 0.05  # of an axis, free at both ends


class CurveListener:
    """Callbacks of a learning curve; these do nothing."""

    def on_start(self, sizes: Sequence[int], seeds: Sequence[int], measure: str, unit: str) -> None:
        """Called once, before the first training."""

    def on_training(self, sentences: int, seed: int) -> None:
        """Called before each training."""

    def on_step(self, step: Step) -> None:
        """Called after each step of a training."""

    def on_point(self, point: Point, *, was_there: bool) -> None:
        """Called with each point, by size; `was_there` if an earlier command has measured it."""

    def on_note(self, text: str) -> None:
        """Called with a message for the user, one sentence."""


def learning_curve(
    config: Config | Path | str | Mapping[str, Any],
    sizes: Sequence[Size] | None = None,
    *,
    listener: CurveListener | None = None,
    resume: bool = False,
    force: bool = False,
    stop: threading.Event | None = None,
) -> LearningCurve:
    """Forecast what more training data would bring, as `tagkit learning-curve` does.

    Models are trained on growing parts of the training corpus, and a power law is fitted to their
    scores on dev.

    Args:
        config: of each training. Each of `train.seeds` gives a point of each size; without them
            `train.seed` does. The test corpus is not used.
        sizes: increasing: numbers of sentences, or shares of the training corpus: 0.25, "1/4" or a
            Fraction. None for five of which each is twice the one before, up to the whole corpus;
            closer together where the first would have fewer than ten sentences. A resumed curve has
            its own sizes then, and its own seeds where `config` has no `train.seeds`.
        listener: callbacks, as `tagkit.training.several.learning_curve.CurveListener`.
        resume: keep the points that are in the output folder, and continue the training that was
            stopped. Other sizes and seeds may be added.
        force: remove the curve that is there.
        stop: once it is set, the training saves a checkpoint after the current step and ends.

    Raises:
        TagkitError: a corpus or the output folder cannot be used, or the sizes do not fit.
        Interrupted: `stop` was set.
    """
    config = as_config(config)
    listener = listener_of(listener, CurveListener, stop)
    folder = output_folder(config)
    _refuse_unfit(config)
    refuse_unreadable(config, resume=resume)
    given = config.train
    config = with_options(config, {"data.test_file": "", "train.seeds": ()})
    plan = _planned(config, sizes, resume=resume)
    run_folder = RunFolder(folder, writes=True)
    with run_folder.locked(listener.on_note):
        before = _measured_before(run_folder, resume=resume, force=force)
        counts = (
            plan.counts
            or (before and before.sizes)
            or usual_counts(plan.total, plan.path, plan.unit)
        )
        seeds = _seeds(given, before)
        fresh = MeasuredPoints(
            {}, plan.measure, plan.unit, sizes=counts, seeds=tuple(sorted(seeds))
        )
        measured, config = _open(run_folder, before, fresh, config)
        listener.on_start(counts, seeds, plan.measure, plan.unit)
        points = [(count, seed) for count in counts for seed in seeds]
        measured = _measure(run_folder, measured, points, config, plan.total, listener, stop)
        curve = fit(plan.measure, measured.points, plan.unit)
        write_measured(folder, measured, curve)
        write_picture(folder / PICTURE, curve)
    return curve


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a learning curve measures.

    Attributes:
        counts: its sizes; none where a curve that is resumed may have its own.
        total: number of sentences of the training corpus.
        path: of that.
        unit: what a sentence is called.
        measure: name of the score.
    """

    counts: tuple[int, ...]
    total: int
    path: str
    unit: str
    measure: str


def _planned(config: Config, sizes: Sequence[Size] | None, *, resume: bool) -> _Plan:
    """Read the corpus once, for the sizes and the names; each training reads its own."""
    task = task_of(config)
    corpus = task.read(config)
    resolved = task.resolve(config, corpus)
    unit = task.describe(resolved).unit
    total, path = len(corpus.train.sentences), corpus.train.path
    counts: tuple[int, ...] = ()
    if sizes is not None:
        counts = counts_of(sizes, total, path, unit)
    elif not resume:
        counts = usual_counts(total, path, unit)
    # For a loss, whose law is another, the scores are those of the headline.
    if resolved.train.metric == LOSS:
        resolved = with_options(resolved, {"train.metric": AUTO})
    return _Plan(counts, total, path, unit, chosen_criterion(task, resolved, corpus).name)


def _measure(
    run_folder: RunFolder,
    measured: MeasuredPoints,
    points: Iterable[tuple[int, int]],
    config: Config,
    total: int,
    listener: CurveListener,
    stop: threading.Event | None,
) -> MeasuredPoints:
    """Train for each point, a size and a seed, that is not there; all that there are then."""
    folder = run_folder.path
    there = {(point.sentences, point.seed): point for point in measured.points}
    for count, seed in points:
        if (point := there.get((count, seed))) is None:
            listener.on_training(count, seed)
            one = _config_of(config, folder, count, seed, total)
            run_folder.claim(f"{size_folder(count, seed)}/")
            point = Point(count, seed, _score(one, listener, stop, total))
            measured = replace(measured, points=(*measured.points, point))
            # Before the run is removed: after a kill in between it is not repeated.
            write_measured(folder, measured)
            discard_run(folder / size_folder(count, seed), listener.on_note)
        listener.on_point(point, was_there=(count, seed) in there)
    return measured


class _TrainingListener(Listener):
    """Passes on the steps and the notes of one training."""

    def __init__(self, listener: CurveListener) -> None:
        self.listener = listener

    def on_step(self, step: Step) -> None:
        """Pass it on."""
        self.listener.on_step(step)

    def on_note(self, text: str) -> None:
        """Pass it on."""
        self.listener.on_note(text)


def _refuse_unfit(config: Config) -> None:
    """Refuse what a learning curve cannot be made with.

    Raises:
        TagkitError: an option has no effect or no meaning, or a corpus can be read once only.
    """
    if not task_of(config).annotates:
        raise ConfigError(
            f"task={config.task}",
            [
                "a learning curve is of F1 or accuracy; expected tag, classify or both. For a "
                "language model, train on texts of several sizes, and compare the bits per "
                "character of one dev text"
            ],
        )
    if not is_alone():
        raise ConfigError(
            "learning curve", ["it is measured by one process; start it without a launcher"]
        )
    if config.train.max_minutes:
        raise ConfigError(
            "train.max_minutes",
            ["would end the larger trainings early, and bend the curve; leave it out"],
        )
    if config.data.train_sentences:
        raise ConfigError(
            "data.train_sentences",
            ["is what a learning curve varies; leave it out, and name sizes=..."],
        )
    refuse_without_effect(config, "learning curve")
    require_files(config, "the trainings of a learning curve")


def _measured_before(run_folder: RunFolder, *, resume: bool, force: bool) -> MeasuredPoints | None:
    """The curve in the folder that is to be continued; None for a new one.

    Raises:
        CheckpointError: the folder holds something else, or a curve that is neither continued nor
            replaced.
    """
    folder = run_folder.path
    found = run_folder.contents()
    is_curve = CURVE in found.ours
    if not is_curve and found.ours:
        raise CheckpointError(
            f"{folder}: is not empty, and holds no learning curve; {ANOTHER_FOLDER}"
        )
    if is_curve and not (resume or force):
        raise CheckpointError(
            f"{folder}: holds a learning curve; resume=True continues it, force=True measures it "
            "again"
        )
    run_folder.check(resume=is_curve and resume, force=force)
    return read_measured(folder) if is_curve and resume else None


def _seeds(given: TrainConfig, before: MeasuredPoints | None) -> tuple[int, ...]:
    """The seeds of the trainings: those that are named, or those of a curve that is resumed."""
    return given.seeds or (before.seeds if before else ()) or (given.seed,)


def _open(
    run_folder: RunFolder, before: MeasuredPoints | None, fresh: MeasuredPoints, config: Config
) -> tuple[MeasuredPoints, Config]:
    """Make the folder ready; the points to continue from, and the options of those to come.

    Raises:
        CheckpointError: the curve there is of other options or corpora.
    """
    folder = run_folder.path
    if before:  # of a version with other defaults perhaps
        config = with_former_defaults(config, before.run)
    data = config.data
    digests = {
        "train": digest_of_files(data.train_file),
        "dev": digest_of_files(data.dev_file) if data.dev_file else None,
    }
    run = identity(config, digests, choose_device(config.train.device).type, 1)
    run = plain({name: value for name, value in run.items() if name not in _OF_A_POINT})
    measured = replace(fresh, run=run)
    if before:
        if changed := differences(before.run, {**before.run, **run}):
            raise CheckpointError(
                f"{folder}: the learning curve there had {'; '.join(changed)}; {ANOTHER_OR_FORCE}"
            )
        run_folder.repair()
        sizes = tuple(sorted({*before.sizes, *fresh.sizes}))
        seeds = tuple(sorted({*before.seeds, *fresh.seeds}))
        if (sizes, seeds) != (before.sizes, before.seeds):  # at once, as below
            before = replace(before, sizes=sizes, seeds=seeds)
            write_measured(folder, before)
        return before, config
    if CURVE in run_folder.contents().ours:  # before it is removed
        check_beforehand(config)
    run_folder.clear()
    run_folder.claim(CURVE, PICTURE)
    # At once: a curve that is stopped in its first training is recognised as one.
    write_measured(folder, measured)
    return measured, config


def _config_of(config: Config, folder: Path, count: int, seed: int, total: int) -> Config:
    """The configuration of the training on `count` of `total` sentences."""
    return with_options(
        config,
        {
            # With all of them it is the training of `tagkit train`, to the bit.
            "data.train_sentences": count if count < total else 0,
            "train.seed": seed,
            "output.dir": str(folder / size_folder(count, seed)),
        },
    )


def _score(
    config: Config, listener: CurveListener, stop: threading.Event | None, total: int
) -> float:
    """Train a model, or finish the training that was stopped; its score on dev, 0 to 1."""
    of_all = f"{config.data.train_sentences or total:,} of {total:,}"
    is_stopped = (Path(config.output.dir) / CHECKPOINTS).exists()
    try:
        trained = train(
            config, _TrainingListener(listener), resume=is_stopped, force=not is_stopped, stop=stop
        )
    except Interrupted:
        raise Interrupted(f"stopped in the training on {of_all}, which can be continued") from None
    except DataError as error:
        # What the corpus has, a small part of it may lack: a second class, or any span.
        error.add_line(f"That is with {of_all} for training: start with a larger part.")
        raise
    return trained.criterion.of_report(trained.dev)


def write_picture(path: Path, curve: LearningCurve) -> None:
    """Write a picture of a learning curve.

    Args:
        path: of the file.
        curve: what it shows.

    Raises:
        CheckpointError: it cannot be written.
    """
    drawn = picture(_WIDTH, _HEIGHT, _drawn(curve))
    try:
        write_whole(path, encoded(drawn, first=True))
    except OSError as error:
        raise cannot_write(path, error) from None


def _drawn(curve: LearningCurve) -> Iterator[Child]:
    units = plural_of(curve.unit)
    sizes = sorted({point.sentences for point in curve.points})
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = sizes[0], sizes[-1], max(ahead)
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    low, high = min(heights), max(heights)
    ticks = [(tick, f"{tick:g}") for tick in round_ticks(low, high, FILE_TICKS)]
    chart = Chart(
        Axis(first, last, [], f"training {units}", log=True, space=_SPACE),
        Axis(low, high, ticks, f"dev {curve.measure}", space=_SPACE),
        _WIDTH, _HEIGHT, FILE,
    )  # fmt: skip
    named = [(size, f"{size:,}") for size in _apart([*sizes, *ahead], chart)]
    chart = replace(chart, x=replace(chart.x, ticks=named))
    yield from chart.framed(f"dev {curve.measure} by size of the training corpus")
    for start, end, look in (
        (first, largest, {"stroke": _MEASURED}),
        (largest, last, {"stroke": _FORECAST, "stroke_dasharray": "6 4"}),
    ):
        passed = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        law = ((size, 100 * curve.law.score(size)) for size in passed)
        yield chart.line(law, fill="none", **look)
    for each in curve.forecasts:
        x, low = chart.place((each.sentences, 100 * each.low))
        _, high = chart.place((each.sentences, 100 * each.high))
        yield straight(x, low, x, high, stroke=_FORECAST)
        yield straight(x - 5, low, x + 5, low, stroke=_FORECAST)
        yield straight(x - 5, high, x + 5, high, stroke=_FORECAST)
        said = (
            f"forecast with {each.sentences:,} {units}: {100 * each.score:.2f} "
            f"({100 * each.low:.2f} to {100 * each.high:.2f} at {100 * LEVEL:.0f} %)"
        )
        yield chart.dot((each.sentences, 100 * each.score), _RADIUS, said, fill=_FORECAST)
    for point in curve.points:
        said = f"{point.sentences:,} {units}, seed {point.seed}: {100 * point.score:.2f}"
        yield chart.dot((point.sentences, 100 * point.score), _RADIUS, said, fill=_MEASURED)
    for number, (name, colour) in enumerate(
        (("measured", _MEASURED), (f"forecast, with its {100 * LEVEL:.0f} % interval", _FORECAST))
    ):
        place = chart.right - 8, chart.bottom - 28 + 16 * number
        yield label(*place, name, text_anchor="end", fill=colour)


def _apart(sizes: Sequence[int], chart: Chart) -> Iterator[int]:
    """The sizes whose labels do not touch, from the largest down."""
    left = math.inf
    for size in sorted(set(sizes), reverse=True):
        x, _ = chart.place((size, chart.y.low))
        if left - x >= 7 * len(f"{size:,}") + 6:  # a digit is some 7 pixels wide
            yield size
            left = x
