"""What a person sees: progress and notes. The only module that knows rich.

Everything but the result of a command goes to standard error. Where that is no terminal
there is no colour and no progress bar, and lines come out plain and whole.
"""

import io
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.progress_bar import ProgressBar as Drawn
from rich.table import Column, Table
from rich.text import Text

from tagkit.cli.program.messages import for_terminal, shown_time, with_flags
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
    # By rich, which puts it above a progress bar.
    shown = for_terminal(message_line(text), sys.stderr, is_best=is_best)
    _ERRORS.print(Text.from_ansi(shown))


def styled(parts: Iterable[tuple[str, str]]) -> str:
    """Texts, each with its style in the words of rich, as one text with a terminal's sequences."""
    # A console of its own: standard output is written by the command, which reports what fails.
    console = Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as captured:
        console.print(Text.assemble(*parts), end="", soft_wrap=True)
    return captured.get()


class ProgressBar:
    """Shows a progress bar on standard error while it is entered, if that is a terminal."""

    def __init__(self, description: str, total: int | None, *columns: ProgressColumn) -> None:
        """`total` steps; None where that is not known. `columns` replace the usual ones."""
        usual = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Bar(
            *(columns or usual),
            console=_ERRORS,
            # Gone when it ends, so that a log holds the rows alone.
            transient=True,
            # Standard output holds data: rich would send it to standard error.
            redirect_stdout=False,
            disable=not _ERRORS.is_terminal,
        )
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


class StepColumn(ProgressColumn):
    """One line with epoch, step, loss, rate, and about how long the run still takes."""

    def __init__(self) -> None:
        """Shows the description until there is a step."""
        super().__init__(table_column=Column(no_wrap=True))
        self.restart("run")

    def restart(self, what: str) -> None:
        """Begin another run, whose steps take another time; `what` it is called."""
        self._what = what
        self._first: Step | None = None
        self._step: Step | None = None
        self._began_s = self._ended_s = 0.0

    def add(self, step: "Step") -> None:
        """Count a step. The terminal is written to ten times a second at most, by rich's thread."""
        self._step, self._ended_s = step, time.monotonic()
        if self._first is None:  # warming up is in its time
            self._first, self._began_s = step, self._ended_s

    def render(self, task: Task) -> RenderableType:
        """The line as it is now."""
        step = self._step
        if step is None:
            return Text(task.description)
        # What is missed least comes last: on a narrow terminal the end is left out.
        parts = [
            f"epoch {step.epoch}/{step.epochs}", f"{step.done:,}/{step.total:,}", self._left(step),
            f"loss {step.loss:z.4f}", f"{step.tokens_per_s:,.0f} tokens/s",
        ]  # fmt: skip
        line = Table.grid(Column(no_wrap=True), Column(ratio=1), padding=(0, 2), expand=True)
        line.add_row("  ".join(filter(None, parts)), Drawn(step.total, step.done))
        return line

    def _left(self, step: "Step") -> str:
        """The time left of the run: at the pace so far, with evaluations, or up to its limit."""
        if self._first is None or not (steps := step.run_done - self._first.run_done):
            return ""
        per_step = (self._ended_s - self._began_s) / steps
        left = (step.run_total - step.run_done) * per_step + step.closing_s
        left = min(left, step.limit_s) - (time.monotonic() - self._ended_s)
        return f"{self._what} about {shown_time(left)} left"


class PredictionProgress(ProgressBar):
    """Shows on standard error how many tokens are done, how many a second, and the time left."""

    def __init__(self, total_bytes: int | None) -> None:
        """`total_bytes` of all inputs; None where it is not known, as of a pipe."""
        super().__init__(
            "reading", total_bytes, TextColumn("{task.description}", markup=False),
            TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn(), BarColumn(None),
        )  # fmt: skip
        self._tokens, self._before, self._of_file, self._name = 0, 0, 0, ""

    def start_file(self, name: str, size: int = 0) -> None:
        """Begin another input of `size` bytes, which is named if it is not the only one."""
        self._name = shortened(name, 30)
        self._before += self._of_file
        self._of_file = size
        self._bar.update(self._task, completed=self._before)

    def add(self, tokens: int, bytes_read: int) -> None:
        """Count tokens that are done, which end at this byte of their input."""
        self._tokens += tokens
        rate = self._tokens / max(self._bar.tasks[0].elapsed or 0.0, 1e-9)
        self._bar.update(
            self._task,
            completed=self._before + bytes_read,
            description=f"{self._name}  {self._tokens:,} tokens  {rate:,.0f} tokens/s".strip(),
        )
