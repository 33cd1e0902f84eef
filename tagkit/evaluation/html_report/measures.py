"""Scores of spans by other measures: strict, exact, partial, by type, and of surface forms."""

from markupsafe import Markup

from tagkit.evaluation.analysis.analysis import Measures
from tagkit.evaluation.html_report.tables import note
from tagkit.html.chart import share_bar
from tagkit.html.colours import Palette
from tagkit.html.elements import joined, share, table


def draw_measures(measures: Measures, palette: Palette) -> Markup:
    """A row for each measure."""
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
