"""Trainings on growing parts of a corpus, and the learning curve that they make.

Each seed draws its own parts of the training corpus, of which the smaller lie within the larger
(`dataset.draw`): points scatter over seeds as they would over other corpora of their size. Dev is
the same for all sizes. The models are not kept; `tagkit train` makes that of all sentences.

    learning-curve.json     what was measured, and the law and forecasts once all is
    learning-curve.svg      the same as a picture
    size-N-seed-S/          the run of the point that is being measured; removed at its end
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from tagkit import __version__
from tagkit.config import Config, as_config, refuse_without_effect, with_options
from tagkit.corpus.source.options import log_note
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import CheckpointError, ConfigError, DataError, Interrupted
from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.evaluation.html_report.curve import curve_picture
from tagkit.evaluation.reports.criterion import AUTO, LOSS
from tagkit.models.base.device import choose_device
from tagkit.models.task_table import task_of
from tagkit.storage import CURVE, encoded, write_of_run
from tagkit.text.json_text import from_json, plain, to_json
from tagkit.training.events.callbacks import Step, listener_of
from tagkit.training.folder.run_files import CHECKPOINTS, PICTURE
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.folder.run_identity import identity, output_folder, refuse_unreadable
from tagkit.training.setup.setup import chosen_criterion
from tagkit.training.several.curve_sizes import Size, counts_of
from tagkit.training.several.fits import Fits, digests, passing, refuse_options
from tagkit.wording import reason

FORMAT_VERSION = 1
_WHAT = "learning curve"
# Options that differ from one point to the next, or that no point depends on.
_OF_A_POINT = ("data.train_sentences", "train.seed", "train.seeds", "test corpus")
_NO_LABELS = (
    "a learning curve is of F1 or accuracy; expected tag, classify or both. For a language model, "
    "train on texts of several sizes, and compare the bits per character of one dev text"
)
_REFUSED = {
    "train.max_minutes": "would end the larger trainings early, and bend the curve; leave it out",
    "data.train_sentences": "is what a learning curve varies; leave it out, and name sizes=...",
}


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
    path, given = output_folder(config), config.train
    task_of(config).require_answers(config, ConfigError(f"task={config.task}", [_NO_LABELS]))
    refuse_options(_WHAT, config, _REFUSED)
    refuse_without_effect(config, _WHAT)
    require_files(config, "the trainings of a learning curve")
    refuse_unreadable(config, resume=resume)
    config = with_options(config, {"data.test_file": "", "train.seeds": ()})
    corpus = _read_corpus(config)
    counts = counts_of(sizes, corpus.total, corpus.path, corpus.unit)
    fits = Fits(_WHAT, RunFolder(path, writes=True), listener.on_note, stop)
    with fits.folder.locked(listener.on_note):
        is_resumed = fits.open(config, (CURVE, PICTURE), resume=resume, force=force)
        before = CurveTable.read(path) if is_resumed else None
        had = before.run if before else None
        config, run = fits.same_as_before(config, had, _identity)
        if before and sizes is None:
            counts = before.sizes
        seeds = given.seeds or (before.seeds if before else (given.seed,))
        table = before or CurveTable(run, corpus.measure, corpus.unit)
        table = table.asked_for(counts, seeds)
        table.write(path)  # at once: if it is stopped now, a curve is there
        listener.on_start(counts, seeds, corpus.measure, corpus.unit)
        for count, seed in product(counts, seeds):
            table = _measured(fits, config, corpus.total, table, Point(count, seed, 0), listener)
        curve = fit(corpus.measure, table.points, corpus.unit)
        table.write(path, curve)
        write_of_run(path / PICTURE, encoded(curve_picture(curve), first=True))
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


def _read_corpus(config: Config) -> _Corpus:
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


def _identity(config: Config) -> dict[str, Any]:
    """What all points have in common: options and corpora."""
    corpora = digests({"train": config.data.train_file, "dev": config.data.dev_file})
    run = identity(config, corpora, choose_device(config.train.device).type, 1)
    return {name: value for name, value in run.items() if name not in _OF_A_POINT}


def _measured(
    fits: Fits,
    config: Config,
    total: int,
    table: "CurveTable",
    wanted: Point,
    listener: CurveListener,
) -> "CurveTable":
    """The table with the point of a size and a seed, which is trained unless it is there.

    A training that was stopped is finished.
    """
    for point in table.points:
        if (point.sentences, point.seed) == (wanted.sentences, wanted.seed):
            listener.on_point(point, was_there=True)
            return table
    count, seed = wanted.sentences, wanted.seed
    listener.on_training(count, seed)
    name, of_all = f"size-{count}-seed-{seed}", f"{count:,} of {total:,}"
    # With all of them it is the training of `tagkit train`, to the bit.
    own = {"data.train_sentences": count if count < total else 0, "train.seed": seed}
    try:
        is_stopped = (fits.folder.path / name / CHECKPOINTS).exists()
        passed = passing(listener, ("on_step", "on_note"))
        trained = fits.fit(name, with_options(config, own), passed, resume=is_stopped)
    except Interrupted:
        where = f"stopped in the training on {of_all}"
        raise Interrupted(f"{where}, which can be continued") from None
    except DataError as error:
        # What the corpus has, a small part of it may lack: a second class, or any span.
        error.add_line(f"That is with {of_all} for training: start with a larger part.")
        raise
    point = replace(wanted, score=trained.criterion.of_report(trained.dev))
    table = replace(table, points=(*table.points, point))
    table.write(fits.folder.path)  # before the run is removed: after a kill it is not repeated
    fits.discard(name)
    listener.on_point(point, was_there=False)
    return table


@dataclass(frozen=True, slots=True)
class CurveTable:
    """learning-curve.json: the points that a folder has so far.

    Attributes:
        run: options and corpora that all of them have in common (`run_identity.identity`).
        measure: what their scores are.
        unit: what a training sentence is called.
        points: in the order in which they were measured.
        sizes: that were asked for, increasing.
        seeds: that were asked for, increasing.
    """

    run: Mapping[str, Any]
    measure: str
    unit: str
    points: tuple[Point, ...] = ()
    sizes: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()

    def asked_for(self, sizes: Iterable[int], seeds: Iterable[int]) -> "CurveTable":
        """The same, with sizes and seeds that are asked for as well."""
        both = tuple(sorted({*self.sizes, *sizes})), tuple(sorted({*self.seeds, *seeds}))
        return replace(self, sizes=both[0], seeds=both[1])

    def write(self, folder: Path, curve: LearningCurve | None = None) -> None:
        """Write the points, and of a complete curve the law and forecasts.

        Raises:
            CheckpointError: they cannot be written.
        """
        points = curve.points if curve else self.points
        record: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            "tagkit": __version__,
            "measure": self.measure,
            "unit": self.unit,
            "sizes": list(self.sizes),
            "seeds": list(self.seeds),
            "points": [point.to_dict() for point in points],
            "law": curve.law.to_dict() if curve else None,
            "forecasts": [each.to_dict() for each in curve.forecasts] if curve else [],
            "remarks": plain(curve.remarks()) if curve else [],
            "run": dict(self.run),
        }
        write_of_run(folder / CURVE, (to_json(record, indent=2) + "\n").encode())

    @staticmethod
    def read(folder: Path) -> "CurveTable":
        """The points that were measured so far.

        Raises:
            CheckpointError: the file cannot be read, or is of a later version.
        """
        path = folder / CURVE
        try:
            record = from_json(path.read_bytes())
            if record["format_version"] != FORMAT_VERSION:
                made = f"made by tagkit {record['tagkit']}, whose files this one cannot read"
                raise CheckpointError(f"{path}: {made}")
            points = tuple(
                Point(int(each["sentences"]), int(each["seed"]), float(each["score"]))
                for each in record["points"]
            )
            if not all(point.sentences >= 1 and 0 <= point.score <= 1 for point in points):
                raise ValueError("a point is out of range")
            return CurveTable(
                dict(record["run"]), str(record["measure"]), str(record["unit"]), points,
                tuple(map(int, record["sizes"])), tuple(map(int, record["seeds"])),
            )  # fmt: skip
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({error}); force=True measures the curve again"
            ) from None
