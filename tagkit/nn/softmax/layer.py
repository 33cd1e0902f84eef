"""What every output layer of a language model gives, and what it is built from."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class SoftmaxOptions:
    """What an output layer is built from; each kind reads its own options.

    Attributes:
        units: number of units that are predicted, sorted by falling frequency.
        hidden: number of values of a state.
        dim: number of values of a unit's vector; states of another size are projected.
        tied: whether the vectors are those of the input embedding, given with every call.
    """

    units: int
    hidden: int
    dim: int
    tied: bool


class UnitSoftmax(nn.Module):
    """Distribution of the next unit, given a state.

    `table`, in all methods: (units, dim) vectors of the units where the layer is tied, None where
    it is not. One matrix then serves as input and as output embedding (Press and Wolf 2017; Inan et
    al. 2017), and its gradient is the sum of both.

    Attributes:
        units: number of units.
    """

    units: int

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Nats of all targets, summed, and their number.

        Args:
            states: (tokens, hidden).
            targets: (tokens,) int64, the unit that follows each state.
            table: described above.
        """
        raise NotImplementedError

    def log_probs(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        """(tokens, hidden) -> (tokens, units) log probabilities."""
        raise NotImplementedError

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """(tokens,) log probability of each target; arguments as in `loss`."""
        raise NotImplementedError


class Projection(nn.Module):
    """Brings states to the size of the units' vectors, without a bias; nothing where it is theirs.

    Press and Wolf 2017, section 3 (projection regularisation aside); Inan et al. 2017.
    """

    def __init__(self, hidden: int, dim: int) -> None:
        """From `hidden` values to `dim`."""
        super().__init__()
        self.weight = None if hidden == dim else fresh_vectors(dim, hidden)

    def forward(self, states: Tensor) -> Tensor:
        """(tokens, hidden) -> (tokens, dim)."""
        return states if self.weight is None else nn.functional.linear(states, self.weight)


def fresh_vectors(units: int, dim: int) -> nn.Parameter:
    """(units, dim) whose product with a state of values within -1 and 1 has a variance below 1."""
    # Glorot and Bengio 2010 would divide by the number of units too: with 10,000 of them the
    # gradient that arrives at the states would begin at next to nothing.
    bound = math.sqrt(3 / dim)
    return nn.Parameter(torch.empty(units, dim).uniform_(-bound, bound))


def own_or_table(own: nn.Parameter | None, table: Tensor | None) -> Tensor:
    """The vectors of the units: the layer's own, or the table where it is tied."""
    if (own is None) == (table is None):
        wanted = "with the table of the input embedding" if own is None else "without a table"
        raise ValueError(f"expected to be called {wanted}, as the layer was built")
    vectors = table if own is None else own
    assert vectors is not None
    return vectors
