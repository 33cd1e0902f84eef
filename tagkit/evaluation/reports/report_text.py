"""Reports, calibrations and tables as lines of text, as `tagkit eval` prints them."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tagkit.evaluation.reports.class_report import ClassReport, JointReport, label_reports
from tagkit.evaluation.reports.column_report import ColumnReport, ColumnsReport
from tagkit.evaluation.reports.language_report import LanguageReport, perplexity_text
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.calibration import Calibration
from tagkit.evaluation.scores.conformal import SetReport
from tagkit.evaluation.scores.metrics import Comparison, added_metrics
from tagkit.evaluation.scores.node_scores import NodeScores
from tagkit.evaluation.scores.outcomes import CLASSES
from tagkit.evaluation.scores.scores import Score
from tagkit.text.schemes import has_spans
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.wording import cells, clipped, listed, padded, plural, shortened, shown_name, visible

_NO_CLASS = "(none)"  # shown in place of an empty label
_MAX_LABEL = 60  # characters of a label in a table
MAX_LABELS = 1000  # that a line names
_MAX_CLASSES = 10  # of a confusion matrix; with more, its largest cells are listed


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
        case ColumnsReport():
            for column in report.columns:
                yield from _column_lines(column, width)
            yield from _column_table(report.columns)
        case LanguageReport():
            yield from _language_lines(report)
        case _:  # a task with a report of its own need not add a case here
            for name, value in report.parts().items():
                yield f"{name} {value:.4f}"


def _language_lines(report: LanguageReport) -> Iterator[str]:
    yield f"cross-entropy       {report.cross_entropy:>10.4f} nats a unit"
    yield f"perplexity          {perplexity_text(report.perplexity):>10}"
    yield f"bits per character  {report.bits_per_character:>10.4f}"
    if report.cache:
        numbers = ", ".join(
            f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:g}"
            for name, value in report.cache.items()
        )
        yield f"with a neural cache: {numbers}"
    if report.pairs:
        parts = report.pairs.parts()
        yield f"perplexity of continuations {perplexity_text(parts['continuation_perplexity'])}"
        found = f"{report.pairs.exact:,} of {plural(report.pairs.pairs, 'continuation')}"
        yield f"exact match {parts['exact_match']:.4f}: {found} as a greedy search writes them"
    if report.classes_right is not None:
        share = report.classes_right / max(1, report.lines)
        found = f"{report.classes_right:,} of {plural(report.lines, 'line')}"
        yield f"accuracy of classes {share:>10.4f}: {found} by p(class) p(line | class)"
    of = " of continuations" if report.counted == "continuation" else ""
    units = plural(report.units, UNIT_KINDS[report.unit].name)
    yield f"{units}{of}, the end of each line among them; {report.unknown:,} unknown"
    whole = "its file" if report.files > 1 else "the whole text"
    on = "its line" if report.context == "line" else whole
    given = "" if report.classes_right is None else ", and from its class"
    files = f"{plural(report.files, 'file')}, " if report.files > 1 else ""
    yield (
        f"{files}{plural(report.lines, 'line')}, {plural(report.characters, 'character')}; each "
        f"unit is predicted from what stands before it in {on}{given}"
    )


def _tag_lines(report: TagReport, width: int | None) -> Iterator[str]:
    yield from _score_lines(report, width)
    kind = f"{report.scheme} spans" if has_spans(report.scheme) else "tags"
    tokens = plural(report.tokens, "token")
    # Scheme and mode always: a score without them cannot be compared with another one.
    yield f"{kind}, {report.mode}; token accuracy {report.accuracy:.4f} of {tokens}"
    if remark := without_spans(report):
        yield remark
    yield from _added_lines(report.comparison)
    yield from _unknown_lines("labels", report.unknown)


def without_spans(report: TagReport) -> str:
    """What its scores of 0 mean, if there is no gold span; else an empty text."""
    if not has_spans(report.scheme) or report.micro.support:
        return ""
    if not report.types:
        return "there is no span, neither gold nor predicted: the scores of 0 mean nothing"
    return "there is no gold span: the scores are 0 whatever is predicted"


def _column_lines(report: ColumnReport, width: int | None) -> Iterator[str]:
    """The scores of one of several columns by label, or by attribute; none of lemmas."""
    if report.tags is None and not report.attributes:
        return
    yield visible(report.name)
    yield ""
    if report.tags is not None:
        yield from _tag_lines(report.tags, width)
    else:
        averages = {"micro avg": report.micro} if report.micro else {}
        yield from _table(report.attributes or {}, averages, width)
        yield "attributes of tokens that have them"
    yield ""


def _column_table(columns: Sequence[ColumnReport]) -> Iterator[str]:
    """Accuracy of whole values in each column."""
    words = [column.unknown.support for column in columns if column.unknown]
    rows = [
        [
            label_cell(column.name),
            *shares(column.accuracy, *([column.known.accuracy] if column.known else [])),
            *(
                [f"{each.accuracy:.4f}" if each.support else "-"]
                if (each := column.unknown)
                else []
            ),
            f"{column.tokens:,}",
        ]
        for column in columns
    ]
    heads = ("known words", "unknown words") if words else ()
    yield from table("", ("accuracy", *heads, "tokens"), rows, WIDE)
    lacks = f"; {plural(max(words), 'token')} of words that train lacks" if words else ""
    yield f"accuracy of whole values{lacks}"


def _class_lines(report: ClassReport, width: int | None) -> Iterator[str]:
    yield from _score_lines(report, width)
    what = "all of a text's classes right" if report.several else "accuracy"
    yield f"classes; {what} {report.accuracy:.4f} of {plural(report.texts, 'text')}"
    if report.areas is not None:
        areas = report.areas.macro
        yield (
            f"area under ROC {areas.roc:.4f}, under precision and recall "
            f"{areas.precision_recall:.4f}, means over classes"
        )
    if report.nodes is not None:
        yield from _node_lines(report.nodes)
    yield from _added_lines(report.comparison)
    yield from _unknown_lines("classes", report.unknown)


def _node_lines(scores: NodeScores) -> Iterator[str]:
    """Of trees: all nodes, and both sides of the classes 0 to 4."""
    yield f"accuracy of all nodes {scores.accuracy:.4f} of {plural(scores.nodes, 'node')}"
    for accuracy, count, unit in (
        (scores.binary_accuracy, scores.binary_texts, "text"),
        (scores.binary_nodes_accuracy, scores.binary_nodes, "node"),
    ):
        if accuracy is not None:
            found = f"{accuracy:.4f} of {plural(count, unit)}"
            yield f"positive or negative, where gold is not neutral: {found}"


def _added_lines(comparison: Comparison) -> Iterator[str]:
    """Metrics that have no place in the table."""
    for metric in added_metrics(comparison.kind):
        yield f"{metric.name} {metric.value(comparison):.4f}"


def _score_lines(report: TagReport | ClassReport, width: int | None) -> Iterator[str]:
    averages = {
        "micro avg": report.micro,
        "macro avg": report.macro,
        "weighted avg": report.weighted,
    }
    yield from _table(report.types, averages, width)


def _table(
    types: Mapping[str, Score], means: Mapping[str, Score], width: int | None
) -> Iterator[str]:
    # seqeval's layout. Rows, not a dictionary: a label may be called "micro avg".
    rows = [(label_cell(label), score) for label, score in types.items()]
    groups = [
        [(name, *shares(each.precision, each.recall, each.f1), *counts(each.support))
         for name, each in group]
        for group in (rows, means.items())
    ]  # fmt: skip
    heads = ("precision", "recall", "f1", "support")
    yield from table("", heads, [*groups[0], (), *groups[1], ()], width or WIDE)


def _unknown_lines(kind: str, unknown: Mapping[str, int]) -> Iterator[str]:
    # Without this a test set with other labels would look like a poor model.
    if unknown:
        named = listed(
            [f"{label_cell(label)} ({count:,})" for label, count in unknown.items()], MAX_LABELS
        )
        yield f"gold {kind} that the model does not know, all counted as errors: {named}"


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


WIDTH = 80  # of a file
WIDE = 10**6  # room for any table
_MIN_NAME = 12  # characters of a name, also on a narrow terminal


def table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], room: int
) -> Iterator[str]:
    """Names on the left, shortened where the table would be too wide, and numbers on the right.

    Where shortened names would look the same, those that are too long have a line of their own
    above their numbers.

    Args:
        title: head of the column of names.
        heads: those of the other columns.
        rows: of each a name and its cells; one without any is a blank line.
        room: cells of a line.
    """
    lines = [(title, *heads), *rows]
    widths = [max(map(cells, column)) for column in zip(*filter(None, lines), strict=True)]
    right_of = sum(width + 2 for width in widths[1:])
    first = min(widths[0], max(_MIN_NAME, room - right_of))
    names = {line[0] for line in lines if line}
    longest = _distinct_length(names, first)
    above = longest > first
    if above:
        longest = _distinct_length(names, max(first, room))
    for line in lines:
        if not line:
            yield ""
            continue
        name, *others = line
        right = "".join(
            f"  {padded(cell, width, right=True)}"
            for cell, width in zip(others, widths[1:], strict=True)
        )
        if above and cells(name) > first:
            yield shortened(name, longest)
            name = ""
        yield f"{padded(shortened(name, first), first)}{right}".rstrip()


def pair_table(
    heads: tuple[str, str, str], pairs: Sequence[tuple[str, str, int]], room: int
) -> Iterator[str]:
    """How often each of two names go together: both on the left, shortened where they are long."""
    counted = [heads[2], *(f"{count:,}" for _, _, count in pairs)]
    last = max(map(cells, counted))
    each = max(_MIN_NAME, (room - last - 4) // 2)
    columns = [
        [shortened(name, each) for name in column]
        for column in zip(heads[:2], *((gold, other) for gold, other, _ in pairs), strict=True)
    ]
    first, second = (max(map(cells, column)) for column in columns)
    for name, other, count in zip(*columns, counted, strict=True):
        yield f"{padded(name, first)}  {padded(other, second)}  {padded(count, last, right=True)}"


def _distinct_length(names: Collection[str], length: int) -> int:
    """The length, at least this one, to which names can be shortened and still differ."""
    while len({shortened(name, length) for name in names}) < len(names):  # up to the longest
        length += 1
    return length


def shares(*values: float) -> list[str]:
    """Cells of scores, 0 to 1."""
    return [f"{value:.4f}" for value in values]


def counts(*values: int) -> list[str]:
    """Cells of numbers."""
    return [f"{value:,}" for value in values]


def interval_cell(low: float, high: float, sign: str = "") -> str:
    """Both ends of an interval; `sign` "+" for that of a difference."""
    return f"{low:{sign}.4f} to {high:{sign}.4f}"


def p_cell(value: float) -> str:
    """A p-value."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


