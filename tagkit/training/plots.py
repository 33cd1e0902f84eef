"""Curves of a run's loss and dev score as a picture, curves.svg: two plots side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagkit.evaluation.criterion import Criterion, scaled
from tagkit.storage import cannot_write, encoded, write_whole
from tagkit.training.callbacks import CURVES, Epoch
from tagkit.training.svg import Plot, line, picture, text

_WIDTH, _HEIGHT = 400, 300  # pixels of a plot with its labels
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
        _Curves(numbers, losses, LOSS_LABEL, "loss"),
        _Curves(numbers, {"dev": scores}, SCORE_LABEL, f"dev {criterion.name}", marked=best),
    ]
    drawn = "".join(f"{each}\n" for each in picture(_WIDTH * len(plots), _HEIGHT, _elements(plots)))
    try:
        write_whole(folder / CURVES, encoded(drawn, first=True))
    except OSError as error:
        raise cannot_write(folder / CURVES, error) from None


@dataclass(frozen=True, slots=True)
class _Curves:
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
        values = [value for curve in self.curves.values() for value in curve]
        ends = self.epochs[0], self.epochs[-1]
        plot = Plot(_WIDTH, _HEIGHT, ends, (min(values), max(values)))
        # There is no epoch 2.5.
        ticks = [(tick, f"{tick:g}") for tick in plot.across.ticks(least_step=1)]
        yield from plot.frame(self.title, ticks, "epoch", self.label)
        if self.marked is not None:
            x = plot.across.at(self.marked)
            yield line(x, plot.top, x, plot.bottom, "#888", f"best epoch: {self.marked}")
        for (name, curve), colour in zip(self.curves.items(), _COLOURS, strict=False):
            points = list(zip(self.epochs, curve, strict=True))
            yield plot.curve(points, colour, 'stroke-width="1.5"')
            for epoch, value in points:
                said = f"epoch {epoch}, {name}: {value:.6g}"
                yield plot.dot((epoch, value), 2.5, colour, said)
        if len(self.curves) > 1:
            for number, (name, colour) in enumerate(zip(self.curves, _COLOURS, strict=False)):
                place = plot.right - 8, plot.top + 18 + 16 * number
                yield text(*place, name, anchor="end", fill=colour)


def _elements(plots: Sequence[_Curves]) -> Iterator[str]:
    for number, plot in enumerate(plots):
        yield f'<g transform="translate({_WIDTH * number} 0)">'
        yield from plot.lines()
        yield "</g>"
