"""The scores of a report: its headline with the interval, and precision, recall and F1 by label.

For several tag columns the accuracy of each; other measures of spans beside those of the report.
"""

from dataclasses import dataclass

from markupsafe import Markup

from tagkit.evaluation.analysis.analysis import HeadlineInterval, Measures
from tagkit.evaluation.html_report.tables import cards, note, remark_note, score_table, side_by_side
from tagkit.evaluation.reports.class_report import ClassReport
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report_text import label_cell, without_spans
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.metrics import added_metrics
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import joined, percent, share, table
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


def draw_columns(report: ColumnsReport, palette: Palette) -> Markup:
    """The accuracy of a model of several tag columns, a row for each."""
    rows = [
        (label_cell(each.name), share(each.accuracy), share_bar(each.accuracy),
         share(each.known.accuracy) if each.known.support else "–",
         share(each.unknown.accuracy) if each.unknown.support else "–", each.tokens)
        for each in report.columns
    ]  # fmt: skip
    heads = ("column", "accuracy", "", "known words", "unknown words", "tokens")
    return joined([
        cards((f"{report.measure}, %", percent(report.headline), "")),
        table("Accuracy of whole values", heads, rows),
        note("Unknown words are those that the training corpus lacks."),
    ])  # fmt: skip


def draw_measures(measures: Measures, palette: Palette) -> Markup:
    """Strict, exact and partial scores of spans, by type, and of surface forms, a row for each."""
    rows = [
        (
            name, share(each.precision), share(each.recall), share(each.f1), share_bar(each.f1),
            each.correct, each.incorrect, each.partial, each.missed, each.spurious,
        )
        for name, each in measures.spans.micro.items()
    ]  # fmt: skip
    surface = measures.surface
    form = ("surface", share(surface.precision), share(surface.recall), share(surface.f1),
            share_bar(surface.f1), *["–"] * 5)  # fmt: skip
    heads = ("measure", "precision", "recall", "F1", "", "correct", "wrong", "partial", "missed",
             "spurious")  # fmt: skip
    return joined([
        table("Measures of spans", heads, [*rows, form]),
        note("strict: boundaries and type are right. exact: boundaries are. partial: half a point "
             "for an overlap. ent_type: an overlap of the same type (SemEval-2013, task 9.1). "
             "surface: each distinct gold form with its type counts once, "
             f"{surface.support:,} in all (WNUT-17)."),
    ])  # fmt: skip