# What a set of each kind of label has, and what it belongs to.
MEMBERS = {"tags": ("tagging", "sentence"), "classes": ("class", "text")}
_BAR = 20  # characters of a bar for a share of 1


def calibration_lines(parts: Mapping[str, Calibration]) -> Iterator[str]:
    """The calibration of each head, each after a blank line.

    Args:
        parts: by the name of the head, "" where there is one.
    """
    for head, found in parts.items():
        yield ""
        yield from _lines(head, found)


def numbers_of(found: Calibration) -> Mapping[str, float]:
    """The four numbers of a calibration by their names for people."""
    return {
        "ECE": found.ece,
        "ECE, bins of equal mass": found.ece_equal_mass,
        "Brier score": found.brier,
        "log loss": found.log_loss,
    }


def _lines(head: str, found: Calibration) -> Iterator[str]:
    what = f"{found.count:,} {found.name}"
    yield f"calibration of {shown_name(head) + ': ' if head else ''}{what}"
    for name, value in numbers_of(found).items():
        yield f"{name:<23}  {value:.4f}"
    yield ""
    # Of each class of each text the table says how often the text has it.
    right = "present" if found.name == CLASSES else "right"
    yield f"{'probability':<12} {found.name:>9} {'mean':>8} {right:>8}"
    for each in found.bins:
        edges = f"{each.low:.1f} to {each.high:.1f}"
        if not each.count:
            yield f"{edges:<12} {0:>9} {'-':>8} {'-':>8}"
            continue
        bar = "#" * round(_BAR * each.accuracy)
        line = f"{edges:<12} {each.count:>9,} {each.confidence:>8.4f} {each.accuracy:>8.4f}  {bar}"
        yield line.rstrip()
    yield ""
    yield f"{'kept from':<12} {found.name:>9} {'precision':>10} {'recall':>8} {'f1':>8}"
    for row in found.thresholds:
        yield (
            f"{row.threshold:<12g} {row.count:>9,} {row.precision:>10.4f} {row.recall:>8.4f} "
            f"{row.f1:>8.4f}"
        )


