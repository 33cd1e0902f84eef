"""The learning rate of each step of training."""

import math
import sys
from collections.abc import Mapping
from typing import Any

from tagkit.config import TrainConfig, fixed
from tagkit.wording import plural

_FALLING = ("linear", "cosine")
# Share of the steps until a time limit over which the rate falls. Not all of them: where time is
# short a model learns most at a high rate. After 200 steps on CoNLL-2000 dev F1 was 88.5 with a
# quarter, 84.3 with all of them, and 88.8 without a fall; see docs/training.md.
_ENDING = 0.25
# Of a plateau: epochs without a better dev score, and what the rate is multiplied by after these.
PLATEAU_PATIENCE, PLATEAU_FACTOR = 2, 0.5


class Schedule:
    """The learning rate of each step.

    It rises in a straight line from 0 over `warmup_steps`, then stays (constant), falls in a
    straight line to 0 (linear), along half a cosine to 0 (cosine; Loshchilov and Hutter 2017), or
    is cut whenever dev stops getting better (plateau). See Goodfellow, Bengio and Courville,
    section 8.3.1.

    A run with a time limit may end before its last epoch: then `fitting_steps` is less than
    `total_steps`, and over the last quarter of these a rate that falls to 0 does so by then.
    """

    # Not torch's schedulers, which agree with these formulas
    # (tests/training/optim/test_lr_schedule.py), for three reasons. `total_steps` is estimated anew
    # at each epoch, where theirs is fixed. Their rate is kept in an optimizer, while ours also
    # feeds `RowAdam`, which is none. And their ReduceLROnPlateau overwrites the rate, while here
    # plateaus, non-finite losses and the warm-up are factors of one product: any step's rate
    # follows from five numbers in a checkpoint.

    def __init__(self, settings: TrainConfig) -> None:
        """The schedule before the first step; set `total_steps` before taking one."""
        self.settings = settings
        # Steps of a run that does not end early, set at the start of each epoch: where epochs
        # differ in length, an estimate until the last one.
        self.total_steps = 0
        # Steps until the time limit, those done included; estimated anew after each step.
        self.fitting_steps = math.inf
        self.lr = fixed(settings.lr)  # of the last step
        self._step = 0
        self.factor = 1.0  # of all learning rates; plateaus and losses that are not finite cut it
        self._best = -sys.float_info.max  # below any score; infinity has no place in JSON
        self._waited = 0  # epochs since the best score, or since the factor was last cut

    def note(self) -> str:
        """What is wrong with the warm-up, in a sentence; empty if nothing is.

        Of the steps that a time limit leaves nobody knows before they are taken: `end_note`.
        """
        warmup, steps = self.settings.warmup_steps, self.total_steps
        if warmup <= steps:
            return ""
        return (
            f"train.warmup_steps = {warmup:,} is more than the run's {plural(steps, 'step')}, so "
            "that the learning rate never reaches train.lr; lower it (a tenth of the steps is "
            "usual), or raise train.max_epochs"
        )

    def end_note(self) -> str:
        """What is wrong with the warm-up of a run that its time limit has ended; as `note`."""
        warmup, steps = self.settings.warmup_steps, self._step
        if warmup <= steps or self.note():
            return ""
        return (
            f"the time limit ended the run after {plural(steps, 'step')}, within the warm-up of "
            f"train.warmup_steps = {warmup:,}, so that the learning rate never reached train.lr; "
            "lower it (a tenth of the steps is usual), or raise train.max_minutes"
        )

    def next_step(self) -> float:
        """Learning rate of the next step, which is then in `lr`."""
        self.lr = min(self._at(self._step), self._limit_at(self._step))
        self._step += 1
        return self.lr

    def _at(self, step: int) -> float:
        settings = self.settings
        if step < settings.warmup_steps:
            # Adam's first moments are means of few gradients: small steps limit their errors. It
            # begins with step + 1, as a rate of 0 would waste the first step.
            return fixed(settings.lr) * self.factor * (step + 1) / settings.warmup_steps
        left = max(1, self.total_steps - settings.warmup_steps)
        # At most 1: in a run that is longer than was planned a cosine would rise again.
        progress = min(1.0, (step - settings.warmup_steps) / left)
        shape = {
            "linear": 1 - progress,
            "cosine": (1 + math.cos(math.pi * progress)) / 2,
        }.get(settings.schedule, 1.0)
        return fixed(settings.lr) * self.factor * shape

    def _limit_at(self, step: int) -> float:
        """Upper bound of a step's rate, so that it is 0 at the time limit."""
        if self.fitting_steps >= self.total_steps or self.settings.schedule not in _FALLING:
            return math.inf
        left = max(0.0, self.fitting_steps - step)
        return fixed(self.settings.lr) * self.factor * left / max(1.0, _ENDING * self.fitting_steps)

    def after_epoch(self, score: float) -> None:
        """Register dev's score: a plateau schedule cuts the rate if the score has not risen."""
        if score > self._best:
            self._best, self._waited = score, 0
            return
        self._waited += 1
        if self.settings.schedule == "plateau" and self._waited > PLATEAU_PATIENCE:
            self.factor *= PLATEAU_FACTOR
            self._waited = 0

    def state(self) -> dict[str, float]:
        """What `restore` needs. The names are those of the file format: they stay."""
        return {
            "lr": self.lr,
            "step": self._step,
            "factor": self.factor,
            "best": self._best,
            "waited": self._waited,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state` returned."""
        self.lr, self.factor, self._best = state["lr"], state["factor"], state["best"]
        self._step, self._waited = state["step"], state["waited"]
