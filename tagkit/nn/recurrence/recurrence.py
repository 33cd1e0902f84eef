"""A network's recurrence for cached inference, where the input products are read from tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.recurrence.products import Product

Floats = npt.NDArray[np.float32]

# An array, as a call of NumPy with a number first makes one of it: a third of a small product.
HALF, ONE, QUARTER = (np.array(number, np.float32) for number in (0.5, 1, 0.25))


class StepInputs:
    """Cached input projections of each step: sums of rows of tables, computed step by step.

    All steps at once would be larger than the processor's caches, and than the freed memory that an
    allocator keeps: with 256 sentences and 2 x 200 units that took twice as long.
    """

    def __init__(
        self,
        places: Sequence[tuple[Tensor, Sequence[Tensor]]],
        shape: Sequence[int],
        directions: int,
    ) -> None:
        """`places`: tables, each with the rows, (directions x batch,), that every step reads.

        `shape` is (batch, time).
        """
        self._places = places
        batch, self.time = shape
        first = places[0][0]  # (rows x directions, gates x hidden)
        self.shape = (directions, batch, first.shape[1])
        # (directions x batch, gates x hidden), one piece of memory for all steps: it stays in
        # the processor's cache.
        self._sum = first.new_empty(directions * batch, first.shape[1])

    def at(self, step: int) -> Tensor:
        """(directions, batch, gates x hidden), which the cell may change and the next call will."""
        # Words first, then each feature column: W [a; b] = W_a a + W_b b.
        (table, rows), *others = self._places
        # (rows x directions, width) at (directions x batch,) -> (directions x batch, width)
        torch.index_select(table, 0, rows[step], out=self._sum)
        for other, places in others:
            self._sum.add_(other.index_select(0, places[step]))
        # (directions x batch, gates x hidden) -> (directions, batch, gates x hidden)
        return self._sum.view(self.shape)


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one direction, in the order in which its recurrence reads them.

    Attributes:
        of_input: (width, inputs): the input product of a step has `width` values.
        bias: (width,), added to the input product.
        recurrent: matrices of the products of a step, each (outputs, hidden).
        constants: weights that are no matrix, each (values,): peepholes, leaking rates.
    """

    of_input: Tensor
    bias: Tensor
    recurrent: tuple[Tensor, ...]
    constants: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """How cached inference reads a network.

    Attributes:
        hidden: number of values of a state that the layer passes on.
        bounded: whether all that is multiplied by recurrent weights lies within -1 and 1, whatever
            the weights.
        weights: as they are now.
        read: the steps over cached input projections, with the recurrent products of `Weights`, in
            their order, and constants, each (directions, 1, values) -> states (time, directions,
            batch, hidden).
        read_packed: the same in NumPy, for few sequences packed as in `nn/padding.py`. Its
            arguments: input projections (tokens, directions, width), each direction in its own
            reading order, the number of sequences at each step, recurrent weights, each
            (directions, hidden, outputs), constants, each (directions, values), and states
            (tokens, directions, hidden), which are filled in.
    """

    hidden: int
    bounded: bool
    weights: Weights
    read: Callable[[StepInputs, Sequence[Product], Sequence[Tensor]], Tensor]
    read_packed: Callable[[Floats, Sequence[int], Sequence[Floats], Sequence[Floats], Floats], None]
