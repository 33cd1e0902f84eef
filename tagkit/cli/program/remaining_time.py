"""How long a training run still takes, and the line that shows it; no terminal needed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagkit.cli.program.terminal import shown_time

if TYPE_CHECKING:  # its module imports torch
    from tagkit.training.events.callbacks import Step

# Weight of a step that is one older. About the last hundred steps count: a machine that becomes
# slower shows soon, and one long batch does not make the estimate jump.
_DECAY = 0.99
_MIN_BAR, _MAX_BAR = 8, 40  # cells; a shorter bar shows nothing


class _Mean:
    """A mean in which older values count for less."""

    def __init__(self) -> None:
        self._sum = self._weight = 0.0

    def add(self, value: float) -> None:
        self._sum = _DECAY * self._sum + value
        self._weight = _DECAY * self._weight + 1

    def value(self) -> float | None:
        return self._sum / self._weight if self._weight else None


@dataclass(frozen=True, slots=True)
class Remaining:
    """Seconds until the end.

    Attributes:
        epoch: of this epoch, its evaluation included.
        run: of the run, if nothing ends it early.
    """

    epoch: float
    run: float


class RemainingTime:
    """Estimates how long a run still takes from the times at which its steps end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds, never going back."""
        self._clock = clock
        self._step_s = _Mean()
        self._last: Step | None = None
        self._ended = clock()
        self._first_s = 0.0
        self._between_s = 0.0  # from the last step of an epoch to the next: evaluating, saving

    def add(self, step: "Step") -> None:
        """Count a step that has just ended."""
        now = self._clock()
        passed, self._ended = now - self._ended, now
        before, self._last = self._last, step
        if before is None:
            self._first_s = passed  # reading and warming up are in it
        elif step.epoch == before.epoch:
            self._step_s.add(passed)
        else:
            self._between_s = max(0.0, passed - (self._step_s.value() or 0.0))

    def left(self) -> Remaining | None:
        """The time that is left now; None before the first step."""
        step = self._last
        if step is None:
            return None
        step_s = self._step_s.value()
        if step_s is None:
            step_s = self._first_s
        # Until dev was scored once, an upper bound: scoring takes less time than training.
        between_s = self._between_s or step.closing_s
        passed = self._clock() - self._ended
        of_epoch = max(0.0, (step.total - step.done) * step_s + between_s - passed)
        later_steps = step.run_total - step.run_done - (step.total - step.done)
        later_epochs = step.epochs - step.epoch
        # At the end dev and test are scored with the best model, in `closing_s`.
        of_run = of_epoch + later_steps * step_s + later_epochs * between_s + step.closing_s
        of_run = max(0.0, min(of_run, step.limit_s - passed))
        return Remaining(min(of_epoch, of_run), of_run)


def step_line(
    step: "Step", left: Remaining | None, width: int, filled: str = "━", what: str = "run"
) -> tuple[str, int]:
    """The line of a run's progress, at most `width` cells.

    Args:
        step: the latest one.
        left: the time that is left; None where it is not known yet.
        width: of the terminal.
        filled: a character of the bar.
        what: what ends with the last epoch: the run, or the one of several seeds.

    Returns:
        The line, and how many of the bar's characters at its end stand for steps to come.
    """
    head, count = f"epoch {step.epoch}/{step.epochs}", f"{step.done:,}/{step.total:,}"
    loss, rate = f"loss {step.loss:z.4f}", f"{step.tokens_per_s:,.0f}"
    times = (
        [f"{shown_time(left.epoch)} left", f"{what} at most {shown_time(left.run)}"] if left else []
    )
    # From the fullest to the shortest; the rate is least missed, then the loss.
    variants = [
        "  ".join([head, f"step {count}", loss, f"{rate} tokens/s", *times]),
        "  ".join([head, count, loss, f"{rate} tokens/s", *times]),
        "  ".join([head, count, loss, f"{rate} tok/s", *times]),
        " ".join([head, count, loss, f"{rate} tok/s", *times]),
        " ".join([head, count.replace(",", ""), loss, f"{rate} tok/s", *times]),
        "  ".join([head, count, loss, *times]),
        "  ".join([head, count, *times]),
        "  ".join([head, count, *times[:1]]),
        "  ".join([head, count]),
        head,
    ]
    # Half a part would be misread: "run at most 1" of 1:02:03.
    line = next((line for line in variants if len(line) <= width), "")
    room = min(width - len(line) - 2, _MAX_BAR)
    if room < _MIN_BAR:
        return line, 0
    done = round(room * step.done / max(1, step.total))
    return f"{line}  {filled * room}", room - done
