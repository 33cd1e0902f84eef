"""Pictures in SVG: axes with round ticks, texts and lines.

A picture of points, lines and numbers is short as SVG; a library that draws any picture takes
longer to import than it takes to score dev.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

_MOST_TICKS = 6  # on an axis


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
