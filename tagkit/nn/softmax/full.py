"""The softmax over all units.

    p(. | h) = softmax(W P h + b)

with W the units' own vectors or those of the input embedding (Press and Wolf 2017; Inan et al.
2017), and P only where a state has another size than these.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.softmax.cross_entropy import cross_entropy, target_log_probs
from tagkit.nn.softmax.layer import (
    Projection,
    SoftmaxOptions,
    UnitSoftmax,
    fresh_vectors,
    own_or_table,
)


class FullSoftmax(UnitSoftmax):
    """The softmax over all units."""

    def __init__(self, *, units: int, hidden: int, dim: int, tied: bool) -> None:
        """As in `SoftmaxOptions`."""
        super().__init__()
        self.units = units
        self.project = Projection(hidden, dim)
        self.weight = None if tied else fresh_vectors(units, dim)
        self.bias = nn.Parameter(torch.zeros(units))

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`."""
        vectors = own_or_table(self.weight, table)
        total = cross_entropy(self.project(states), vectors, self.bias, targets)
        return total, torch.tensor(len(targets))

    def log_probs(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        vectors = own_or_table(self.weight, table)
        scores = nn.functional.linear(self.project(states), vectors, self.bias)
        return torch.log_softmax(scores, dim=1)

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        vectors = own_or_table(self.weight, table)
        return target_log_probs(self.project(states), vectors, self.bias, targets)


def build(options: SoftmaxOptions) -> FullSoftmax:
    """A layer with fresh weights."""
    return FullSoftmax(
        units=options.units, hidden=options.hidden, dim=options.dim, tied=options.tied
    )
