"""Scores by size of the training corpus, the law through them, and what more data would bring."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import mean

from markupsafe import Markup

from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve
from tagkit.evaluation.html_report.tables import note, side_by_side
from tagkit.html.chart import (
    FILE,
    PAGE,
    PAGE_TICKS,
    Axis,
    Chart,
    Margins,
    Place,
    label,
    picture,
    round_ticks,
)
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined, percent, table
from tagkit.wording import plural_of

_STEPS = 60  # straight pieces of the law
_PAGE, _FILE = (560, 320), (600, 360)  # width and height
# Of the file, which has no style sheet; classes are those of a page's.
_LOOK = (
    "svg svg text{font-size:12px}.grid{stroke:#ddd}.axis{stroke:#888}.curve{stroke:#1f77b4}"
    ".curve-2,.whisker-2{stroke:#c25700}.curve-2{stroke-dasharray:6 4}.dot{fill:#1f77b4}"
    ".dot-2{fill:#c25700}.curve,.curve-2,.whisker-2{fill:none;stroke-width:1.5}"
)


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
        _chart(curve, *_PAGE, PAGE),
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


def curve_picture(curve: LearningCurve) -> str:
    """The chart as a file of its own, with its title and a legend."""
    title = f"dev {curve.measure} by size of the training corpus"
    right, bottom = _FILE[0] - FILE.right - 8, _FILE[1] - FILE.bottom
    ahead = f"dashed: forecast, with its {100 * LEVEL:g} % interval"
    parts = (
        element("style", _LOOK),
        _chart(curve, *_FILE, FILE),
        label(_FILE[0] / 2, 20, title, font_size="15"),
        label(right, bottom - 28, "points: measured", text_anchor="end"),
        label(right, bottom - 12, ahead, text_anchor="end"),
    )
    return picture(*_FILE, parts)


def _chart(curve: LearningCurve, width: int, height: int, margins: Margins) -> Markup:
    units = plural_of(curve.unit)
    sizes = [point.sentences for point in curve.points]
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = min(sizes), max(sizes), max([*sizes, *ahead])
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    room = max(1.0, max(heights) - min(heights)) / 10
    low, high = max(0.0, min(heights) - room), min(100.0, max(heights) + room)
    scores = [(tick, f"{tick:g}") for tick in round_ticks(low, high, PAGE_TICKS)]
    chart = Chart(
        Axis(first / 1.15, last * 1.15, [], f"training {units}", log=True),
        Axis(low, high, scores, f"{curve.measure}, %"),
        width, height, margins,
    )  # fmt: skip
    named = [(size, f"{size:,}") for size in sorted(_apart({*sizes, *ahead}, chart))]
    chart = replace(chart, x=replace(chart.x, ticks=named))

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
        f"{curve.measure} by number of training {units}, with forecasts",
        chart.line(law(first, largest), class_="curve") if first < largest else None,
        chart.line(law(largest, last), class_="curve-2") if largest < last else None,
        *whiskers,
        *(
            chart.dot(
                (each.sentences, 100 * each.score),
                title=f"forecast with {each.sentences:,} {units}: {percent(each.score)} "
                f"({percent(each.low)} to {percent(each.high)} at {100 * LEVEL:g} %)",
                class_="dot-2",
            )
            for each in curve.forecasts
        ),
        *(
            chart.dot(
                (point.sentences, 100 * point.score),
                4.5,
                f"{point.sentences:,} {units}, seed {point.seed}: {percent(point.score)}",
                class_="dot",
            )
            for point in curve.points
        ),
    )


def _apart(sizes: Iterable[int], chart: Chart) -> Iterator[int]:
    """The sizes whose texts do not touch, from the largest down."""
    left = math.inf
    for size in sorted(sizes, reverse=True):
        x, _ = chart.place((size, chart.y.low))
        if left - x >= 8 * len(f"{size:,}") + 6:  # a digit is some 8 pixels wide
            yield size
            left = x
