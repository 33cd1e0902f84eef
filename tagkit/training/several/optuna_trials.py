"""What a search exchanges with Optuna: drawn values, reported scores, records of trials."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from tagkit.config.search_space import Range, Space
from tagkit.evaluation.reports.criterion import LOSS
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.folder.trials import STUDY, STUDY_NAME, Trial
from tagkit.training.setup.setup import Prepared

# The states in which a trial has ended, and their names for people.
STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "given up",
    TrialState.FAIL: "failed",
}


class Pruner(Listener):
    """Reports each epoch's score to Optuna, and stops the trial if the pruner says so."""

    def __init__(self, trial: optuna.Trial, on_measure: Callable[[str], None]) -> None:
        """`trial` is the one that is trained; `on_measure` learns what its scores are called."""
        self.trial = trial
        self._on_measure = on_measure

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Pass on what ranks the epochs."""
        self._on_measure(prepared.criterion.name)

    def on_epoch(self, epoch: Epoch) -> None:
        """Report the score on dev.

        Raises:
            TrialPruned: the trial is below the median; it passes through `train`, which stops.
        """
        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def open_study(folder: Path, metric: str) -> optuna.Study:
    """The study in a folder, or a new one; `metric` is the value of `train.metric`."""
    return optuna.create_study(
        storage=_storage(folder),
        study_name=STUDY_NAME,
        direction="minimize" if metric == LOSS else "maximize",
        load_if_exists=True,
        # The median of fewer than 5 trials says little, and so do the first 2 epochs.
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
    )


def delete_study(folder: Path) -> None:
    """Delete the study in a folder, of which no trial is worth keeping."""
    optuna.delete_study(study_name=STUDY_NAME, storage=_storage(folder))


def _storage(folder: Path) -> str:
    return f"sqlite:///{folder / STUDY}"


def suggest(trial: optuna.Trial, name: str, space: Space) -> Any:
    """A value that Optuna's sampler draws from a space."""
    if not isinstance(space, Range):
        return trial.suggest_categorical(name, space.values)
    if space.whole:
        return trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    return trial.suggest_float(name, space.low, space.high, log=space.log)


def as_trial(frozen: FrozenTrial, number: int) -> Trial:
    """Optuna's record of a trial as ours, which counts no trial that was drawn or run twice."""
    # A pruned trial has no value in Optuna: the table shows its last reported score.
    dev = frozen.value if frozen.state == TrialState.COMPLETE else None
    if frozen.state == TrialState.PRUNED and frozen.intermediate_values:
        dev = frozen.intermediate_values[max(frozen.intermediate_values)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(number, frozen.params, dev, STATES[frozen.state], seconds)
