"""Pictures in SVG: plots with axes and round ticks, texts, lines, curves and dots.

A picture of points, lines and numbers is short as SVG; a library that draws any picture takes
longer to import than it takes to score dev.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_MOST_TICKS = 6  # on an axis
# Pixels that surround the area in which a plot draws.
_LEFT, _RIGHT, _TOP, _BOTTOM = 65, 15, 35, 50


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from `low` to `high`, drawn from `start` to `end` with some space at both ends."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value, in pixels."""
        space = 0.05 * (self.end - self.start)
        if self.high == self.low:
            return (self.start + self.end) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + space + share * (self.end - self.start - 2 * space)

    def ticks(self, least_step: float = 0.0) -> list[float]:
        """Round numbers within the axis, 1, 2 or 5 times a power of ten apart."""
        if self.high == self.low:
            return [self.low]
        wanted = (self.high - self.low) / _MOST_TICKS
        power = 10 ** math.floor(math.log10(wanted))
        step = max(least_step, power * next(n for n in (1, 2, 5, 10) if n * power >= wanted))
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Plot:
    """An area with two axes, whose corner is at (0, 0).

    Attributes:
        width: in pixels, with its labels.
        height: in pixels, with its labels.
        x: lowest and highest value of the horizontal axis.
        y: lowest and highest value of the vertical one.
    """

    width: int
    height: int
    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def right(self) -> float:
        """The right end of the area."""
        return self.width - _RIGHT

    @property
    def bottom(self) -> float:
        """The lower end of the area, where its horizontal axis is."""
        return self.height - _BOTTOM

    @property
    def top(self) -> float:
        """The upper end of the area."""
        return _TOP

    @property
    def across(self) -> Axis:
        """The horizontal axis."""
        return Axis(*self.x, _LEFT, self.right)

    @property
    def upwards(self) -> Axis:
        """The vertical axis."""
        return Axis(*self.y, self.bottom, _TOP)

    def frame(
        self, title: str, x_ticks: Sequence[tuple[float, str]], x_label: str, y_label: str
    ) -> Iterator[str]:
        """The border of the area, its axes with their ticks and labels, and its title.

        Args:
            title: above it.
            x_ticks: values of the horizontal axis with their texts; the vertical one has round
                numbers.
            x_label: what the horizontal axis shows.
            y_label: what the vertical one shows.
        """
        bottom, right = self.bottom, self.right
        yield text(self.width / 2, _TOP - 15, title, size=15)
        yield (
            f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" '
            'fill="none" stroke="#888"/>'
        )
        for value, name in x_ticks:
            x = self.across.at(value)
            yield line(x, bottom, x, bottom + 4, "#888")
            yield text(x, bottom + 18, name)
        for tick in self.upwards.ticks():
            y = self.upwards.at(tick)
            yield line(_LEFT, y, right, y, "#ddd")
            yield text(_LEFT - 6, y + 4, f"{tick:g}", anchor="end")
        yield text((_LEFT + right) / 2, self.height - 12, x_label)
        middle = (_TOP + bottom) / 2
        yield text(16, middle, y_label, more=f'transform="rotate(-90 16 {middle:g})"')

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Values of both axes in pixels."""
        return self.across.at(x), self.upwards.at(y)

    def curve(self, values: Iterable[tuple[float, float]], colour: str, more: str = "") -> str:
        """Straight lines from one pair of values to the next; `more` attributes as they are."""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.place(*each) for each in values))
        return f'<polyline points="{points}" fill="none" stroke="{colour}"{more and " "}{more}/>'

    def dot(self, at: tuple[float, float], radius: float, colour: str, title: str) -> str:
        """A point; a browser shows the title of what the pointer is on."""
        x, y = self.place(*at)
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}">'
            f"<title>{escape(title)}</title></circle>"
        )


def picture(width: int, height: int, elements: Iterable[str]) -> Iterator[str]:
    """The lines of a file with these elements, `width` by `height` pixels."""
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#222">'
    )
    yield '<rect width="100%" height="100%" fill="white"/>'  # also in a page with a dark background
    yield from elements
    yield "</svg>"


def text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "middle",
    size: int = 12,
    fill: str = "#222",
    more: str = "",
) -> str:
    """An element with `content` at a place; `more` attributes as they are."""
    attributes = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {attributes}{more and ' '}{more}>{escape(content)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, colour: str, title: str = "") -> str:
    """A line; dotted if it has a title."""
    drawn = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
    return (
        f'{drawn} stroke-dasharray="2 3"><title>{title}</title></line>' if title else f"{drawn}/>"
    )
