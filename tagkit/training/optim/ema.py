"""An exponential moving average of a model's weights, which scores better than the last weights.

    mean[t] = d mean[t-1] + (1 - d) weights[t],   d = min(decay, t / (t + 10))

Polyak and Juditsky 1992; Goodfellow, Bengio and Courville, section 8.7.3, eq. 8.39. Or the plain
mean of all weights since training has ceased to make them better, which no decay forgets:

    mean[k] = (k - 1) / k mean[k-1] + 1 / k weights[k],   k steps after the trigger

NT-ASGD of Merity et al. 2018, algorithm 1: non-monotonically triggered averaged SGD.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

_ROWS_AT_ONCE = 4096


def decay_at(step: int, decay: float) -> float:
    """The factor d of the mean at a step, counted from 1; it rises to `decay`.

    With a decay of 0.999 from the first step on, the initial weights would still make up
    0.999^1000, more than a third, of the mean after 1,000 steps. A decay that grows with the steps
    corrects that bias: at every step the mean is of the last tenth or so of the run.
    """
    return min(decay, step / (step + 10))


class WeightAverage:
    """Keeps the moving average of parameters."""

    # Not torch's AveragedModel, although the arithmetic is torch's: it copies the whole model, also
    # pretrained vectors, which never change, and the word table, whose average `RowAdam` keeps.

    def __init__(self, parameters: Sequence[Tensor], decay: float) -> None:
        """The mean begins with the parameters' values; `decay` is the largest factor d."""
        self.parameters = list(parameters)
        self.means = [parameter.detach().clone() for parameter in self.parameters]
        self.decay = decay
        self.steps = 0  # number of steps in the mean

    def next_decay(self) -> float:
        """Count one more step, and return its decay."""
        self.steps += 1
        return decay_at(self.steps, self.decay)

    def update(self, decay: float) -> None:
        """Add the current weights to the mean."""
        # Made for each step, because it is bound to one decay; that costs nothing beside the pass
        # over the weights. Its third argument, a count of steps, serves means of another kind.
        average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average(self.means, self.parameters, 0)


class TriggeredAverage(WeightAverage):
    """Keeps the plain mean of parameters since a trigger; before it, their values.

    Attributes:
        triggered: whether the mean has begun.
    """

    def __init__(self, parameters: Sequence[Tensor], patience: int) -> None:
        """It begins after `patience` epochs without a better score than those before them."""
        super().__init__(parameters, 0.0)
        self.patience = patience
        self.triggered = False

    def next_decay(self) -> float:
        """Count one more step of the mean, and return its decay; 0 before the trigger."""
        if not self.triggered:
            return 0.0
        self.steps += 1
        return (self.steps - 1) / self.steps

    def after_epoch(self, scores: Sequence[float]) -> None:
        """Begin the mean where the time has come.

        Args:
            scores: of dev after each epoch so far; more is better.
        """
        # One epoch that is worse than the last may be chance: it is compared with the best of those
        # that lie `patience` epochs back.
        before = scores[: -self.patience - 1]
        self.triggered = self.triggered or bool(before and scores[-1] < max(before))


@contextmanager
def swapped(pairs: Iterable[tuple[Tensor, Tensor]]) -> Iterator[None]:
    """Within this context the tensors of each pair have each other's values."""
    pairs = list(pairs)
    _swap(pairs)
    try:
        yield
    finally:
        _swap(pairs)


@torch.no_grad()
def _swap(pairs: Iterable[tuple[Tensor, Tensor]]) -> None:
    # Values are exchanged, not tensors: the optimizer refers to the model's parameters. Only a few
    # rows at a time are in memory twice.
    for whole, other in pairs:
        for left, right in zip(_parts(whole), _parts(other), strict=True):
            kept = left.clone()
            left.copy_(right)
            right.copy_(kept)


def _parts(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensor in groups of rows, which share its memory."""
    return torch.split(tensor.detach(), _ROWS_AT_ONCE) if tensor.dim() else (tensor.detach(),)
