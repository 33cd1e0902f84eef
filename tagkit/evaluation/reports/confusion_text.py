"""Which classes are taken for which, as lines of plain text."""

from collections.abc import Iterator, Sequence

from tagkit.evaluation.reports.class_report import ClassReport, label_reports
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.wording import cells, padded, shortened

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
        (label_cell(gold), label_cell(other), f"{count:,}")
        for gold, other, count in classes.confused()[:_MAX_CLASSES]
    ]
    room = (width - len("  ") * 2 - max(len("texts"), *(len(pair[2]) for pair in pairs))) // 2
    rows = [("gold", "predicted", "texts")]
    rows += [(shortened(gold, room), shortened(other, room), count) for gold, other, count in pairs]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    for gold, other, count in rows:
        yield f"{padded(gold, widths[0])}  {padded(other, widths[1])}  {count:>{widths[2]}}"


def _matrix(names: Sequence[str], counts: Sequence[Sequence[int]], width: int) -> list[str]:
    """A row for each gold class and a column for each predicted one; empty if it is too wide.

    The columns have the names of the classes where the width suffices, else their numbers, and the
    rows, which have both, are the legend.
    """
    corner = "gold \\ predicted"
    figures = [[f"{count:,}" for count in row] for row in counts]
    numbers = [str(number) for number in range(1, len(names) + 1)]
    for heads in (names, numbers):
        rows = [*names] if heads is names else _numbered(names)
        widths = [max(map(cells, column)) for column in zip(heads, *figures, strict=True)]
        room = width - sum(len("  ") + each for each in widths)
        if room < (max(len(corner), *map(cells, rows)) if heads is names else len(corner)):
            continue
        first = max(len(corner), min(room, max(map(cells, rows))))
        lines = []
        for name, row in zip([corner, *rows], [heads, *figures], strict=True):
            right = "".join(
                f"  {padded(cell, each, right=True)}"
                for cell, each in zip(row, widths, strict=True)
            )
            lines.append(f"{padded(shortened(name, first), first)}{right}")
        return lines
    return []


def _numbered(names: Sequence[str]) -> list[str]:
    digits = len(str(len(names)))
    return [f"{number:>{digits}} {name}" for number, name in enumerate(names, 1)]
