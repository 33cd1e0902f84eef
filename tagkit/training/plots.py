"""Curves of a run's loss and dev score as a picture, curves.svg: two plots side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from tagkit.evaluation.criterion import Criterion, scaled
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.training.callbacks import CURVES, Epoch
from tagkit.training.svg import Axis, line, picture, text

# Pixels: of a plot with its labels, and of what surrounds the area in which it draws.
_WIDTH, _HEIGHT = 400, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 65, 15, 35, 50
_COLOURS = ("#1f77b4", "#ff7f0e")

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
    drawn = "".join(f"{each}\n" for each in picture(_WIDTH * len(plots), _HEIGHT, _elements(plots)))
    try:
        write_whole(folder / CURVES, encoded(drawn, first=True))
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
        across = Axis(self.epochs[0], self.epochs[-1], _LEFT, right)
        upwards = Axis(min(values), max(values), bottom, _TOP)
        yield text(_WIDTH / 2, _TOP - 15, self.title, size=15)
        yield (
            f'<rect x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" height="{bottom - _TOP}" '
            'fill="none" stroke="#888"/>'
        )
        for tick in across.ticks(least_step=1):  # there is no epoch 2.5
            yield line(across.at(tick), bottom, across.at(tick), bottom + 4, "#888")
            yield text(across.at(tick), bottom + 18, f"{tick:g}")
        for tick in upwards.ticks():
            yield line(_LEFT, upwards.at(tick), right, upwards.at(tick), "#ddd")
            yield text(_LEFT - 6, upwards.at(tick) + 4, f"{tick:g}", anchor="end")
        yield text((_LEFT + right) / 2, _HEIGHT - 12, "epoch")
        middle = (_TOP + bottom) / 2
        yield text(16, middle, self.label, more=f'transform="rotate(-90 16 {middle:g})"')
        if self.marked is not None:
            place = across.at(self.marked)
            yield line(place, _TOP, place, bottom, "#888", f"best epoch: {self.marked}")
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
                yield text(right - 8, _TOP + 18 + 16 * number, name, anchor="end", fill=colour)


def _elements(plots: Sequence[_Plot]) -> Iterator[str]:
    for number, plot in enumerate(plots):
        yield f'<g transform="translate({_WIDTH * number} 0)">'
        yield from plot.lines()
        yield "</g>"
