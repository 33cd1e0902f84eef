"""When a run's time is over, and when its state is to be saved."""

import time


class Clock:
    """Time of a run, from when this is made."""

    def __init__(self, max_minutes: float, checkpoint_every: int | str) -> None:
        """As [train] has them: 0 minutes for no limit; a number of steps, or "10m"."""
        self.started = self.saved_at = time.monotonic()
        self.limit_s = 60 * max_minutes or float("inf")
        self.every = checkpoint_every
        self.dev_s = 0.0  # that scoring dev took; 0 before

    def is_due(self, step: int) -> bool:
        """Whether every run saves its state after this step, whatever its clock says."""
        return isinstance(self.every, int) and step % self.every == 0

    def is_over(self, ending_s: float) -> bool:
        """Whether the run has to end now, if ending takes so many seconds."""
        return time.monotonic() - self.started + ending_s > self.limit_s

    def left_minutes(self) -> float:
        """Minutes until then, as [train] has them: 0 for no limit."""
        left = self.limit_s - (time.monotonic() - self.started)
        return 0.0 if left == float("inf") else max(left, 0.1) / 60

    def wants_checkpoint(self, step: int) -> bool:
        """Whether the state after this step is to be saved."""
        if isinstance(self.every, int):
            return self.is_due(step)
        return time.monotonic() - self.saved_at > 60 * float(self.every.removesuffix("m"))

    def saved(self) -> None:
        """The state was saved."""
        self.saved_at = time.monotonic()
