"""A learning curve as a picture, learning-curve.svg: points, the law, and the forecasts."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from tagkit.evaluation.learning_curve import LEVEL, LearningCurve
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.training.svg import Axis, line, picture, text
from tagkit.wording import plural_of

# Pixels: of the picture, and of what surrounds the area in which it draws.
_WIDTH, _HEIGHT = 600, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 65, 20, 40, 55
_MEASURED, _FORECAST = "#1f77b4", "#c25700"
_STEPS = 60  # straight pieces of the law


def write_picture(path: Path, curve: LearningCurve) -> None:
    """Write a picture of a learning curve.

    Args:
        path: of the file.
        curve: what it shows.

    Raises:
        CheckpointError: it cannot be written.
    """
    drawn = "".join(f"{each}\n" for each in picture(_WIDTH, _HEIGHT, _elements(curve)))
    try:
        write_whole(path, encoded(drawn, first=True))
    except OSError as error:
        raise cannot_write(path, error) from None


def _elements(curve: LearningCurve) -> Iterator[str]:
    units = plural_of(curve.unit)
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    sizes = sorted({point.sentences for point in curve.points})
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = sizes[0], sizes[-1], max(ahead)
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    # Sizes are in proportion to each other, so that their logarithms are evenly apart.
    across = Axis(math.log(first), math.log(last), _LEFT, right)
    upwards = Axis(min(heights), max(heights), bottom, _TOP)

    def place(size: float, score: float) -> tuple[float, float]:
        return across.at(math.log(size)), upwards.at(100 * score)

    yield text(
        _WIDTH / 2, _TOP - 15, f"dev {curve.measure} by size of the training corpus", size=15
    )
    yield (
        f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" '
        'fill="none" stroke="#888"/>'
    )
    for size in _apart([*sizes, *ahead], across):
        x = across.at(math.log(size))
        yield line(x, bottom, x, bottom + 4, "#888")
        yield text(x, bottom + 18, f"{size:,}")
    for tick in upwards.ticks():
        yield line(_LEFT, upwards.at(tick), right, upwards.at(tick), "#ddd")
        yield text(_LEFT - 6, upwards.at(tick) + 4, f"{tick:g}", anchor="end")
    yield text((_LEFT + right) / 2, _HEIGHT - 14, f"training {units}")
    middle = (_TOP + bottom) / 2
    yield text(16, middle, f"dev {curve.measure}", more=f'transform="rotate(-90 16 {middle:g})"')
    for start, end, colour, dashes in (
        (first, largest, _MEASURED, ""), (largest, last, _FORECAST, ' stroke-dasharray="6 4"'),
    ):  # fmt: skip
        passed = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        places = (place(size, curve.law.score(size)) for size in passed)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}"{dashes}/>'
    for each in curve.forecasts:
        x, y = place(each.sentences, each.score)
        low, high = upwards.at(100 * each.low), upwards.at(100 * each.high)
        yield line(x, low, x, high, _FORECAST)
        yield line(x - 5, low, x + 5, low, _FORECAST)
        yield line(x - 5, high, x + 5, high, _FORECAST)
        said = (
            f"forecast with {each.sentences:,} {units}: {100 * each.score:.2f} "
            f"({100 * each.low:.2f} to {100 * each.high:.2f} at {100 * LEVEL:.0f} %)"
        )
        yield _dot(x, y, _FORECAST, said)
    for point in curve.points:
        said = f"{point.sentences:,} {units}, seed {point.seed}: {100 * point.score:.2f}"
        yield _dot(*place(point.sentences, point.score), _MEASURED, said)
    for number, (name, colour) in enumerate(
        (("measured", _MEASURED), (f"forecast, with its {100 * LEVEL:.0f} % interval", _FORECAST))
    ):
        yield text(right - 8, bottom - 28 + 16 * number, name, anchor="end", fill=colour)


def _apart(sizes: Sequence[int], across: Axis) -> Iterator[int]:
    """The sizes whose labels do not touch, from the largest down."""
    left = math.inf
    for size in sorted(set(sizes), reverse=True):
        x = across.at(math.log(size))
        if left - x >= 7 * len(f"{size:,}") + 6:  # a digit is some 7 pixels wide
            yield size
            left = x


def _dot(x: float, y: float, colour: str, title: str) -> str:
    """A point; a browser shows the title of what the pointer is on."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
        f"<title>{escape(title)}</title></circle>"
    )
