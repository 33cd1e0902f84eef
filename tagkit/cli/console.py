"""What a person sees: progress, tables, notes. The only module that knows rich.

Everything but the result of a command goes to standard error. Where that is no terminal
there is no colour and no progress bar, and lines come out plain.
"""

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from tagkit.cli.messages import for_people, show_lines
from tagkit.cli.reports import info_lines, label_cell, measured_lines, report_lines
from tagkit.evaluation.class_report import ClassReport, JointReport

if TYPE_CHECKING:  # their modules import torch, which is seconds; a note does not need them
    from tagkit.cli.command_times import Measured
    from tagkit.evaluation.report import Report
    from tagkit.models.bundle import Bundle


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
_MOST_CLASSES = 10  # of a confusion matrix; with more, its largest cells


def note(text: str) -> None:
    """Print a message to standard error, on one line whatever is in `text`."""
    _ERRORS.print(for_people(text))


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


def print_report(report: "Report") -> None:
    """Print a report as a table to standard output."""
    show_lines(report_lines(report))
    classes = report.classes if isinstance(report, JointReport) else report
    if isinstance(classes, ClassReport) and classes.confused():
        _print_confusion(classes)


def _print_confusion(report: ClassReport) -> None:
    """The confusion matrix, or, of many classes, the pairs that are confused most often."""
    predicted = {label for row in report.confusion.values() for label in row}
    labels = sorted(predicted | report.confusion.keys())
    if len(labels) <= _MOST_CLASSES:
        table = Table("gold \\ predicted", *map(label_cell, labels))
        for gold, row in report.confusion.items():
            table.add_row(label_cell(gold), *(f"{row.get(label, 0):,}" for label in labels))
    else:
        pairs = report.confused()[:_MOST_CLASSES]
        table = Table("gold", "predicted", "texts", title="confused most often")
        for gold, other, count in pairs:
            table.add_row(label_cell(gold), label_cell(other), f"{count:,}")
    for column in table.columns[1:] if len(labels) <= _MOST_CLASSES else table.columns[2:]:
        column.justify = "right"
    # rich cuts a table at the terminal's width; in a file or a pipe no column may be lost.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = 1000
    console.print(table)


def print_measured(measured: "Measured") -> None:
    """Print the figures of a benchmark to standard output."""
    show_lines(measured_lines(measured))


def print_info(name: str, bundle: "Bundle") -> None:
    """Print the description of a model to standard output."""
    show_lines(info_lines(name, bundle))
