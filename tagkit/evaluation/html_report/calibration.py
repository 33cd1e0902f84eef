"""How far probabilities can be trusted: a reliability diagram, its bins, scores by threshold.

And sets of answers: how often they hold the right one, and how large they are.
"""

from dataclasses import dataclass

from markupsafe import Markup

from tagkit.evaluation.html_report.tables import cards, note, side_by_side
from tagkit.evaluation.reports.conformal_text import MEMBERS
from tagkit.evaluation.scores.calibration import Bin, Calibration
from tagkit.evaluation.scores.conformal import SetReport
from tagkit.html.chart import Axis, Chart
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined, percent, share, table
from tagkit.wording import plural

_TICKS = [(tick / 5, f"{20 * tick}") for tick in range(6)]


def draw_calibration(found: Calibration, palette: Palette) -> Markup:
    """Confidence against accuracy, and what a threshold would keep."""
    filled = [each for each in found.bins if each.count]
    bins = [
        (f"{each.low:.2f} to {each.high:.2f}", each.count, percent(each.confidence),
         percent(each.accuracy), f"{100 * (each.accuracy - each.confidence):+.2f}")
        for each in filled
    ]  # fmt: skip
    thresholds = [
        (f"{each.threshold:g}", each.count, share(each.precision), share(each.recall),
         share(each.f1))
        for each in found.thresholds
    ]  # fmt: skip
    diagram = element(
        "figure",
        element("figcaption", "Reliability diagram"),
        _diagram(filled),
        note("A bar is the share of right predictions among those of its confidence; a point is "
             "their mean confidence. Of a model that says how sure it is, all points lie at the "
             "top of their bars, on the dashed line."),
    )  # fmt: skip
    return joined([
        cards(
            ("ECE, %", percent(found.ece), "expected calibration error; 0 is best"),
            ("Brier score", share(found.brier), "mean squared error of probabilities; 0 is best"),
            (found.name, f"{found.count:,}", "with a probability"),
        ),
        side_by_side(
            diagram,
            table("By confidence", ("confidence", "count", "mean, %", "right, %", "gap"), bins),
        ),
        table(f"If only {found.name} from a probability on were kept",
              ("from", "kept", "precision", "recall", "F1"), thresholds),
    ])  # fmt: skip


def _diagram(bins: list[Bin]) -> Markup:
    chart = Chart(Axis(0, 1, _TICKS, "confidence, %"), Axis(0, 1, _TICKS, "right, %"))
    return chart.svg(
        "Share of right predictions by confidence",
        *(chart.bar(each.low, each.high, each.accuracy, class_="bar") for each in bins),
        chart.line([(0, 0), (1, 1)], class_="ideal"),
        *(chart.dot((each.confidence, each.confidence), class_="dot-2") for each in bins),
    )


@dataclass(frozen=True, slots=True)
class SetsSection:
    """A report on sets of "tags" or of "classes"."""

    kind: str
    report: SetReport


def draw_sets(found: SetsSection, palette: Palette) -> Markup:
    """Single numbers, of which the share that holds the gold answer is the main one."""
    each, (member, unit) = found.report, MEMBERS[found.kind]
    asked = f"of {100 * each.coverage:g} asked for; standard error {percent(each.standard_error)}"
    right = "" if each.single_correct is None else f"right in {percent(each.single_correct)} %"
    limit = plural(each.limit, member)
    return cards(
        (f"hold the gold {found.kind}, %", percent(each.covered), asked),
        ("sets", f"{each.count:,}", f"one of each {unit}"),
        ("mean size", f"{each.mean_size:.2f}",
         f"median {each.median_size:g}, 90th percentile {each.p90_size:g}"),
        (f"have one {member} alone, %", percent(each.single), right),
        (f"hold all {limit}, %" if found.kind == "classes" else f"reached the limit of {limit}, %",
         percent(each.at_limit), ""),
    )  # fmt: skip
