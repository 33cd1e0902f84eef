"""Scores by size of the training corpus, the law through them, and what more data would bring."""

from collections import defaultdict
from dataclasses import replace
from statistics import mean

from markupsafe import Markup

from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve
from tagkit.evaluation.html_report.tables import note, side_by_side
from tagkit.html.chart import PAGE_TICKS, Axis, Chart, Place, round_ticks
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined, percent, table
from tagkit.wording import plural_of

_STEPS = 60  # straight pieces of the law
_APART = 1.25  # ratio of two sizes whose texts do not run together


def draw_learning_curve(curve: LearningCurve, palette: Palette) -> Markup:
    """What was measured, the forecasts, and what is to be kept in mind with them."""
    if curve.finds_no_error:
        curve = replace(curve, forecasts=())
    units = plural_of(curve.unit)
    by_size: dict[int, list[float]] = defaultdict(list)
    for point in curve.points:
        by_size[point.sentences].append(point.score)
    measured = [
        (size, len(scores), percent(mean(scores)), f"{percent(min(scores))} to "
         f"{percent(max(scores))}" if len(scores) > 1 else "–")
        for size, scores in by_size.items()
    ]  # fmt: skip
    ahead = [
        (each.sentences, percent(each.score), f"{percent(each.low)} to {percent(each.high)}")
        for each in curve.forecasts
    ]
    law = curve.law
    figure = element(
        "figure",
        element("figcaption", f"{curve.measure} on dev by size of the training corpus"),
        _chart(curve),
        note("Points: trained models. Line: the power law through them. Dashed, with "
             f"{100 * LEVEL:g} % intervals: forecasts. Sizes have a logarithmic axis."),
        None if curve.finds_no_error else note(
            f"score(n) = 1 - ({law.asymptote:.4f} + {law.factor:.4f} n^-{law.exponent:.3f})"
        ),
    )  # fmt: skip
    runs = table("Measured", (units, "runs", f"{curve.measure}, %", "from and to"), measured)
    interval = f"{100 * LEVEL:g} % interval"
    forecasts = table(
        "With more data of this kind", (units, f"{curve.measure}, %", interval), ahead
    )
    remarks = [element("p", f"Warning: {remark}") for remark in curve.remarks()]
    return side_by_side(figure, joined([runs, forecasts if ahead else None, *remarks]))


def _chart(curve: LearningCurve) -> Markup:
    sizes = [point.sentences for point in curve.points]
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = min(sizes), max(sizes), max([*sizes, *ahead])
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    room = max(1.0, max(heights) - min(heights)) / 10
    low, high = max(0.0, min(heights) - room), min(100.0, max(heights) + room)
    ticks: list[int] = []
    for size in sorted({*sizes, *ahead}):
        if not ticks or size / ticks[-1] > _APART:
            ticks.append(size)
    chart = Chart(
        Axis(first / 1.15, last * 1.15, [(size, f"{size:,}") for size in ticks],
             f"training {plural_of(curve.unit)}", log=True),
        Axis(low, high, [(tick, f"{tick:g}") for tick in round_ticks(low, high, PAGE_TICKS)],
             f"{curve.measure}, %"),
        width=560,
    )  # fmt: skip

    def law(begin: int, end: int) -> list[Place]:
        # Even in logarithms, as the axis is.
        steps = (begin * (end / begin) ** (step / _STEPS) for step in range(_STEPS + 1))
        return [(size, min(high, max(low, 100 * curve.law.score(size)))) for size in steps]

    whiskers = (
        chart.line([(each.sentences, 100 * each.low), (each.sentences, 100 * each.high)],
                   class_="whisker-2")
        for each in curve.forecasts
    )  # fmt: skip
    return chart.svg(
        f"{curve.measure} by number of training {plural_of(curve.unit)}, with forecasts",
        chart.line(law(first, largest), class_="curve") if first < largest else None,
        chart.line(law(largest, last), class_="curve-2") if largest < last else None,
        *whiskers,
        *(
            chart.dot((each.sentences, 100 * each.score), class_="dot-2")
            for each in curve.forecasts
        ),
        *(
            chart.dot((point.sentences, 100 * point.score), 4.5, class_="dot")
            for point in curve.points
        ),
    )
