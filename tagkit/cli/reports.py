"""Reports as lines of plain text."""

from collections.abc import Iterator, Mapping

from tagkit.evaluation.classes import ClassReport, JointReport
from tagkit.evaluation.report import Report
from tagkit.evaluation.scores import Score
from tagkit.measure import BATCH_SIZES, Measured
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


def measured_lines(measured: Measured) -> Iterator[str]:
    """Figures of a benchmark."""
    sizes = "".join(f"{f'batch {size}':>12}" for size in BATCH_SIZES)
    yield f"{'':<10}  score  change{sizes}     p50     p95     p99"
    first = measured.speeds[0].score
    for speed in measured.speeds:
        rates = "".join(f"{speed.tokens_per_s[size]:>12,.0f}" for size in BATCH_SIZES)
        waits = "".join(f"{wait:>8.2f}" for wait in speed.latency_ms)
        change = 100 * (speed.score - first)
        yield f"{speed.precision:<10}{100 * speed.score:>7.2f}{change:>+8.2f}{rates}{waits}"
    yield ""
    yield "tokens a second by sentences a batch; milliseconds of one sentence by itself"
    yield f"corpus     {measured.sentences:,} sentences, {measured.tokens:,} tokens"
    yield f"threads    {measured.threads}"
    if measured.startup_s is not None:
        extra = measured.startup_s - measured.torch_s
        yield (
            f"start-up   {measured.startup_s:.2f} s for one text, {extra:.2f} s more than to "
            "import torch"
        )
    yield f"predict    {measured.command_s:.2f} s for the corpus, as a whole command"
    if measured.peak_mb is not None:
        yield f"memory     {measured.peak_mb:,.0f} MB at the most"
    yield f"model      {measured.model_mb:,.1f} MB on disk"


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
