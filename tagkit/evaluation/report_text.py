"""A report as lines of plain text: what `tagkit eval` prints, and `report.txt` of a run holds."""

from collections.abc import Iterator, Mapping

from tagkit.evaluation.class_report import ClassReport, JointReport
from tagkit.evaluation.metrics import Comparison, added_metrics
from tagkit.evaluation.report import Report
from tagkit.evaluation.tag_report import TagReport
from tagkit.text.schemes import has_spans
from tagkit.wording import clipped, listed, plural, shortened, visible

_NO_CLASS = "(none)"  # shown in place of an empty label
_MAX_LABEL = 60  # characters of a label in a table
_MIN_LABEL = 12  # also on a narrow terminal
MAX_LABELS = 1000  # that a line names


def label_cell(label: str) -> str:
    """A label or class in a table: safe to display, and of bounded length."""
    return visible(clipped(label, _MAX_LABEL)) or _NO_CLASS


def report_lines(report: Report, width: int | None = None) -> Iterator[str]:
    """A report on tags, on classes, or on both.

    Args:
        report: of any task.
        width: cells of a terminal, for which long labels are shortened; None for a file.
    """
    # The one place that knows which lines a type of report has.
    match report:
        case TagReport():
            yield from _tag_lines(report, width)
        case ClassReport():
            yield from _class_lines(report, width)
        case JointReport():
            yield from _tag_lines(report.tags, width)
            yield ""
            yield from _class_lines(report.classes, width)
            yield f"whole texts right, tags and class: {report.whole:.4f}"
        case _:  # a task with a report of its own need not add a case here
            for name, value in report.parts().items():
                yield f"{name} {value:.4f}"


def _tag_lines(report: TagReport, width: int | None) -> Iterator[str]:
    yield from _score_lines(report, width)
    kind = f"{report.scheme} spans" if has_spans(report.scheme) else "tags"
    tokens = plural(report.tokens, "token")
    # Scheme and mode always: a score without them cannot be compared with another one.
    yield f"{kind}, {report.mode}; token accuracy {report.accuracy:.4f} of {tokens}"
    yield from _added_lines(report.comparison)
    yield from _unknown_lines("labels", report.unknown)


def _class_lines(report: ClassReport, width: int | None) -> Iterator[str]:
    yield from _score_lines(report, width)
    what = "all of a text's classes right" if report.several else "accuracy"
    yield f"classes; {what} {report.accuracy:.4f} of {plural(report.texts, 'text')}"
    yield from _added_lines(report.comparison)
    yield from _unknown_lines("classes", report.unknown)


def _added_lines(comparison: Comparison) -> Iterator[str]:
    """Metrics that have no place in the table."""
    for metric in added_metrics(comparison.kind):
        yield f"{metric.name} {metric.value(comparison):.4f}"


def _score_lines(report: TagReport | ClassReport, width: int | None) -> Iterator[str]:
    # seqeval's layout. Rows, not a dictionary: a label may be called "micro avg".
    heads = "  precision  recall      f1  support"
    room = max(_MIN_LABEL, width - len(heads)) if width else _MAX_LABEL
    rows = [(shortened(label_cell(label), room), score) for label, score in report.types.items()]
    averages = [
        ("micro avg", report.micro),
        ("macro avg", report.macro),
        ("weighted avg", report.weighted),
    ]
    first = max(len(label) for label, _ in (*rows, *averages))
    yield f"{'':<{first}}{heads}"
    for group in (rows, averages):  # a blank line after each
        for label, score in group:
            yield (
                f"{label:<{first}}  {score.precision:>9.4f}  {score.recall:>6.4f}  "
                f"{score.f1:>6.4f}  {score.support:>7,}"
            )
        yield ""


def _unknown_lines(kind: str, unknown: Mapping[str, int]) -> Iterator[str]:
    # Without this a test set with other labels would look like a poor model.
    if unknown:
        named = listed(
            [f"{label_cell(label)} ({count:,})" for label, count in unknown.items()], MAX_LABELS
        )
        yield f"gold {kind} that the model does not know, all counted as errors: {named}"
