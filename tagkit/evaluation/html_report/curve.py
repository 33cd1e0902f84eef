"""The chart of a learning curve, for a page and as a file of its own."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from markupsafe import Markup

from tagkit.evaluation.analysis.power_law import LEVEL, LearningCurve
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
from tagkit.html.elements import element, percent
from tagkit.wording import plural_of

_STEPS = 60  # straight pieces of the law
_FILE = (600, 360)  # width and height
# Of the file, which has no style sheet; classes are those of a page's.
_LOOK = (
    "svg svg text{font-size:12px}.grid{stroke:#ddd}.axis{stroke:#888}.curve{stroke:#1f77b4}"
    ".curve-2,.whisker-2{stroke:#c25700}.curve-2{stroke-dasharray:6 4}.dot{fill:#1f77b4}"
    ".dot-2{fill:#c25700}.curve,.curve-2,.whisker-2{fill:none;stroke-width:1.5}"
)


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


def page_chart(curve: LearningCurve) -> Markup:
    """The chart on a page."""
    return _chart(curve, 560, 320, PAGE)


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
