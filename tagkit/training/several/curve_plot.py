"""A learning curve as a picture, learning-curve.svg: points, the law, and the forecasts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tagkit.evaluation.analysis.learning_curve import LEVEL, LearningCurve
from tagkit.html.chart import FILE, FILE_TICKS, Axis, Chart, label, picture, round_ticks, straight
from tagkit.html.elements import Child
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.wording import plural_of

_WIDTH, _HEIGHT = 600, 360  # pixels of the picture
_MEASURED, _FORECAST = "#1f77b4", "#c25700"
_STEPS = 60  # straight pieces of the law
_RADIUS = 3.5  # pixels of a dot
_SPACE = 0.05  # of an axis, free at both ends


def write_picture(path: Path, curve: LearningCurve) -> None:
    """Write a picture of a learning curve.

    Args:
        path: of the file.
        curve: what it shows.

    Raises:
        CheckpointError: it cannot be written.
    """
    drawn = picture(_WIDTH, _HEIGHT, _parts(curve))
    try:
        write_whole(path, encoded(drawn, first=True))
    except OSError as error:
        raise cannot_write(path, error) from None


def _parts(curve: LearningCurve) -> Iterator[Child]:
    units = plural_of(curve.unit)
    sizes = sorted({point.sentences for point in curve.points})
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = sizes[0], sizes[-1], max(ahead)
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    low, high = min(heights), max(heights)
    ticks = [(tick, f"{tick:g}") for tick in round_ticks(low, high, FILE_TICKS)]
    chart = Chart(
        Axis(first, last, [], f"training {units}", log=True, space=_SPACE),
        Axis(low, high, ticks, f"dev {curve.measure}", space=_SPACE),
        _WIDTH, _HEIGHT, FILE,
    )  # fmt: skip
    named = [(size, f"{size:,}") for size in _apart([*sizes, *ahead], chart)]
    chart = replace(chart, x=replace(chart.x, ticks=named))
    yield from chart.framed(f"dev {curve.measure} by size of the training corpus")
    for start, end, look in (
        (first, largest, {"stroke": _MEASURED}),
        (largest, last, {"stroke": _FORECAST, "stroke_dasharray": "6 4"}),
    ):
        passed = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        law = ((size, 100 * curve.law.score(size)) for size in passed)
        yield chart.line(law, fill="none", **look)
    for each in curve.forecasts:
        x, low = chart.place((each.sentences, 100 * each.low))
        _, high = chart.place((each.sentences, 100 * each.high))
        yield straight(x, low, x, high, stroke=_FORECAST)
        yield straight(x - 5, low, x + 5, low, stroke=_FORECAST)
        yield straight(x - 5, high, x + 5, high, stroke=_FORECAST)
        said = (
            f"forecast with {each.sentences:,} {units}: {100 * each.score:.2f} "
            f"({100 * each.low:.2f} to {100 * each.high:.2f} at {100 * LEVEL:.0f} %)"
        )
        yield chart.dot((each.sentences, 100 * each.score), _RADIUS, said, fill=_FORECAST)
    for point in curve.points:
        said = f"{point.sentences:,} {units}, seed {point.seed}: {100 * point.score:.2f}"
        yield chart.dot((point.sentences, 100 * point.score), _RADIUS, said, fill=_MEASURED)
    for number, (name, colour) in enumerate(
        (("measured", _MEASURED), (f"forecast, with its {100 * LEVEL:.0f} % interval", _FORECAST))
    ):
        place = chart.right - 8, chart.bottom - 28 + 16 * number
        yield label(*place, name, text_anchor="end", fill=colour)


def _apart(sizes: Sequence[int], chart: Chart) -> Iterator[int]:
    """The sizes whose labels do not touch, from the largest down."""
    left = math.inf
    for size in sorted(set(sizes), reverse=True):
        x, _ = chart.place((size, chart.y.low))
        if left - x >= 7 * len(f"{size:,}") + 6:  # a digit is some 7 pixels wide
            yield size
            left = x
