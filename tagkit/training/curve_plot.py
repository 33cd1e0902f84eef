"""A learning curve as a picture, learning-curve.svg: points, the law, and the forecasts."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from tagkit.evaluation.learning_curve import LEVEL, LearningCurve
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.training.svg import Axis, Plot, line, picture, text
from tagkit.wording import plural_of

_WIDTH, _HEIGHT = 600, 360  # pixels of the picture
_MEASURED, _FORECAST = "#1f77b4", "#c25700"
_STEPS = 60  # straight pieces of the law
_RADIUS = 3.5  # pixels of a dot


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
    sizes = sorted({point.sentences for point in curve.points})
    ahead = [each.sentences for each in curve.forecasts]
    first, largest, last = sizes[0], sizes[-1], max(ahead)
    heights = [100 * point.score for point in curve.points]
    heights += [100 * end for each in curve.forecasts for end in (each.low, each.high)]
    heights += [100 * curve.law.score(size) for size in (first, last)]
    # Sizes are in proportion to each other, so that their logarithms are evenly apart.
    ends = math.log(first), math.log(last)
    plot = Plot(_WIDTH, _HEIGHT, ends, (min(heights), max(heights)))
    ticks = [(math.log(size), f"{size:,}") for size in _apart([*sizes, *ahead], plot.across)]
    title = f"dev {curve.measure} by size of the training corpus"
    yield from plot.frame(title, ticks, f"training {units}", f"dev {curve.measure}")
    for start, end, colour, dashes in (
        (first, largest, _MEASURED, ""), (largest, last, _FORECAST, 'stroke-dasharray="6 4"'),
    ):  # fmt: skip
        passed = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        law = ((math.log(size), 100 * curve.law.score(size)) for size in passed)
        yield plot.curve(law, colour, dashes)
    for each in curve.forecasts:
        x, low = plot.place(math.log(each.sentences), 100 * each.low)
        high = plot.upwards.at(100 * each.high)
        yield line(x, low, x, high, _FORECAST)
        yield line(x - 5, low, x + 5, low, _FORECAST)
        yield line(x - 5, high, x + 5, high, _FORECAST)
        said = (
            f"forecast with {each.sentences:,} {units}: {100 * each.score:.2f} "
            f"({100 * each.low:.2f} to {100 * each.high:.2f} at {100 * LEVEL:.0f} %)"
        )
        yield plot.dot((math.log(each.sentences), 100 * each.score), _RADIUS, _FORECAST, said)
    for point in curve.points:
        said = f"{point.sentences:,} {units}, seed {point.seed}: {100 * point.score:.2f}"
        yield plot.dot((math.log(point.sentences), 100 * point.score), _RADIUS, _MEASURED, said)
    for number, (name, colour) in enumerate(
        (("measured", _MEASURED), (f"forecast, with its {100 * LEVEL:.0f} % interval", _FORECAST))
    ):
        place = plot.right - 8, plot.bottom - 28 + 16 * number
        yield text(*place, name, anchor="end", fill=colour)


def _apart(sizes: Sequence[int], across: Axis) -> Iterator[int]:
    """The sizes whose labels do not touch, from the largest down."""
    left = math.inf
    for size in sorted(set(sizes), reverse=True):
        x = across.at(math.log(size))
        if left - x >= 7 * len(f"{size:,}") + 6:  # a digit is some 7 pixels wide
            yield size
            left = x
