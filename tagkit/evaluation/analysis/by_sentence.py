"""A report's decisions sentence by sentence, or text by text: what analyses and intervals need."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import ClassReport, label_reports
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.string_report import STRINGS, StringReport
from tagkit.evaluation.reports.tag_report import STRICT, TagReport, name_of_bare
from tagkit.evaluation.scores.metrics import Comparison, Kind
from tagkit.evaluation.scores.significance import SentenceCounts
from tagkit.evaluation.scores.spans import Aligned, align, well_formed_spans
from tagkit.text.schemes import DISPLAY, SpanTuple, span_tuples

# Of each sentence or text: spans, labels with the place of their token, or classes, as tuples whose
# last part is the label.
Decisions = Sequence[tuple[tuple[Any, ...], ...]]
Scored = TagReport | ClassReport | StringReport
SpansOf = Callable[[Sequence[str]], list[SpanTuple]]
NO_ANALYSES = (
    "this model predicts no labels: there are no analyses, comparisons or pages of its scores"
)
_SCHEMES = {shown: name for name, shown in DISPLAY.items()}


def parts_of(report: Report) -> dict[str, TagReport | ClassReport]:
    """The report itself, without a name, or the "tags" and the "classes" of one on both.

    Raises:
        DataError: it is on several tag columns, on a text, or of a kind of its own.
    """
    if isinstance(report, ColumnsReport):
        raise DataError(
            "this model predicts several tag columns: analyses, comparisons and pages are of one, "
            "which data.tag_column names"
        )
    if found := label_reports(report):
        return found
    raise DataError(NO_ANALYSES)


def scored_parts(report: Report) -> Mapping[str, Scored]:
    """As `parts_of`, or a report on strings without a name.

    Raises:
        DataError: as of `parts_of`.
    """
    return {"": report} if isinstance(report, StringReport) else parts_of(report)


def kind_of(report: Scored) -> str:
    """What the headline of a report is of."""
    return STRINGS if isinstance(report, StringReport) else report.comparison.kind


def aligned_sentences(report: TagReport) -> list[Aligned]:
    """The sentences of a report on spans, with the spans that it counts.

    Raises:
        DataError: the report has no words, as it was counted while files were read.
    """
    comparison = _kept(report.comparison)
    spans_of: SpansOf = span_tuples
    if report.mode == STRICT:
        spans_of = partial(well_formed_spans, scheme=_SCHEMES[report.scheme])
    labels = comparison.table.types
    if "" in labels:  # of tags that are a bare prefix; people see it as the report names it
        spans_of = partial(_named, spans_of=spans_of, bare=name_of_bare(labels))
    return list(align(comparison.sentences, comparison.gold, comparison.predicted, spans_of))


def sentence_counts(report: Scored) -> SentenceCounts:
    """The decisions of each sentence, text or pair, by which the headline of the report is made.

    Raises:
        DataError: the report was counted while files were read.
    """
    if isinstance(report, StringReport):
        each = np.ones(report.pairs)
        return SentenceCounts(np.array(report.right, dtype=np.float64), each, each)
    rows = [
        (len(set(ours).intersection(theirs)), len(theirs), len(ours))
        for ours, theirs in zip(*decisions_of(report), strict=True)
    ]
    correct, predicted, gold = np.array(rows, dtype=np.float64).T
    if report.comparison.kind is Kind.CLASS:  # a text without a predicted class is wrong
        predicted = gold
    return SentenceCounts(correct, predicted, gold)


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """The decisions of each sentence or text on each label.

    Attributes:
        sentences: their number.
        labels: correct, predicted and gold decisions by label and number of the sentence, without
            sentences that have none.
    """

    sentences: int
    labels: Mapping[str, Mapping[int, Sequence[int]]]

    def of(self, label: str) -> SentenceCounts:
        """The counts of one label in all sentences."""
        found = self.labels.get(label, {})
        counts = np.zeros((3, self.sentences))
        if found:
            counts[:, list(found)] = np.array(list(found.values())).T
        return SentenceCounts(*counts)


def type_counts(gold: Decisions, predicted: Decisions) -> TypeCounts:
    """The counts of each label, of which a report has the sums; there are none of strings."""
    if not predicted:
        return TypeCounts(len(gold), {})
    labels: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for number, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        both = set(ours).intersection(theirs)
        for place, decisions in enumerate((both, theirs, ours)):  # correct, predicted, gold
            for *_, label in decisions:
                labels[label].setdefault(number, [0, 0, 0])[place] += 1
    return TypeCounts(len(gold), labels)


def decisions_of(report: Scored) -> tuple[Decisions, Decisions]:
    """Gold and predicted decisions of each sentence or text; of pairs their references alone.

    Raises:
        DataError: the report was counted while files were read.
    """
    if isinstance(report, StringReport):
        return [(references,) for references in report.references], []
    comparison = _kept(report.comparison)
    if isinstance(report, TagReport) and comparison.kind is Kind.SPANS:
        sentences = aligned_sentences(report)
        sides = [each.gold for each in sentences], [each.predicted for each in sentences]
        return [tuple(each) for each in sides[0]], [tuple(each) for each in sides[1]]
    with_places = enumerate if comparison.kind is Kind.TOKENS else _classes
    return [tuple(with_places(each)) for each in comparison.gold], [
        tuple(with_places(each)) for each in comparison.predicted
    ]


def _classes(labels: Sequence[str]) -> Iterator[tuple[str]]:
    return ((label,) for label in sorted({*labels}))


def _kept(comparison: Comparison) -> Comparison:
    if not comparison.gold:
        raise DataError(
            "expected a report that keeps its tags: this one was counted while files were read"
        )
    return comparison


def _named(tags: Sequence[str], spans_of: SpansOf, bare: str) -> list[SpanTuple]:
    return [(start, end, label or bare) for start, end, label in spans_of(tags)]
