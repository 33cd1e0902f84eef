"""A running mean of a model's weights, which scores better than the last step's.

    mean[t] = d mean[t-1] + (1 - d) weights[t],   d = min(decay, t / (t + 10))
Polyak and Juditsky 1992; Goodfellow, Bengio and Courville, section 8.7.3, eq. 8.39. The decay
grows with the steps, so that the mean of a short run is not one of its beginning.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


def decay_at(step: int, decay: float) -> float:
    """What is kept of the mean at a step, counted from 1, where it is `decay` in the end."""
    return min(decay, step / (step + 10))


class RunningMean:
    """Keeps the mean of parameters."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        """The mean begins as the parameters are."""
        self.parameters = list(parameters)
        self.means = [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def update(self, decay: float) -> None:
        """Take in the weights of one more step."""
        torch._foreach_lerp_(self.means, self.parameters, 1 - decay)


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
    for left, right in pairs:
        kept = left.detach().clone()
        left.copy_(right)
        right.copy_(kept)
