"""Charts in SVG: an area with two axes, and points, curves, bars and bands in it.

A chart of a page has a title, which is read aloud in its place, and its numbers stand in a table
beside it; how it looks is in the page's style sheet. A chart of a file (`framed` and `picture`) is
alone, so that its elements say their colours themselves, and its points their values.

A picture of points, lines and numbers is short as SVG; a library that draws any picture takes
longer to import than it takes to score dev.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tagkit.html.elements import Child, element, joined

Place = tuple[float, float]  # in values of both axes


@dataclass(frozen=True, slots=True)
class Margins:
    """What surrounds the area, in units of the drawing."""

    left: int
    right: int
    top: int
    bottom: int


PAGE = Margins(58, 18, 14, 48)
FILE = Margins(65, 15, 35, 50)  # its title is in the drawing
PAGE_TICKS, FILE_TICKS = 5, 6  # steps of an axis with round ticks, at most
_INK, _GREY = "#222", "#888"  # of files


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        low: value at its beginning.
        high: value at its end, at least `low`.
        ticks: values with their texts.
        label: what it shows.
        log: whether equal ratios have equal lengths.
        space: share of its length that is free before `low`, and after `high`.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    log: bool = False
    space: float = 0.0

    def part(self, value: float) -> float:
        """Where a value is, 0 at the beginning and 1 at the end; a single value is half way."""
        if self.high == self.low:
            return 0.5
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.space + share * (1 - 2 * self.space)


@dataclass(frozen=True, slots=True)
class Chart:
    """An area with two axes, to which what it shows is drawn.

    Attributes:
        x: the horizontal axis.
        y: the vertical one.
        width: of the whole drawing, in its own units.
        height: of the whole drawing.
        margins: around the area.
    """

    x: Axis
    y: Axis
    width: int = 480
    height: int = 320
    margins: Margins = PAGE

    @property
    def right(self) -> int:
        """The right end of the area."""
        return self.width - self.margins.right

    @property
    def bottom(self) -> int:
        """The lower end of the area, where the horizontal axis is."""
        return self.height - self.margins.bottom

    def place(self, at: Place) -> Place:
        """The values of both axes in units of the drawing."""
        left, top = self.margins.left, self.margins.top
        across = left + self.x.part(at[0]) * (self.right - left)
        down = self.bottom - self.y.part(at[1]) * (self.bottom - top)
        return round(across, 1), round(down, 1)

    def line(self, places: Iterable[Place], **look: str) -> Markup:
        """A curve through these places; its look is a class, or attributes such as a stroke."""
        points = " ".join(f"{x:g},{y:g}" for x, y in map(self.place, places))
        return element("polyline", points=points, **look)

    def dot(self, at: Place, radius: float = 5, title: str | None = None, **look: str) -> Markup:
        """A point; a browser shows the title of what the pointer is on."""
        across, down = self.place(at)
        named = None if title is None else element("title", title)
        return element("circle", named, cx=across, cy=down, r=radius, **look)

    def bar(self, left: float, right: float, height: float, **look: str) -> Markup:
        """A bar from the horizontal axis up to a value, with a gap to its neighbours."""
        (x1, top), (x2, bottom) = self.place((left, height)), self.place((right, self.y.low))
        return element("rect", x=x1 + 1, y=top, width=max(0.0, x2 - x1 - 2),
                       height=max(0.0, bottom - top), **look)  # fmt: skip

    def svg(self, title: str, *drawn: Child) -> Markup:
        """The drawing."""
        return element(
            "svg",
            self._axes(),
            *drawn,
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_label=title,
        )

    def _axes(self) -> Markup:
        parts: list[Markup] = []
        left, right, bottom = self.margins.left, self.right, self.bottom
        for value, text in self.y.ticks:
            _, down = self.place((self.x.low, value))
            parts.append(element("line", x1=left, x2=right, y1=down, y2=down, class_="grid"))
            parts.append(_tick(text, left - 8, down + 4, "end"))
        for value, text in self.x.ticks:
            across, _ = self.place((value, self.y.low))
            parts.append(
                element("line", x1=across, x2=across, y1=bottom, y2=bottom + 5, class_="axis")
            )
            parts.append(_tick(text, across, bottom + 19, "middle"))
        parts.append(element("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"))
        parts.append(_tick(self.x.label, (left + right) / 2, self.height - 8, "middle"))
        middle = (bottom + self.margins.top) / 2
        parts.append(
            element(
                "text",
                self.y.label,
                transform=f"translate(14 {middle:g}) rotate(-90)",
                text_anchor="middle",
            )
        )
        return joined(parts)

    def framed(self, title: str, *drawn: Child) -> Iterator[Child]:
        """The parts of a chart of a file: its title, border and axes, and then what is drawn."""
        left, top, right, bottom = self.margins.left, self.margins.top, self.right, self.bottom
        yield label(self.width / 2, top - 15, title, font_size="15")
        yield element("rect", x=left, y=top, width=right - left, height=bottom - top, fill="none",
                      stroke=_GREY)  # fmt: skip
        for value, text in self.x.ticks:
            across, _ = self.place((value, self.y.low))
            yield straight(across, bottom, across, bottom + 4, stroke=_GREY)
            yield label(across, bottom + 18, text)
        for value, text in self.y.ticks:
            _, down = self.place((self.x.low, value))
            yield straight(left, down, right, down, stroke="#ddd")
            yield label(left - 6, down + 4, text, text_anchor="end")
        yield label((left + right) / 2, self.height - 12, self.x.label)
        middle = (top + bottom) / 2
        yield label(16, middle, self.y.label, transform=f"rotate(-90 16 {middle:g})")
        yield from drawn


def _tick(text: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_="tick")


def straight(
    x1: float, y1: float, x2: float, y2: float, title: str | None = None, **look: str
) -> Markup:
    """A line between two places of a drawing, in its own units."""
    named = None if title is None else element("title", title)
    return element("line", named, x1=x1, y1=y1, x2=x2, y2=y2, **look)


def label(x: float, y: float, text: str, **look: str) -> Markup:
    """A text in a file, around a place of its drawing unless `text_anchor` says otherwise."""
    look = {"text_anchor": "middle", "font_size": "12", "fill": _INK, **look}
    return element("text", text, x=round(x, 1), y=round(y, 1), **look)


def picture(width: int, height: int, parts: Iterable[Child]) -> str:
    """The text of a file with these parts."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        element(
            "svg",
            # Also in a page with a dark background.
            element("rect", width="100%", height="100%", fill="white"),
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            width=width,
            height=height,
            viewBox=f"0 0 {width} {height}",
            font_family="sans-serif",
        ),
    ]
    return "\n".join([*lines, ""])


def round_ticks(low: float, high: float, steps: int, *, least: float = 0.0) -> list[float]:
    """Round values from `low` to `high`, 1, 2 or 5 times a power of ten apart.

    Args:
        low: end of an axis.
        high: its other end.
        steps: between ticks, at most.
        least: the smallest step.
    """
    if high == low:
        return [low]
    wanted = (high - low) / steps
    power = 10 ** math.floor(math.log10(wanted))
    step = max(least, next(power * times for times in (1, 2, 5, 10) if power * times >= wanted))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # 3 * 0.1 is 0.30000000000000004.
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def share_bar(share: float, class_: str = "bar") -> Markup:
    """A small bar beside a number, 0 to 1, which says the same."""
    return element(
        "svg",
        element("rect", x=0, y=0, width=100, height=12, rx=3, class_="track"),
        element("rect", x=0, y=0, width=round(100 * min(1.0, max(0.0, share)), 2), height=12, rx=3,
                class_=class_),
        viewBox="0 0 100 12", class_="small", aria_hidden="true",
    )  # fmt: skip
