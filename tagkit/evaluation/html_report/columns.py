"""The accuracy of a model of several tag columns."""

from markupsafe import Markup

from tagkit.evaluation.html_report.tables import cards, note
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import joined, percent, share, table


def draw_columns(report: ColumnsReport, palette: Palette) -> Markup:
    """A row for each column."""
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
