"""When a run's time is over, and when its state is to be saved."""

import time


class TimeBudget:
    """Time of a run, which begins when this object is made."""

    def __init__(self, max_minutes: float, checkpoint_every: int | str) -> None:
        """As [train] has them: 0 minutes for no limit; a number of steps, or "10m"."""
        # Not the time of day, which jumps when a clock is set.
        self.started = self.saved_at = time.monotonic()
        self.limit_s = 60 * max_minutes or float("inf")
        self.every = checkpoint_every
        self.dev_s = 0.0  # how long scoring dev took; 0 before it was scored

    def is_over(self, closing_s: float) -> bool:
        """Whether the run has to end now, if scoring and saving at its end take so many seconds."""
        return time.monotonic() - self.started + closing_s > self.limit_s

    def left_minutes(self) -> float:
        """Minutes until the limit, as [train] has them: 0 for no limit."""
        left = self.limit_s - (time.monotonic() - self.started)
        # A run without time left still gets a tenth of a second: 0 would mean no limit at all.
        return 0.0 if left == float("inf") else max(left, 0.1) / 60

    def is_due(self, step: int) -> bool:
        """Whether every run of this configuration saves its state after this step."""
        # Minutes differ from run to run, steps do not: only the latter make a checkpoint one that
        # a run may go back to without losing reproducibility.
        return isinstance(self.every, int) and step % self.every == 0

    def wants_checkpoint(self, step: int) -> bool:
        """Whether the state after this step is to be saved."""
        if isinstance(self.every, int):
            return self.is_due(step)
        return time.monotonic() - self.saved_at > 60 * float(self.every.removesuffix("m"))

    def saved(self) -> None:
        """Count the minutes to the next checkpoint from now."""
        self.saved_at = time.monotonic()
