"""Which classes are taken for which, as lines of plain text."""

from collections.abc import Iterator, Sequence

from tagkit.evaluation.reports.class_report import ClassReport, label_reports
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.evaluation.reports.text_table import WIDE, pair_table, table
from tagkit.wording import cells

_MAX_CLASSES = 10  # of a confusion matrix; with more, its largest cells are listed


def confusion_lines(report: Report, width: int) -> Iterator[str]:
    """The confusion matrix, or, of many classes, the pairs that are confused most often.

    Nothing of a report without classes, and where nothing is confused.

    Args:
        report: of any task.
        width: cells of the longest line.
    """
    parts = label_reports(report).values()
    classes = next((each for each in parts if isinstance(each, ClassReport)), None)
    if classes is None or not classes.confused():
        return
    predicted = {label for row in classes.confusion.values() for label in row}
    labels = sorted(predicted | classes.confusion.keys())
    counts = [
        [classes.confusion.get(gold, {}).get(other, 0) for other in labels] for gold in labels
    ]
    names = [label_cell(label) for label in labels]
    yield ""
    if len(labels) <= _MAX_CLASSES and (lines := _matrix(names, counts, width)):
        yield from lines
        return
    yield "confused most often"
    yield ""
    pairs = [
        (label_cell(gold), label_cell(other), count)
        for gold, other, count in classes.confused()[:_MAX_CLASSES]
    ]
    yield from pair_table(("gold", "predicted", "texts"), pairs, width)


def _matrix(names: Sequence[str], counts: Sequence[Sequence[int]], width: int) -> list[str]:
    """A row for each gold class and a column for each predicted one; empty if it is too wide.

    The columns have the names of the classes where the width suffices, else their numbers, and the
    rows, which have both, are the legend.
    """
    corner = "gold \\ predicted"
    figures = [[f"{count:,}" for count in row] for row in counts]
    rows = [[name, *row] for name, row in zip(names, figures, strict=True)]
    found = list(table(corner, names, rows, WIDE))
    if max(map(cells, found)) <= width:
        return found
    numbers = [str(number) for number in range(1, len(names) + 1)]
    digits = len(numbers[-1])
    rows = [
        [f"{number:>{digits}} {row[0]}", *row[1:]]
        for number, row in zip(numbers, rows, strict=True)
    ]
    found = list(table(corner, numbers, rows, width))
    return found if found[0].startswith(corner) and max(map(cells, found)) <= width else []
