"""What a search exchanges with Optuna: drawn values, reported scores, records of trials."""

from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from tagkit.config.search_space import Range, Space
from tagkit.training.callbacks import Epoch, Listener
from tagkit.training.trials import Trial

# The states in which a trial has ended, and their names for people.
STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "given up",
    TrialState.FAIL: "failed",
}


class Pruner(Listener):
    """Reports each epoch's score to Optuna, and stops the trial if the pruner says so."""

    def __init__(self, trial: optuna.Trial) -> None:
        """`trial` is the one that is trained."""
        self.trial = trial

    def on_epoch(self, epoch: Epoch) -> None:
        """Report the score on dev.

        Raises:
            TrialPruned: the trial is below the median; it passes through `train`, which stops.
        """
        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def suggest(trial: optuna.Trial, name: str, space: Space) -> Any:
    """A value that Optuna's sampler draws from a space."""
    if not isinstance(space, Range):
        return trial.suggest_categorical(name, space.values)
    if space.whole:
        return trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    return trial.suggest_float(name, space.low, space.high, log=space.log)


def as_trial(frozen: FrozenTrial) -> Trial:
    """Optuna's record of a trial as ours."""
    # A pruned trial has no value in Optuna: the table shows its last reported score.
    dev = frozen.value if frozen.state == TrialState.COMPLETE else None
    if frozen.state == TrialState.PRUNED and frozen.intermediate_values:
        dev = frozen.intermediate_values[max(frozen.intermediate_values)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(frozen.number + 1, frozen.params, dev, STATES[frozen.state], seconds)
