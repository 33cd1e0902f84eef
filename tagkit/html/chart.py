"""Charts in SVG: an area with two axes, and points, curves, bars and bands in it.

A chart has a title, which is read aloud in its place; its numbers stand in a table beside it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tagkit.html.elements import Child, element, joined

_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 18, 14, 48  # margins around the area, in units of the drawing
_TICKS = 5  # of an axis with even ticks, at most about so many
Place = tuple[float, float]  # in values of both axes


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        low: value at its beginning.
        high: value at its end, above `low`.
        ticks: values with their texts.
        label: what it shows.
        log: whether equal ratios have equal lengths.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    log: bool = False

    def part(self, value: float) -> float:
        """Where a value is, 0 at the beginning and 1 at the end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Chart:
    """An area with two axes, to which what it shows is drawn.

    Attributes:
        x: the horizontal axis.
        y: the vertical one.
        width: of the whole drawing, in its own units.
        height: of the whole drawing.
    """

    x: Axis
    y: Axis
    width: int = 480
    height: int = 320

    def place(self, at: Place) -> Place:
        """The values of both axes in units of the drawing."""
        across = _LEFT + self.x.part(at[0]) * (self.width - _LEFT - _RIGHT)
        down = self.height - _BOTTOM - self.y.part(at[1]) * (self.height - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    def line(self, places: Iterable[Place], class_: str) -> Markup:
        """A curve through these places."""
        points = " ".join(f"{x:g},{y:g}" for x, y in map(self.place, places))
        return element("polyline", points=points, class_=class_)

    def dot(self, at: Place, class_: str, radius: float = 5) -> Markup:
        """A point."""
        across, down = self.place(at)
        return element("circle", cx=across, cy=down, r=radius, class_=class_)

    def bar(self, left: float, right: float, height: float, class_: str) -> Markup:
        """A bar from the horizontal axis up to a value, with a gap to its neighbours."""
        (x1, top), (x2, bottom) = self.place((left, height)), self.place((right, self.y.low))
        return element("rect", x=x1 + 1, y=top, width=max(0.0, x2 - x1 - 2),
                       height=max(0.0, bottom - top), class_=class_)  # fmt: skip

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
        left, right, bottom = _LEFT, self.width - _RIGHT, self.height - _BOTTOM
        for value, text in self.y.ticks:
            _, down = self.place((self.x.low, value))
            parts.append(element("line", x1=left, x2=right, y1=down, y2=down, class_="grid"))
            parts.append(_label(text, left - 8, down + 4, "end"))
        for value, text in self.x.ticks:
            across, _ = self.place((value, self.y.low))
            parts.append(
                element("line", x1=across, x2=across, y1=bottom, y2=bottom + 5, class_="axis")
            )
            parts.append(_label(text, across, bottom + 19, "middle"))
        parts.append(element("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"))
        parts.append(_label(self.x.label, (left + right) / 2, self.height - 8, "middle"))
        middle = (bottom + _TOP) / 2
        parts.append(
            element(
                "text",
                self.y.label,
                transform=f"translate(14 {middle:g}) rotate(-90)",
                text_anchor="middle",
            )
        )
        return joined(parts)


def _label(text: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_="tick")


def even_ticks(low: float, high: float) -> list[float]:
    """Round values from `low` to `high`."""
    span = high - low
    step = 10 ** math.floor(math.log10(span / _TICKS))
    step = next(step * times for times in (1, 2, 5, 10) if span / (step * times) <= _TICKS)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def share_bar(share: float, class_: str = "bar") -> Markup:
    """A small bar beside a number, 0 to 1, which says the same."""
    return element(
        "svg",
        element("rect", x=0, y=0, width=100, height=12, rx=3, class_="track"),
        element("rect", x=0, y=0, width=round(100 * min(1.0, max(0.0, share)), 2), height=12, rx=3,
                class_=class_),
        viewBox="0 0 100 12", class_="small", aria_hidden="true",
    )  # fmt: skip
