"""What a person sees: progress, tables, notes. The only module that knows rich.

Everything but the result of a command goes to standard error. Where that is no terminal
there is no colour and no progress bar, and lines come out plain.
"""

from collections.abc import Sequence
from textwrap import TextWrapper
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from tagkit.cli.messages import for_people


class _Errors(Console):
    """Standard error; a closed terminal does not end a training run."""

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:  # a full disk, or a terminal that was closed
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the program."""
        self.quiet = True


# No text is read as markup or as the name of an emoji: a file may be called `a:pear:b.txt`.
_ERRORS = _Errors(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a message to standard error, on one line whatever is in `text`."""
    _ERRORS.print(for_people(text))


def warning(text: str) -> None:
    """Print a warning to standard error, in lines of at most 80 columns but for long words."""
    # A path or a name is never broken, so that it can be copied.
    wrapper = TextWrapper(
        80, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False
    )
    for line in wrapper.wrap(f"warning: {for_people(text)}"):
        _ERRORS.print(line)


class WithBar:
    """Shows a progress bar on standard error while it is entered."""

    def __init__(self, description: str, total: int | None) -> None:
        """`total` steps; None where that is not known."""
        self._bar = _progress_bar()
        self._task = self._bar.add_task(description, total=total)

    def __enter__(self) -> Self:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._bar.stop()


def _progress_bar() -> Bar:
    """A bar; none where standard error is no terminal."""
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=_ERRORS,
        # Gone when it ends, so that a log holds the rows alone.
        transient=True,
        disable=not _ERRORS.is_terminal,
    )


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], labels: int, title: str
) -> None:
    """Print a table to standard output.

    Args:
        head: name of each column.
        rows: as long as `head`.
        labels: number of columns on the left that hold text; the others hold numbers.
        title: above the table; may be empty.
    """
    table = Table(*head, title=title or None)
    for row in rows:
        table.add_row(*row)
    for column in table.columns[labels:]:
        column.justify = "right"
    # rich cuts a table at the terminal's width; in a file or a pipe no column may be lost.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = 1000
    console.print(table)
