"""A report on predicted classes of texts, and one on tags and classes together.

Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", sections on evaluation:
precision, recall, F1, micro and macro averages, the confusion matrix.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report import LabelScores, Report, ReportOfParts, head_of
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.areas import ClassAreas, class_areas
from tagkit.evaluation.scores.metrics import (
    JOINT,
    MEAN,
    Comparison,
    Kind,
)
from tagkit.evaluation.scores.node_scores import NodeScores
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.evaluation.scores.scores import Labels, Score, count_classes
from tagkit.text.json_text import INTERNAL
from tagkit.text.records import LabelScore
from tagkit.text.schemes import span_tuples

_AnyReport = TypeVar("_AnyReport", bound=Report)
NO_CLASS = ""  # in a confusion matrix: no class was likely


@dataclass(frozen=True, slots=True)
class ClassReport(LabelScores):
    """Scores of predicted classes against gold.

    Attributes:
        texts: their number.
        several: whether a text may have several classes, or none.
        accuracy: share of texts whose classes are right, all of them and no other.
        micro: over all classes of all texts.
        macro: mean over classes.
        weighted: mean over classes, weighted by support.
        types: by class, in alphabetical order.
        confusion: texts by gold and then by predicted class, `NO_CLASS` where none was likely;
            empty where a text may have several.
        unknown: gold classes that the model does not know, each with its support; they count as
            errors.
        comparison: what was scored; not part of the JSON.
        areas: under curves of the probabilities; None where these are not known of each text.
        nodes: of the trees of texts; None where the model has not read the trees of the corpus.
    """

    texts: int
    several: bool
    accuracy: float
    micro: Score
    macro: Score
    weighted: Score
    types: Mapping[str, Score]
    confusion: Mapping[str, Mapping[str, int]]
    unknown: Mapping[str, int]
    comparison: Comparison = field(compare=False, repr=False, metadata={INTERNAL: True})
    areas: ClassAreas | None = None
    nodes: NodeScores | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `areas` and `nodes` where they are known."""
        found = LabelScores.to_dict(self)
        some = ("areas", "nodes")
        return {key: value for key, value in found.items() if key not in some or value is not None}

    def confused(self) -> list[tuple[str, str, int]]:
        """Gold class, predicted class and texts of each confusion, the most frequent first."""
        pairs = [
            (gold, predicted, count)
            for gold, row in self.confusion.items()
            for predicted, count in row.items()
            if gold != predicted
        ]
        # By name among equals, so that a report is the same on every run.
        return sorted(pairs, key=lambda pair: (-pair[2], pair))


@dataclass(frozen=True, slots=True)
class JointReport(ReportOfParts):
    """Scores of tags and of classes that one model predicts.

    Attributes:
        tags: of the tags.
        classes: of the texts' classes.
        whole: share of texts whose spans (or plain labels) and classes are all right.
    """

    tags: TagReport
    classes: ClassReport
    whole: float

    @property
    def headline(self) -> float:
        """The one number: the mean of both reports' own; 0 to 1."""
        # Neither part may win an epoch at the cost of the other.
        return (self.tags.headline + self.classes.headline) / 2

    @property
    def measure(self) -> str:
        """Name of the headline."""
        return MEAN

    def parts(self) -> dict[str, float]:
        """Every metric by its name in history.jsonl, those of the tags first."""
        # No key is in both: those of classes have a prefix.
        return self.tags.parts() | self.classes.parts()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **head_of(self, JOINT),
            "tags": self.tags.to_dict(),
            "classes": self.classes.to_dict(),
            "whole": self.whole,
        }


def label_reports(report: Report) -> dict[str, TagReport | ClassReport]:
    """The reports on one kind of labels each that a report consists of.

    Under "" the report itself, "tags" and "classes" of one on both, and by their names the tag
    columns of one on several whose values are tags; nothing of a report on anything else.
    """
    match report:
        case TagReport() | ClassReport():
            return {"": report}
        case JointReport():
            return {"tags": report.tags, "classes": report.classes}
        case ColumnsReport():
            columns = {column.name: column.tags for column in report.columns}
            return {name: tags for name, tags in columns.items() if tags is not None}
    return {}


