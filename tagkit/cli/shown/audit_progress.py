"""The progress of an audit in the terminal: one line a fold, and the time left."""

import time
from collections.abc import Callable

from tagkit.cli.program.console import ProgressBar, note
from tagkit.cli.program.terminal import shown_time
from tagkit.training.events.callbacks import Step
from tagkit.training.several.audit import AuditListener
from tagkit.training.several.folds import Fold
from tagkit.wording import plural


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
        note(fold_line(fold, self._left_s(fold)))

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