def set_lines(reports: Mapping[str, SetReport]) -> Iterator[str]:
    """The reports on the sets of "tags", "classes" or both, after a blank line each."""
    for kind, each in reports.items():
        member, unit = MEMBERS[kind]
        yield ""
        yield (
            f"sets of {kind} at coverage {each.coverage:g}: {each.covered:.4f} of "
            f"{plural(each.count, 'set')} hold the gold {kind}, one of each {unit}; standard error "
            f"{each.standard_error:.4f}"
        )
        yield (
            f"size: median {each.median_size:g}, mean {each.mean_size:.2f}, 90th percentile "
            f"{each.p90_size:g}; {_largest(kind, each)}"
        )
        if each.single_correct is None:
            yield f"no set has one {member} alone"
        else:
            yield (
                f"{each.single:.4f} of sets have one {member} alone, which is right in "
                f"{each.single_correct:.4f} of them"
            )


def _largest(kind: str, each: SetReport) -> str:
    some = f"{each.at_limit:.4f} of sets" if each.at_limit else "no set"
    limit = plural(each.limit, MEMBERS[kind][0])
    if kind == "tags":  # there are more taggings, so that some may be missing
        return f"{some} reached the limit of {limit}"
    return f"{some} {'hold' if each.at_limit else 'holds'} all {limit}"
