"""Reports as lines of plain text."""

from collections.abc import Iterator, Mapping

from tagkit.evaluation.classes import ClassReport, JointReport
from tagkit.evaluation.report import Report
from tagkit.evaluation.scores import Score
from tagkit.scoring import AnyReport

NOBODY = "(none)"  # where no class was likely


def report_lines(report: AnyReport) -> Iterator[str]:
    """A report of tags, of classes, or of both."""
    match report:
        case Report():
            yield from _tag_lines(report)
        case ClassReport():
            yield from _class_lines(report)
        case JointReport():
            yield from _tag_lines(report.tags)
            yield ""
            yield from _class_lines(report.classes)
            yield f"whole texts right, tags and class: {report.whole:.4f}"


def _tag_lines(report: Report) -> Iterator[str]:
    yield from _score_lines(report.types, report.micro, report.macro, report.weighted)
    kind = "tags" if report.scheme == "labels" else f"{report.scheme} spans"
    yield f"{kind}, {report.mode}; token accuracy {report.accuracy:.4f} of {report.tokens:,} tokens"
    yield from _unknown_lines("labels", report.unknown)


def _class_lines(report: ClassReport) -> Iterator[str]:
    yield from _score_lines(report.types, report.micro, report.macro, report.weighted)
    what = "all of a text's classes right" if report.several else "accuracy"
    yield f"classes; {what} {report.accuracy:.4f} of {report.texts:,} texts"
    yield from _unknown_lines("classes", report.unknown)


def _score_lines(
    types: Mapping[str, Score], micro: Score, macro: Score, weighted: Score
) -> Iterator[str]:
    rows = {**types, "micro avg": micro, "macro avg": macro, "weighted avg": weighted}
    width = max(len(label) for label in rows)
    yield f"{'':<{width}}  precision  recall      f1  support"
    for label, score in rows.items():
        if label == "micro avg":
            yield ""
        yield (
            f"{label:<{width}}  {score.precision:>9.4f}  {score.recall:>6.4f}  {score.f1:>6.4f}  "
            f"{score.support:>7,}"
        )
    yield ""


def _unknown_lines(kind: str, unknown: Mapping[str, int]) -> Iterator[str]:
    if unknown:
        named = ", ".join(f"{label} ({count:,})" for label, count in unknown.items())
        yield f"gold {kind} that the model does not know, all counted as errors: {named}"
