"""Curves of a run's loss and dev score as a picture, curves.svg.

Two plots side by side. A picture of points, lines and numbers is short as SVG; a library that draws
any picture takes longer to import than it takes to score dev.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from tagkit.evaluation.criterion import Criterion, scaled
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.training.callbacks import CURVES, Epoch

# Pixels: of a plot with its labels, and of what surrounds the area in which it draws.
_WIDTH, _HEIGHT = 400, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 65, 15, 35, 50
_COLOURS = ("#1f77b4", "#ff7f0e")
_MOST_TICKS = 6  # on an axis

LOSS_LABEL, SCORE_LABEL = "loss (nats)", "dev score"  # of the vertical axes


def write_curves(folder: Path, epochs: Sequence[Epoch], criterion: Criterion) -> None:
    """Write curves.svg into the folder of a run.

    Args:
        folder: of the run.
        epochs: all of them, in order.
        criterion: what their scores are.

    Raises:
        CheckpointError: it cannot be written.
    """
    losses = {"train": [epoch.loss for epoch in epochs]}
    dev_losses = [epoch.dev_loss for epoch in epochs if epoch.dev_loss is not None]
    if len(dev_losses) == len(epochs):
        losses["dev"] = dev_losses
    scores = [scaled(criterion.key, epoch.score) for epoch in epochs]
    numbers = [epoch.number for epoch in epochs]
    best = max(epoch.number for epoch in epochs if epoch.is_best)
    plots = [
        _Plot(numbers, losses, LOSS_LABEL, "loss"),
        _Plot(numbers, {"dev": scores}, SCORE_LABEL, f"dev {criterion.name}", marked=best),
    ]
    text = "".join(f"{line}\n" for line in _picture(plots))
    try:
        write_whole(folder / CURVES, encoded(text, first=True))
    except OSError as error:
        raise cannot_write(folder / CURVES, error) from None


@dataclass(frozen=True, slots=True)
class _Plot:
    """Curves over epochs.

    Attributes:
        epochs: their numbers, the same for all curves.
        curves: a value for each epoch, by the name of the curve.
        label: of the vertical axis.
        title: of the plot.
        marked: number of an epoch that gets a vertical line; None for no line.
    """

    epochs: Sequence[int]
    curves: Mapping[str, Sequence[float]]
    label: str
    title: str
    marked: int | None = None

    def lines(self) -> Iterator[str]:
        """Elements of SVG, in a square whose corner is at (0, 0)."""
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        values = [value for curve in self.curves.values() for value in curve]
        across = _Axis(self.epochs[0], self.epochs[-1], _LEFT, right)
        upwards = _Axis(min(values), max(values), bottom, _TOP)
        yield _text(_WIDTH / 2, _TOP - 15, self.title, size=15)
        yield (
            f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" '
            'fill="none" stroke="#888"/>'
        )
        for tick in across.ticks(least_step=1):  # there is no epoch 2.5
            yield _line(across.at(tick), bottom, across.at(tick), bottom + 4, "#888")
            yield _text(across.at(tick), bottom + 18, f"{tick:g}")
        for tick in upwards.ticks():
            yield _line(_LEFT, upwards.at(tick), right, upwards.at(tick), "#ddd")
            yield _text(_LEFT - 6, upwards.at(tick) + 4, f"{tick:g}", anchor="end")
        yield _text((_LEFT + right) / 2, _HEIGHT - 12, "epoch")
        middle = (_TOP + bottom) / 2
        yield _text(16, middle, self.label, more=f'transform="rotate(-90 16 {middle:g})"')
        if self.marked is not None:
            place = across.at(self.marked)
            yield _line(place, _TOP, place, bottom, "#888", f"best epoch: {self.marked}")
        for (name, curve), colour in zip(self.curves.items(), _COLOURS, strict=False):
            places = [
                (across.at(epoch), upwards.at(value))
                for epoch, value in zip(self.epochs, curve, strict=True)
            ]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            # A browser shows the title of what the pointer is on.
            for epoch, value, (x, y) in zip(self.epochs, curve, places, strict=True):
                yield (
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}">'
                    f"<title>epoch {epoch}, {escape(name)}: {value:.6g}</title></circle>"
                )
        if len(self.curves) > 1:
            for number, (name, colour) in enumerate(zip(self.curves, _COLOURS, strict=False)):
                yield _text(right - 8, _TOP + 18 + 16 * number, name, anchor="end", fill=colour)


@dataclass(frozen=True, slots=True)
class _Axis:
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


def _picture(plots: Sequence[_Plot]) -> Iterator[str]:
    width = _WIDTH * len(plots)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" '
        f'viewBox="0 0 {width} {_HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">'
    )
    yield '<rect width="100%" height="100%" fill="white"/>'  # also in a page with a dark background
    for number, plot in enumerate(plots):
        yield f'<g transform="translate({_WIDTH * number} 0)">'
        yield from plot.lines()
        yield "</g>"
    yield "</svg>"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "middle",
    size: int = 12,
    fill: str = "#222",
    more: str = "",
) -> str:
    attributes = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {attributes}{more and ' '}{more}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, title: str = "") -> str:
    line = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
    return f'{line} stroke-dasharray="2 3"><title>{title}</title></line>' if title else f"{line}/>"
