"""When the time of a run is over, and when it saves a checkpoint."""

import time


class TimeBudget:
    """The time limit of a run, and the interval of its checkpoints; created when the run starts."""

    def __init__(self, max_minutes: float, checkpoint_every: int | str) -> None:
        """Both as in [train]: 0 minutes for no limit; a number of steps, or "10m"."""
        # Not the time of day, which jumps when a clock is set.
        self.started = self.saved_at = time.monotonic()
        self.limit_s = 60 * max_minutes or float("inf")
        self.every = checkpoint_every
        self.dev_s = 0.0  # how long scoring dev took; 0 before it was scored

    def is_over(self, closing_s: float) -> bool:
        """Whether the run has to end now, if it takes `closing_s` seconds to score and save it."""
        return time.monotonic() - self.started + closing_s > self.limit_s

    def left_minutes(self) -> float:
        """Minutes until the limit, as in [train]: 0 for no limit."""
        left = self.limit_s - (time.monotonic() - self.started)
        # A run without time left still gets a tenth of a second: 0 would mean no limit at all.
        return 0.0 if left == float("inf") else max(left, 0.1) / 60

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
