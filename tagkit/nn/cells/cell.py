"""A recurrent cell: its network for training, and its recurrence for cached inference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.nn.packing import Packing
from tagkit.nn.products import Product

Floats = npt.NDArray[np.float32]

# An array, as a call of NumPy with a number first makes one of it: a third of a small product.
HALF = np.array(0.5, np.float32)


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


def keep_order(rows: Tensor) -> Tensor:
    """Gates in torch's own order."""
    return rows


def sum_biases(of_input: Tensor, of_hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Both biases added to the input product, none to the recurrent one.

    Cells that add the two products can add the two biases beforehand. torch has two of them only
    because cuDNN does.
    """
    # (gates x hidden,) each -> (gates x hidden,) and (0,)
    return of_input + of_hidden, of_hidden[:0]


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of `CELLS`.

    Attributes:
        name: as the console writes it.
        network: torch's class of one-way, batch-first layers, called with sizes.
        gates: how many products of size `hidden` a step computes from its input, and as many
            from the state.
        bounded: whether its states lie within -1 and 1, whatever the weights.
        forget_gate: which gate's bias begins at 1; None for a cell without one.
        arrange: puts rows of weights or biases, gate after gate in torch's order, into the order
            of `read`.
        biases: torch's two biases -> what is added to the input product, in torch's order, and
            the last argument of `read`.
        read: the recurrence over cached input projections, the recurrent product, and the second
            of `biases`, (directions, 1, its size) -> states (time, directions, batch, hidden).
        read_packed: the same in NumPy, for few sequences packed as in `nn/packing.py`. Its
            arguments: input projections (tokens, directions, gates x hidden), each direction in its
            own reading order, the number of sequences at each step, recurrent weights (directions,
            hidden, gates x hidden), the second of `biases` (directions, its size), and states
            (tokens, directions, hidden), which are filled in.
        train_packed: states over packed sequences in training, (tokens, inputs) and the networks of
            both directions -> (directions, tokens, hidden); None where torch's network is used.
    """

    name: str
    network: Callable[..., nn.RNNBase]
    gates: int
    bounded: bool
    forget_gate: int | None
    arrange: Callable[[Tensor], Tensor]
    biases: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
    read: Callable[[StepInputs, Product, Tensor], Tensor]
    read_packed: Callable[[Floats, Sequence[int], Floats, Floats, Floats], None]
    train_packed: Callable[[Tensor, Packing, Sequence[nn.RNNBase]], Tensor] | None

    def build(self, inputs: int, hidden: int) -> nn.RNNBase:
        """A network of one direction with fresh weights.

        The order of the random draws is that of torch's parameters, gate by gate: a seed gives the
        same weights in every version.
        """
        network = self.network(inputs, hidden, batch_first=True)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                # (gates x hidden, inputs), (gates x hidden, hidden) or (gates x hidden,): each
                # gate is a matrix by itself, whose size decides its distribution.
                gates = parameter.chunk(self.gates)
                if name.startswith("bias"):
                    parameter.zero_()  # (gates x hidden,)
                    if name.startswith("bias_ih") and self.forget_gate is not None:
                        # A forget gate that starts open lets gradients through (Gers et al. 2000;
                        # Jozefowicz et al. 2015; Goodfellow et al. 2016, section 10.10.2).
                        gates[self.forget_gate].fill_(1)
                elif name.startswith("weight_hh"):
                    for gate in gates:
                        # All singular values are 1: a product over many steps neither vanishes nor
                        # explodes by itself (Saxe et al. 2014; Pascanu et al. 2013).
                        nn.init.orthogonal_(gate)  # (hidden, hidden)
                else:
                    for gate in gates:
                        nn.init.xavier_uniform_(gate)  # Glorot and Bengio 2010, eq. 16
        return network
