"""What a person sees: progress and notes. The only module that knows rich.

Everything but the result of a command goes to standard error. Where that is no terminal
there is no colour and no progress bar, and lines come out plain and whole.
"""

import io
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from tagkit.cli.program.messages import with_flags
from tagkit.cli.program.terminal import coloured, has_colours, shown_time, width_of, wrapped
from tagkit.wording import message_line, shortened

if TYPE_CHECKING:  # its module imports torch
    from tagkit.training.events.callbacks import Step


class _Errors(Console):
    """Standard error; a closed terminal does not end a training run."""

    def __init__(self) -> None:
        # No text is read as markup or as the name of an emoji: a file may be called
        # `a:pear:b.txt`.
        super().__init__(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # a full disk, or a terminal that was closed
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the program."""
        self.quiet = True


_ERRORS = _Errors()
_STYLES = {"error": "bold red", "warning": "yellow", "best": "bold green"}


def note(text: str) -> None:
    """Print a message of the library, with the flags of the command, to standard error."""
    show_line(with_flags(text))


def show_line(text: str, *, is_best: bool = False) -> None:
    """Print a text to standard error as it is, on one line whatever is in it.

    A terminal gets it wrapped between words.

    Args:
        text: the line.
        is_best: whether it is the row of the best epoch.
    """
    line = message_line(text)
    # Not rich's width, which is 80 for each terminal that calls itself dumb.
    first, *others = wrapped(line, width_of(sys.stderr) if _ERRORS.is_terminal else None)
    shown = Text(first)
    part = coloured(line, is_best=is_best)
    if part and has_colours(sys.stderr):
        shown.stylize(_STYLES[part.style], 0, part.end)
    for each in others:
        shown.append(f"\n{each}")
    _ERRORS.print(shown)


def styled(parts: Iterable[tuple[str, str]]) -> str:
    """Texts, each with its style in the words of rich, as one text with a terminal's sequences."""
    text = Text()
    for part, style in parts:
        text.append(part, style)
    # A console of its own: standard output is written by the command, which reports what fails.
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as captured:
        console.print(text, end="", soft_wrap=True)
    return captured.get()


class ProgressBar:
    """Shows a progress bar on standard error while it is entered."""

    def __init__(self, description: str, total: int | None, *columns: ProgressColumn) -> None:
        """`total` steps; None where that is not known. `columns` replace the usual ones."""
        self._bar = _progress_bar(*columns)
        self._task = self._bar.add_task(description, total=total)

    def __enter__(self) -> Self:
        """Start the bar."""
        try:
            self._bar.start()
        except BaseException:  # a signal in between, after which nobody would show the cursor again
            self._bar.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._bar.stop()


def _progress_bar(*columns: ProgressColumn) -> Bar:
    """A bar; none where standard error is no terminal."""
    usual = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Bar(
        *(columns or usual),
        console=_ERRORS,
        # Gone when it ends, so that a log holds the rows alone.
        transient=True,
        # Standard output holds data: rich would send it to standard error.
        redirect_stdout=False,
        disable=not _ERRORS.is_terminal,
    )


class StepColumn(ProgressColumn):
    """One line with epoch, step, loss, rate, and the time left of the epoch and of the run."""

    def __init__(self) -> None:
        """Shows the description until there is a step."""
        super().__init__(table_column=Column(no_wrap=True))
        self._remaining = RemainingTime()
        self._step: Step | None = None
        self._what = "run"

    def restart(self, what: str) -> None:
        """Begin another run, whose steps take another time; `what` it is called."""
        self._remaining, self._step, self._what = RemainingTime(), None, what

    def add(self, step: "Step") -> None:
        """Count a step. The terminal is written to ten times a second at most, by rich's thread."""
        self._remaining.add(step)
        self._step = step

    def render(self, task: Task) -> Text:
        """The line as it is now."""
        step = self._step
        if step is None:
            return Text(task.description)
        filled = "━" if _ERRORS.encoding.startswith("utf") else "-"
        left = self._remaining.left()
        line, to_come = step_line(step, left, _ERRORS.width, filled, self._what)
        text = Text(line)
        if line.endswith(filled):
            start = len(line.rstrip(filled))
            text.stylize("bar.complete", start, len(line) - to_come)
            text.stylize("bar.back", len(line) - to_come)
            if not has_colours(sys.stderr):  # the steps to come could not be told from the others
                text = text[: len(text) - to_come]
        return text


class PredictionProgress(ProgressBar):
    """Shows on standard error how many tokens are done, how many a second, and the time left."""

    def __init__(self, total_bytes: int | None) -> None:
        """`total_bytes` of all inputs; None where it is not known, as of a pipe."""
        super().__init__("", None, TextColumn("{task.description}", markup=False))
        self._tokens, self._began_s = 0, time.monotonic()
        self._total, self._before, self._of_file = total_bytes, 0, 0
        self._name = ""
        self._update()

    def start_file(self, name: str, size: int = 0) -> None:
        """Begin another input of `size` bytes, which is named if it is not the only one."""
        self._name = name
        self._before += self._of_file
        self._of_file = size
        self._update(self._before)

    def add(self, tokens: int, bytes_read: int) -> None:
        """Count tokens that are done, which end at this byte of their input."""
        self._tokens += tokens
        self._update(self._before + bytes_read)

    def _update(self, done_bytes: int = 0) -> None:
        passed = time.monotonic() - self._began_s
        share = min(1.0, done_bytes / self._total) if self._total else None
        line = prediction_line(self._name, self._tokens, passed, _ERRORS.width, share)
        self._bar.update(self._task, description=line)


def prediction_line(
    name: str, tokens: int, seconds: float, width: int, share: float | None = None
) -> str:
    """The progress of a prediction, at most `width` cells.

    Args:
        name: of the input.
        tokens: that are done.
        seconds: since the beginning.
        width: of the terminal.
        share: of the inputs that is done, 0 to 1; None where it is not known.
    """
    if not tokens:
        return "reading"
    unit = "token " if tokens == 1 else "tokens"
    done, rate = f"{tokens:,} {unit}", f"{tokens / max(seconds, 1e-9):,.0f} tokens/s"
    percent, left, passed = [], [], shown_time(seconds)
    if share:
        percent = [f"{100 * share:.0f} %"]
        left = [f"{shown_time(seconds / share - seconds)} left"]
    variants = [
        [*percent, done, rate, passed, *left], [*percent, done, passed, *left],
        [*percent, done, *left], [*percent, done], percent,
    ]  # fmt: skip
    lines = ["  ".join(parts).strip() for parts in variants]
    room = width - len(lines[0]) - 2
    if room >= len("a...b"):
        return f"{shortened(name, room)}  {lines[0]}"
    return next((line for line in lines if len(line) <= width), "")


# How long a training run still takes, and the line that shows it; no terminal needed.


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
