"""When the time of a run is over, how many steps fit into it, and when a checkpoint is saved."""

import time
from collections import deque
from numbers import Real

from tagkit.errors import DataError
from tagkit.wording import clipped

# The first steps of a process load code and allocate memory, and take several times as long.
COLD_STEPS = 3
# Batches differ in length, and a busy machine in speed: a mean over this many steps follows the
# machine within a few seconds, and moves by little from step to step.
_WINDOW = 200


class TimeBudget:
    """The time limit of a run, and the interval of its checkpoints; created when the run starts."""

    def __init__(
        self, max_minutes: float, checkpoint_every: int | str, started_s: float | None = None
    ) -> None:
        """The options are those of [train]: 0 minutes for no limit; a number of steps, or "10m".

        `started_s` is the moment, by `time.monotonic()`, from which the minutes count; None for
        now.

        Raises:
            DataError: it is no such moment, or one to come.
        """
        # Not the time of day, which jumps when a clock is set.
        self.saved_at = time.monotonic()
        is_moment = isinstance(started_s, Real) and not isinstance(started_s, bool)
        # That of `time.time` is one to come, and the limit would never be reached.
        if started_s is not None and not (is_moment and started_s <= self.saved_at):
            found = clipped(repr(started_s))
            raise DataError(f"started_s: expected a moment of time.monotonic(), found {found}")
        self.started = self.saved_at if started_s is None else started_s
        self.limit_s = 60 * max_minutes or float("inf")
        self.every = checkpoint_every
        # Last duration of each; before there was one, 0 or an estimate.
        self.dev_s = 0.0  # scoring dev, its loss included
        self.dev_loss_s = 0.0  # that loss alone
        self.model_s = 0.0  # saving a model
        self.checkpoint_s = 0.0  # saving a checkpoint
        self.steps = 0  # of this process, which may have resumed the run
        self._steps_s: deque[float] = deque(maxlen=_WINDOW)

    @property
    def is_limited(self) -> bool:
        """Whether there is a time limit."""
        return self.limit_s < float("inf")

    @property
    def step_s(self) -> float:
        """Mean duration of the last steps, the first ones of the process left out; 0 before."""
        return sum(self._steps_s) / max(1, len(self._steps_s))

    def count_step(self, seconds: float) -> None:
        """Count the duration of a step."""
        self.steps += 1
        if self.steps == COLD_STEPS + 1:
            self._steps_s.clear()
        self._steps_s.append(seconds)

    def left_s(self, closing_s: float) -> float:
        """Seconds for further steps, if it takes `closing_s` to score and save the run."""
        return self.limit_s - (time.monotonic() - self.started) - closing_s

    def is_over(self, closing_s: float) -> bool:
        """Whether the run has to end now, if it takes `closing_s` to score and save it."""
        # With half a step left, a further step would end as far behind the limit as this one does
        # before it.
        return self.left_s(closing_s + self.step_s / 2) < 0

    def steps_that_fit(
        self, left: int, epoch: int, *, step_s: float, ending_s: float, closing_s: float
    ) -> float:
        """Number of steps, not rounded, that can be taken until the run has to end.

        Args:
            left: steps of the current epoch that are still to be taken.
            epoch: steps of an epoch, at least 1; all later ones are assumed to be like this one.
            step_s: duration of a step, above 0.
            ending_s: how long it takes to score dev and to save model and checkpoint after one.
            closing_s: how long it takes to score and save the run, which ends within an epoch.
        """
        left_s = max(0.0, self.left_s(closing_s))
        if left_s <= left * step_s:
            return left_s / step_s
        # Of the time that an epoch's ending takes, no step is taken.
        left_s = max(0.0, left_s - left * step_s - ending_s)
        epochs, rest_s = divmod(left_s, epoch * step_s + ending_s)
        return left + epochs * epoch + min(epoch, rest_s / step_s)

    def left_minutes(self) -> float:
        """Minutes until the limit, as in [train]: 0 for no limit."""
        # A run without time left still gets a tenth of a second: 0 would mean no limit at all.
        return max(self.left_s(0), 0.1) / 60 if self.is_limited else 0.0

    def is_due(self, step: int) -> bool:
        """Whether every run of this configuration saves a checkpoint after this step."""
        # An interval in minutes ends at another step in each run. To go back to such a checkpoint
        # would make the weights depend on the clock.
        return isinstance(self.every, int) and step % self.every == 0

    def should_save(self, step: int) -> bool:
        """Whether to save a checkpoint after this step."""
        if isinstance(self.every, int):
            return self.is_due(step)
        return time.monotonic() - self.saved_at > 60 * float(self.every.removesuffix("m"))

    def saved(self) -> None:
        """Count the minutes to the next checkpoint from now."""
        self.saved_at = time.monotonic()
