"""Trainings on growing parts of a corpus, and the learning curve that they make.

Each seed draws its own parts of the training corpus, of which the smaller lie within the larger
(`dataset.draw`): points scatter over seeds as they would over other corpora of their size. Dev is
the same for all sizes. The models are not kept; `tagkit train` makes that of all sentences. The
curve is written as learning-curve.json (see `curve_files`) and, with the points, the law and the
forecasts, as the picture learning-curve.svg.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from tagkit.config import Config, as_config, refuse_without_effect, with_options
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.source.options import log_note
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import ConfigError, DataError, Interrupted
from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.evaluation.html_report.curve import curve_picture
from tagkit.evaluation.reports.criterion import AUTO, LOSS
from tagkit.models.base.device import choose_device
from tagkit.models.task_table import task_of
from tagkit.storage import CURVE, cannot_write, encoded, write_whole
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
from tagkit.training.folder.run_identity import identity, output_folder, refuse_unreadable
from tagkit.training.setup.setup import chosen_criterion
from tagkit.training.several.curve_sizes import Size, counts_of
from tagkit.training.several.several_folder import (
    open_folder,
    refuse_options,
    require_one_process,
    same_as_before,
)
from tagkit.training.trainer import train

_WHAT = "learning curve"
# Options that differ from one point to the next, or that no point depends on.
_OF_A_POINT = ("data.train_sentences", "train.seed", "train.seeds", "test corpus")


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
        log_note(text)


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
    config, listener = as_config(config), listener_of(listener, CurveListener, stop)
    folder = output_folder(config)
    _refuse_unfit(config)
    refuse_unreadable(config, resume=resume)
    given = config.train
    config = with_options(config, {"data.test_file": "", "train.seeds": ()})
    corpus = _read(config)
    counts = counts_of(sizes, corpus.total, corpus.path, corpus.unit)
    run_folder, names = RunFolder(folder, writes=True), (CURVE, PICTURE)
    with run_folder.locked(listener.on_note):
        is_resumed = open_folder(run_folder, config, names, _WHAT, resume=resume, force=force)
        before = read_measured(folder) if is_resumed else None
        had = before.run if before else None
        config, run = same_as_before(folder, _WHAT, config, had, _identity)
        if before and sizes is None:
            counts = before.sizes
        seeds = given.seeds or (before.seeds if before else (given.seed,))
        measured = before or MeasuredPoints(run, corpus.measure, corpus.unit)
        measured = measured.asked_for(counts, seeds)
        write_measured(folder, measured)  # at once: if it is stopped now, a curve is there
        listener.on_start(counts, seeds, corpus.measure, corpus.unit)
        trainings = _Trainings(config, corpus.total, run_folder, listener, stop)
        for count, seed in product(counts, seeds):
            measured = trainings.measure(count, seed, measured)
        curve = fit(corpus.measure, measured.points, corpus.unit)
        write_measured(folder, measured, curve)
        _write_picture(folder / PICTURE, curve)
    return curve


@dataclass(frozen=True, slots=True)
class _Corpus:
    """What a learning curve is measured on.

    Attributes:
        total: number of sentences of the training corpus.
        path: of that.
        unit: what a sentence is called.
        measure: name of the score.
    """

    total: int
    path: str
    unit: str
    measure: str


def _read(config: Config) -> _Corpus:
    """Read the corpus once, for the sizes and the names; each training reads its own."""
    task = task_of(config)
    corpus = task.read(config)
    resolved = task.resolve(config, corpus)
    unit = task.describe(resolved).unit
    # For a loss, whose law is another, the scores are those of the headline.
    if resolved.train.metric == LOSS:
        resolved = with_options(resolved, {"train.metric": AUTO})
    measure = chosen_criterion(task, resolved, corpus).name
    return _Corpus(len(corpus.train.sentences), corpus.train.path, unit, measure)


def _refuse_unfit(config: Config) -> None:
    """Refuse what a learning curve cannot be made with.

    Raises:
        TagkitError: an option has no effect or no meaning, or a corpus can be read once only.
    """
    refused = ConfigError(
        f"task={config.task}",
        [
            "a learning curve is of F1 or accuracy; expected tag, classify or both. For a language "
            "model, train on texts of several sizes, and compare the bits per character of one dev "
            "text"
        ],
    )
    task_of(config).require_labels(config, refused)
    require_one_process(_WHAT)
    refuse_options(
        config,
        {
            "train.max_minutes": "would end the larger trainings early, and bend the curve; leave "
            "it out",
            "data.train_sentences": "is what a learning curve varies; leave it out, and name "
            "sizes=...",
        },
    )
    refuse_without_effect(config, _WHAT)
    require_files(config, "the trainings of a learning curve")


def _identity(config: Config) -> dict[str, Any]:
    """What all points have in common: options and corpora."""
    files = {"train": config.data.train_file, "dev": config.data.dev_file}
    digests = {name: digest_of_files(path) if path else None for name, path in files.items()}
    run = identity(config, digests, choose_device(config.train.device).type, 1)
    return {name: value for name, value in run.items() if name not in _OF_A_POINT}


@dataclass(frozen=True, slots=True)
class _Trainings:
    """The trainings of a curve, each in a folder of its own.

    Attributes:
        config: of all of them.
        total: number of sentences of the training corpus.
        run_folder: of the curve.
        listener: its callbacks.
        stop: set to end it.
    """

    config: Config
    total: int
    run_folder: RunFolder
    listener: CurveListener
    stop: threading.Event | None

    def measure(self, count: int, seed: int, measured: MeasuredPoints) -> MeasuredPoints:
        """The points with that of a size and a seed, which is trained unless it is there."""
        for point in measured.points:
            if (point.sentences, point.seed) == (count, seed):
                self.listener.on_point(point, was_there=True)
                return measured
        self.listener.on_training(count, seed)
        folder, name = self.run_folder.path, size_folder(count, seed)
        self.run_folder.claim(f"{name}/")
        point = Point(count, seed, self._score(count, seed, folder / name))
        measured = replace(measured, points=(*measured.points, point))
        # Before the run is removed: after a kill in between it is not repeated.
        write_measured(folder, measured)
        discard_run(folder / name, self.listener.on_note)
        self.listener.on_point(point, was_there=False)
        return measured

    def _score(self, count: int, seed: int, folder: Path) -> float:
        """Train a model, or finish the training that was stopped; its score on dev, 0 to 1."""
        of_all = f"{count:,} of {self.total:,}"
        # With all of them it is the training of `tagkit train`, to the bit.
        part = count if count < self.total else 0
        own = {"data.train_sentences": part, "train.seed": seed, "output.dir": str(folder)}
        is_stopped = (folder / CHECKPOINTS).exists()
        try:
            trained = train(
                with_options(self.config, own), _TrainingListener(self.listener),
                resume=is_stopped, force=not is_stopped, stop=self.stop,
            )  # fmt: skip
        except Interrupted:
            where = f"stopped in the training on {of_all}"
            raise Interrupted(f"{where}, which can be continued") from None
        except DataError as error:
            # What the corpus has, a small part of it may lack: a second class, or any span.
            error.add_line(f"That is with {of_all} for training: start with a larger part.")
            raise
        return trained.criterion.of_report(trained.dev)


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


def _write_picture(path: Path, curve: LearningCurve) -> None:
    """Write the points, the law and the forecasts as a picture.

    Raises:
        CheckpointError: it cannot be written.
    """
    try:
        write_whole(path, encoded(curve_picture(curve), first=True))
    except OSError as error:
        raise cannot_write(path, error) from None
