"""The progress of a search in the terminal: one row per trial, then the best."""

from collections.abc import Mapping
from typing import Any

from tagkit.cli.program.console import ProgressBar, note
from tagkit.evaluation.reports.criterion import rank, score_text
from tagkit.training.folder.trials import BEST_CONFIG, Trial, Tuned, TuneListener
from tagkit.wording import as_path_argument, cells, padded, plural


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
            note(trial_head(self._measure))
        self._has_head = True

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """A row of the table; * if no earlier trial was as good."""
        self._show_head()
        self._bar.advance(self._task)
        row = trial_line(trial, self._measure, self._metric)
        note(row + ("  *" if is_best else ""), is_best=is_best)

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
        note(trial_head(self._measure))
        for trial in done:
            note(trial_line(trial, self._measure, self._metric))
        note("")
        note(f"saved {tuned.folder} (model) and {tuned.folder / BEST_CONFIG} (options)")
        note(f"Next: tagkit eval {as_path_argument(tuned.folder)} TEST")


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
