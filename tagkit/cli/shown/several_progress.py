"""The progress of an audit in the terminal: one line a fold, and the time left."""

import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tagkit.cli.program.console import ProgressBar, StepColumn, note, show_line
from tagkit.cli.program.messages import DEFAULT_WIDTH, shown_time, with_flags
from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve, Point
from tagkit.evaluation.reports.criterion import rank, score_text
from tagkit.training.events.callbacks import Step
from tagkit.training.folder.run_files import BEST_CONFIG, PICTURE
from tagkit.training.several.audit import AuditListener
from tagkit.training.several.folds import Fold
from tagkit.training.several.learning_curve import CurveListener
from tagkit.training.several.seeds import mean_and_deviation
from tagkit.training.several.tune import Trial, Tuned, TuneListener
from tagkit.wording import as_path_argument, cells, padded, plural, plural_of


class AuditProgress(ProgressBar, AuditListener):
    """Shows an audit on standard error."""

    def __init__(self, folds: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`folds` of all repeats; `clock`: seconds, never going back."""
        super().__init__("folds", folds)
        self._clock = clock
        self._began_s = clock()
        self._done = 0

    def on_note(self, text: str) -> None:
        """Show it on one line."""
        note(text)

    def on_fold(self, fold: Fold) -> None:
        """What the model of the next fold learns from, and how long all folds still take."""
        if not self._done:
            self._began_s = self._clock()  # reading the corpus is behind us
        show_line(fold_line(fold, self._left_s(fold)))

    def on_step(self, step: Step) -> None:
        """Move the bar within the fold."""
        share = step.run_done / max(1, step.run_total)
        self._bar.update(self._task, completed=self._done + min(share, 1.0))

    def on_fold_end(self, fold: Fold) -> None:
        """Move the bar to the end of the fold, however early its training ended."""
        self._done = fold.number
        self._bar.update(self._task, completed=self._done)

    def _left_s(self, fold: Fold) -> float | None:
        if not self._done:
            return None
        return (self._clock() - self._began_s) / self._done * (fold.count - self._done)


def fold_line(fold: Fold, left_s: float | None) -> str:
    """One fold: how many sentences are learnt and judged, and the time left for all folds."""
    parts = [
        f"fold {fold.number} of {fold.count}: "
        f"{plural(len(fold.learnt), fold.unit)} to learn from, {len(fold.held_out):,} to judge"
    ]
    if fold.left_out:
        parts.append(f"{fold.left_out:,} with the same entities left out")
    if left_s is not None:
        parts.append(f"about {shown_time(left_s)} left")
    return ", ".join(parts)


# A learning curve in the terminal: a row for each training, then what follows from them.


_TIMES = ("twice", "four times")  # of `learning_curve.AHEAD`


class CurveProgress(ProgressBar, CurveListener):
    """Shows the trainings of a learning curve on standard error."""

    def __init__(self) -> None:
        """A progress bar where there is a terminal."""
        self._steps = StepColumn()
        super().__init__("reading", None, self._steps)

    def on_start(self, sizes: Sequence[int], seeds: Sequence[int], measure: str, unit: str) -> None:
        """The head of the table."""
        show_line(f"{plural_of(unit):>10}  seed  {'dev ' + measure:>8}")

    def on_training(self, sentences: int, seed: int) -> None:
        """Begin the line of another training."""
        self._steps.restart(f"{sentences:,}, seed {seed},")

    def on_step(self, step: Step) -> None:
        """Move the bar."""
        self._steps.add(step)

    def on_point(self, point: Point, *, was_there: bool) -> None:
        """A row of the table."""
        there = "  (measured before)" if was_there else ""
        show_line(f"{point.sentences:>10,}  {point.seed:>4}  {100 * point.score:>8.2f}{there}")

    def on_note(self, text: str) -> None:
        """Show it on a line."""
        note(text)


def curve_lines(curve: LearningCurve, folder: Path) -> Iterator[str]:
    """The scores by size, the law, and what more data would bring, at most 80 characters each.

    Args:
        curve: what was measured.
        folder: where its picture is.
    """
    units = plural_of(curve.unit)
    several = len({point.seed for point in curve.points}) > 1
    yield f"{units:>10}  {'dev ' + curve.measure:>8}" + ("  deviation  seeds" if several else "")
    for size, group in groupby(curve.points, key=lambda point: point.sentences):
        scores = [100 * point.score for point in group]
        mean, deviation = mean_and_deviation(scores)
        beside = f"  {deviation:>9.2f}  {len(scores):>5}" if several else ""
        yield f"{size:>10,}  {mean:>{max(8, len(curve.measure) + 4)}.2f}{beside}"
    yield ""
    if not curve.finds_no_error:
        yield from _forecasts(curve)
    for remark in curve.remarks():
        yield from _wrapped(f"warning: {remark}")
    yield ""
    yield f"saved {folder / PICTURE}"


def _forecasts(curve: LearningCurve) -> Iterator[str]:
    units = plural_of(curve.unit)
    law = curve.law
    yield (
        f"error = {100 * law.asymptote:.1f} + {100 * law.factor:,.0f} / {units} ** "
        f"{law.exponent:.2f}, in percent"
    )
    *_, last = curve.mean_scores().values()
    places = 1 if last < 0.99 else 2  # of errors below 1 %, one would say nothing
    for words, each in zip(_TIMES, curve.forecasts, strict=True):
        yield from _wrapped(
            f"With {words} the data, {each.sentences:,} {units}: about "
            f"{100 * each.score:.{places}f} ({100 * each.low:.{places}f} to "
            f"{100 * each.high:.{places}f}): {100 * (each.score - last):+.{places}f}"
        )
    yield from _wrapped(
        f"The interval holds {100 * LEVEL:.0f} % of trainings on more {units} of this kind. What "
        "texts of another kind would bring, or a model for these, it does not know."
    )


def _wrapped(text: str) -> Iterator[str]:
    """A sentence, with flags in place of options, in lines of at most 80 characters."""
    yield from textwrap.wrap(with_flags(text), DEFAULT_WIDTH, break_long_words=False)


# The progress of a search in the terminal: one row per trial, then the best.


class SearchProgress(ProgressBar, TuneListener):
    """Shows a search on standard error."""

    def __init__(self, trials: int, metric: str) -> None:
        """`trials`: total number; `metric`: value of `train.metric`, which ranks them."""
        super().__init__("trials", trials)
        self._metric = metric
        self._measure = "score"  # of trials that fail before their corpora are read
        self._has_head = False

    def on_measure(self, name: str) -> None:
        """The head of the table, unless rows of failed trials came first."""
        self._measure = name
        self._show_head()

    def _show_head(self) -> None:
        if not self._has_head:
            show_line(trial_head(self._measure))
        self._has_head = True

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """A row of the table; * if no earlier trial was as good."""
        self._show_head()
        self._bar.advance(self._task)
        row = trial_line(trial, self._measure, self._metric)
        show_line(row + ("  *" if is_best else ""), is_best=is_best)

    def on_note(self, text: str) -> None:
        """Show it on one line."""
        note(text)

    def _order(self, trial: Trial) -> tuple[bool, bool, float]:
        """Where a trial belongs in the list of all."""
        return trial.state != "done", trial.dev is None, -rank(self._metric, trial.dev or 0.0)

    def on_end(self, tuned: Tuned) -> None:
        """All trials, the best first, and the next command to type."""
        self._bar.stop()
        # Completed trials before those that were stopped early or failed, whose scores are not
        # comparable; then by score. The sort is stable: of equal ones the earlier comes first.
        done = sorted(tuned.trials, key=self._order)
        show_line("")
        show_line(f"{plural(len(tuned.trials), 'trial')}, the best first:")
        show_line("")
        show_line(trial_head(self._measure))
        for trial in done:
            show_line(trial_line(trial, self._measure, self._metric))
        show_line("")
        show_line(f"saved {tuned.folder} (model) and {tuned.folder / BEST_CONFIG} (options)")
        show_line(f"Next: tagkit eval {as_path_argument(tuned.folder)} TEST")


def trial_head(measure: str) -> str:
    """Head of a table of trials, of which `measure` is what their score is called."""
    return f"trial  {padded(f'dev {measure}', 8, right=True)}   seconds  options"


def trial_line(trial: Trial, measure: str, metric: str) -> str:
    """One row: number, score (a loss as it is, others in percent), seconds, options."""
    score = "" if trial.dev is None else score_text(metric, trial.dev)
    dev = f"{score:>{max(8, cells(measure) + 4)}}"
    # A failed trial has no score, and one that was stopped early that of its last epoch.
    state = "" if trial.state == "done" else f"  ({trial.state})"
    return f"{trial.number:>5}  {dev}  {trial.seconds:>8,.0f}  {_options(trial.values)}{state}"


def _options(values: Mapping[str, Any]) -> str:
    return "  ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    )
