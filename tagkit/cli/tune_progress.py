"""The progress of a search in the terminal: one row per trial, then the best."""

from collections.abc import Mapping
from typing import Any

from tagkit.cli.console import ProgressBar, note
from tagkit.evaluation.criterion import AUTO, rank, score_text
from tagkit.training.trials import BEST_CONFIG, Trial, Tuned, TuneListener
from tagkit.wording import as_path_argument, plural


class SearchProgress(ProgressBar, TuneListener):
    """Shows a search on standard error."""

    def __init__(self, trials: int, metric: str) -> None:
        """`trials`: total number; `metric`: value of `train.metric`, which ranks them."""
        super().__init__("trials", trials)
        self._metric = metric

    def on_start(self) -> None:
        """The head of the table."""
        if self._metric != AUTO:
            note(f"trials are ranked by {self._metric} on dev")
        note("trial      dev   seconds  options")

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """A row of the table; * if no earlier trial was as good."""
        self._bar.advance(self._task)
        note(trial_line(trial, self._metric) + ("  *" if is_best else ""), is_best=is_best)

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
        note("")
        note(f"{plural(len(tuned.trials), 'trial')}, the best first:")
        note("")
        for trial in done:
            note(trial_line(trial, self._metric))
        note("")
        note(f"saved {tuned.folder} (model) and {tuned.folder / BEST_CONFIG} (options)")
        note(f"Next: tagkit eval {as_path_argument(tuned.folder)} TEST")


def trial_line(trial: Trial, metric: str) -> str:
    """One row: number, score (a loss as it is, others in percent), seconds, options."""
    dev = f"{score_text(metric, trial.dev):>7}" if trial.dev is not None else " " * 7
    # A failed trial has no score, and one that was stopped early that of its last epoch.
    state = "" if trial.state == "done" else f"  ({trial.state})"
    return f"{trial.number:>5}  {dev}  {trial.seconds:>8,.0f}  {_options(trial.values)}{state}"


def _options(values: Mapping[str, Any]) -> str:
    return "  ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in values.items()
    )
