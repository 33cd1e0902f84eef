"""Curves of a run's loss and dev score as a picture, curves.svg: two plots side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tagkit.evaluation.reports.criterion import Criterion, scaled
from tagkit.html.chart import FILE, FILE_TICKS, Axis, Chart, label, picture, round_ticks, straight
from tagkit.html.elements import Child, element
from tagkit.storage import encoded
from tagkit.training.events.callbacks import Epoch

_WIDTH, _HEIGHT = 400, 300  # pixels of a plot with its labels
_SPACE = 0.05  # of an axis, free at both ends
_COLOURS = ("#1f77b4", "#ff7f0e")

LOSS_LABEL, SCORE_LABEL = "loss (nats)", "dev score"  # of the vertical axes


def drawn_curves(epochs: Sequence[Epoch], criterion: Criterion) -> bytes:
    """The content of curves.svg: all epochs, in order, whose scores are of `criterion`."""
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
    drawn = picture(_WIDTH * len(plots), _HEIGHT, map(_beside, range(len(plots)), plots))
    return encoded(drawn, first=True)


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

    def parts(self) -> Iterator[Child]:
        """Elements of SVG, in an area whose corner is at (0, 0)."""
        values = [value for curve in self.curves.values() for value in curve]
        chart = Chart(
            # There is no epoch 2.5.
            _axis(self.epochs[0], self.epochs[-1], "epoch", least_step=1),
            _axis(min(values), max(values), self.label),
            _WIDTH, _HEIGHT, FILE,
        )  # fmt: skip
        yield from chart.framed(self.title)
        top = chart.margins.top
        if self.marked is not None:
            x, _ = chart.place((self.marked, values[0]))
            yield straight(x, top, x, chart.bottom, f"best epoch: {self.marked}", stroke="#888",
                           stroke_dasharray="2 3")  # fmt: skip
        for (name, curve), colour in zip(self.curves.items(), _COLOURS, strict=False):
            points = list(zip(self.epochs, curve, strict=True))
            yield chart.line(points, fill="none", stroke=colour, stroke_width="1.5")
            for epoch, value in points:
                said = f"epoch {epoch}, {name}: {value:.6g}"
                yield chart.dot((epoch, value), 2.5, said, fill=colour)
        if len(self.curves) > 1:
            for number, (name, colour) in enumerate(zip(self.curves, _COLOURS, strict=False)):
                place = chart.right - 8, top + 18 + 16 * number
                yield label(*place, name, text_anchor="end", fill=colour)


def _axis(low: float, high: float, name: str, *, least_step: float = 0.0) -> Axis:
    ticks = round_ticks(low, high, FILE_TICKS, least=least_step)
    return Axis(low, high, [(tick, f"{tick:g}") for tick in ticks], name, space=_SPACE)


def _beside(number: int, plot: _Curves) -> Child:
    """A plot at its place in the picture."""
    return element("g", *plot.parts(), transform=f"translate({_WIDTH * number} 0)")