def scores_by_label(report: Report) -> dict[str, Mapping[str, Score]]:
    """Scores of each label: "types" of tags, "classes" of texts, or by the name of a tag column."""
    if isinstance(report, ColumnsReport):
        return report.by_label()
    return {
        "classes" if isinstance(each, ClassReport) else "types": each.types
        for each in label_reports(report).values()
    }


def counts_spans(report: Report) -> bool:
    """Whether a report on tags counts spans, and not the labels of tokens alone.

    Of a report of another kind, such as that of a task with its own, this is not known: True.
    """
    if isinstance(report, ColumnsReport):
        return any(column.kind == Kind.SPANS for column in report.columns)
    kinds = {each.comparison.kind for each in label_reports(report).values()}
    return Kind.TOKENS not in kinds


def make_class_report(
    gold: Labels, predicted: Labels, *, several: bool, known: Collection[str] | None = None
) -> ClassReport:
    """Scores by class and their averages.

    Args:
        gold: the classes of each text; one where not `several`.
        predicted: likewise, none where none was likely.
        several: whether a text may have several classes.
        known: classes that the model can predict; None where that is not known.
    """
    table = count_classes(gold, predicted).table()
    # Sets: the order of a text's classes does not matter.
    right = sum(set(a) == set(b) for a, b in zip(gold, predicted, strict=True))
    accuracy = right / len(gold) if gold else 0.0
    confusion: dict[str, Counter[str]] = {}
    if not several:  # with several classes per text, errors cannot be paired
        for ours, theirs in zip(gold, predicted, strict=True):
            # A threshold can leave a text without a predicted class, but gold always has one.
            confusion.setdefault(ours[0], Counter())[theirs[0] if theirs else NO_CLASS] += 1
    kind = Kind.CLASSES if several else Kind.CLASS
    return ClassReport(
        texts=len(gold),
        several=several,
        accuracy=accuracy,
        micro=table.micro,
        macro=table.macro,
        weighted=table.weighted,
        types=table.types,
        confusion={label: dict(row) for label, row in sorted(confusion.items())},
        unknown=table.unknown(known),
        comparison=Comparison(kind, gold, predicted, accuracy, table),
    )


def whole_accuracy(
    gold: Labels, predicted: Labels, gold_classes: Labels, classes: Labels, *, plain: bool
) -> float:
    """Share of texts whose spans and classes are all right, 0 to 1.

    Args:
        gold: the tags of each text.
        predicted: as long as `gold`.
        gold_classes: of each text.
        classes: predicted ones.
        plain: whether tags are plain labels, of which each has to be right.
    """
    right = 0
    for ours, theirs, *both in zip(gold, predicted, gold_classes, classes, strict=True):
        # Two tag sequences can stand for the same spans: those of another scheme, or ill-formed.
        same = tuple(ours) == tuple(theirs) if plain else span_tuples(ours) == span_tuples(theirs)
        right += same and set(both[0]) == set(both[1])
    return right / len(gold) if gold else 0.0


def with_areas(
    report: _AnyReport, gold: Iterable[Sequence[str]], scores: Iterable[Sequence[LabelScore]]
) -> _AnyReport:
    """The report with areas of its classes, if it has classes and every text has probabilities.

    Args:
        report: of any kind.
        gold: classes of each text.
        scores: of each text, its classes with their probabilities.
    """
    match report:
        case ClassReport():
            return replace(report, areas=class_areas(list(gold), list(scores)))
        case JointReport():
            return replace(report, classes=with_areas(report.classes, gold, scores))
    return report


def with_judged(report: _AnyReport, judged: Mapping[str, Outcomes]) -> _AnyReport:
    """The report with the probabilities of its predictions, for the analysis "calibration".

    Args:
        report: on tags, on classes, on both, or on several columns; another has no place for them.
        judged: the predictions, of "tags" and of "classes", or of each column; some may be missing.
    """
    match report:
        case TagReport() | ClassReport():
            what = "tags" if isinstance(report, TagReport) else "classes"
            found = replace(report.comparison, judged=judged.get(what))
            return replace(report, comparison=found)
        case JointReport():
            tags, classes = with_judged(report.tags, judged), with_judged(report.classes, judged)
            return replace(report, tags=tags, classes=classes)
        case ColumnsReport():
            return replace(report, judged=judged)
    return report
