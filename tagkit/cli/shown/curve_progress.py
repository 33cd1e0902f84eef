"""A learning curve in the terminal: a row for each training, then what follows from them."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tagkit.cli.program.console import ProgressBar, StepColumn, note
from tagkit.cli.program.messages import with_flags
from tagkit.cli.program.terminal import DEFAULT_WIDTH
from tagkit.evaluation.analysis.learning_curve import LEVEL, LearningCurve, Point
from tagkit.training.events.callbacks import Step
from tagkit.training.folder.curve_files import PICTURE
from tagkit.training.folder.seed_scores import mean_and_deviation
from tagkit.training.several.learning_curve import CurveListener
from tagkit.wording import Message, plural_of

_TIMES = ("twice", "four times")  # of `learning_curve.AHEAD`


class CurveProgress(ProgressBar, CurveListener):
    """Shows the trainings of a learning curve on standard error."""

    def __init__(self) -> None:
        """A progress bar where there is a terminal."""
        self._steps = StepColumn()
        super().__init__("reading", None, self._steps)

    def on_start(self, sizes: Sequence[int], seeds: Sequence[int], measure: str, unit: str) -> None:
        """The head of the table."""
        note(f"{plural_of(unit):>10}  seed  {'dev ' + measure:>8}")

    def on_training(self, sentences: int, seed: int) -> None:
        """Begin the line of another training."""
        self._steps.restart(f"{sentences:,}, seed {seed},")

    def on_step(self, step: Step) -> None:
        """Move the bar."""
        self._steps.add(step)

    def on_point(self, point: Point, *, was_there: bool) -> None:
        """A row of the table."""
        there = "  (measured before)" if was_there else ""
        note(f"{point.sentences:>10,}  {point.seed:>4}  {100 * point.score:>8.2f}{there}")

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
        yield from _wrapped(Message("warning: ", remark))
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
