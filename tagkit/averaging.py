"""A running mean of a model's weights, which scores better than the last step's.

    mean[t] = d mean[t-1] + (1 - d) weights[t],   d = min(decay, t / (t + 10))
Polyak and Juditsky 1992; Goodfellow, Bengio and Courville, section 8.7.3, eq. 8.39. The decay
grows with the steps, so that the mean of a short run is not one of its beginning.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


class RunningMean:
    """Keeps the mean of a model's parameters, and lends it to the model."""

    def __init__(self, model: nn.Module, *, decay: float) -> None:
        """`decay` of the mean at each step, 0 to 1; at 0 it is the model itself."""
        self.decay = decay
        self._steps = 0
        self._parameters: list[torch.Tensor] = list(model.parameters()) if decay else []
        self._means = [parameter.detach().clone() for parameter in self._parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights of one more step."""
        if not self._means:
            return
        self._steps += 1
        decay = min(self.decay, self._steps / (self._steps + 10))
        torch._foreach_lerp_(self._means, self._parameters, 1 - decay)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Within this context the model has the mean as its weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for mean, parameter in zip(self._means, self._parameters, strict=True):
            kept = parameter.detach().clone()
            parameter.copy_(mean)
            mean.copy_(kept)
