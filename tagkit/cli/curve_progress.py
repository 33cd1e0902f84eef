"""A learning curve in the terminal: a row for each training, then what follows from them."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tagkit.cli.console import StepColumn, WithBar, note
from tagkit.evaluation.learning_curve import LEVEL, LearningCurve, Point
from tagkit.training.callbacks import Step
from tagkit.training.curve_files import PICTURE
from tagkit.training.learning_curve import CurveListener
from tagkit.training.seed_scores import mean_and_deviation
from tagkit.wording import plural_of

_WIDTH = 80


class CurveProgress(WithBar, CurveListener):
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
    """The scores by size, the law, and what more data would bring."""
    yield from ()
