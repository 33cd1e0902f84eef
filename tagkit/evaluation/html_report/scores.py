"""The scores of a report: its headline with the interval, and precision, recall and F1 by label."""

from dataclasses import dataclass

from markupsafe import Markup

from tagkit.evaluation.analysis.analysis import HeadlineInterval
from tagkit.evaluation.html_report.tables import cards, note, remark_note, score_table, side_by_side
from tagkit.evaluation.reports.class_report import ClassReport
from tagkit.evaluation.reports.report_text import label_cell, without_spans
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.metrics import added_metrics
from tagkit.html.colours import Palette
from tagkit.html.elements import joined, percent, share
from tagkit.text.schemes import has_spans
from tagkit.wording import listed


@dataclass(frozen=True, slots=True)
class Scored:
    """A report, and the interval of its headline where there is one."""

    report: TagReport | ClassReport
    interval: HeadlineInterval | None


def draw_scores(scored: Scored, palette: Palette) -> Markup:
    """The numbers of `tagkit eval` on one kind of labels."""
    report, found = scored.report, scored.interval
    remark = ""
    if found is not None:
        remark = f"{100 * found.level:g} % interval {percent(found.low)} to {percent(found.high)}"
    shown = [(f"{report.measure}, %", percent(report.headline), remark)]
    if report.measure == "F1":
        shown += [
            ("precision, %", percent(report.micro.precision), "of what is predicted"),
            ("recall, %", percent(report.micro.recall), "of what is in the gold labels"),
        ]
    shown.append(("macro F1, %", percent(report.macro.f1), "mean over labels"))
    shown += [
        (metric.name, share(metric.value(report.comparison)), "")
        for metric in added_metrics(report.comparison.kind)
    ]
    if isinstance(report, TagReport):
        kind = f"{report.scheme} spans" if has_spans(report.scheme) else "labels of tokens"
        size = f"{report.tokens:,} tokens"
        shown += [
            ("sentences", f"{report.sentences:,}", f"{size}; accuracy {share(report.accuracy)}"),
            ("counted", report.mode, kind),
        ]
    else:
        shown += [("texts", f"{report.texts:,}", f"all classes right {share(report.accuracy)}")]
    averages = (("micro", report.micro), ("macro", report.macro), ("weighted", report.weighted))
    unknown = None
    if report.unknown:
        names = [f"{label_cell(label)} ({count:,})" for label, count in report.unknown.items()]
        unknown = note("Gold labels that the model does not know, all counted as errors: ",
                       listed(names))  # fmt: skip
    labels = score_table("Scores by label", "label", report.types.items()) if report.types else None
    means = score_table("Averages", "average", averages)
    remark = without_spans(report) if isinstance(report, TagReport) else ""
    return joined([cards(*shown), remark_note(remark), side_by_side(labels, means), unknown])
