"""The LSTM with peepholes: its gates see the memory (Gers and Schmidhuber 2000).

    i = sigmoid(W_i x[t] + U_i h[t-1] + p_i * c[t-1] + b_i)
    f = sigmoid(W_f x[t] + U_f h[t-1] + p_f * c[t-1] + b_f)
    g = tanh(W_g x[t] + U_g h[t-1] + b_g)
    c[t] = f * c[t-1] + i * g
    o = sigmoid(W_o x[t] + U_o h[t-1] + p_o * c[t] + b_o)
    h[t] = o * tanh(c[t]),  h[-1] = c[-1] = 0

Each unit's gates see the memory of this unit alone. They learn when to open from how much has been
gathered, as in counting and timing, also while o is closed and h tells nothing of c.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import fill_chrono


class PeepholeLSTMNetwork(LoopNetwork):
    """A layer of LSTM units with peepholes; the order of the gates is torch's, i, f, g, o."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """Peepholes begin at 0, that is, as an LSTM without them; forget gates begin open."""
        super().__init__(inputs=inputs, hidden=hidden, gates=4, memories=[hidden, hidden])
        self.weight_hh = fresh_recurrent_weights(4, hidden, options)
        self.peepholes = nn.Parameter(torch.zeros(3, hidden))  # p_i, p_f, p_o
        with torch.no_grad():
            self.bias[hidden : 2 * hidden] = 1
        entry, forget, _, _ = self.bias.chunk(4)
        fill_chrono(options.chrono, keep=forget, take=entry)

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U."""
        return (self.weight_hh,)

    def constants(self) -> tuple[Tensor, ...]:
        """p_i and p_f side by side, and p_o."""
        return self.peepholes[:2].flatten(), self.peepholes[2]

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before, memory), (product,), (into_both, into_out) = state, products, constants
        hidden = memory.shape[-1]
        sums = projected + product(before)  # (..., 4 x hidden)
        # Input and forget gate as one, (..., 2, hidden): both see the memory of the step before.
        both = sums[..., : 2 * hidden].reshape(*sums.shape[:-1], 2, hidden)
        peepholes = into_both.reshape(*into_both.shape[:-1], 2, hidden)
        both = functions.sigmoid(both + peepholes * memory[..., None, :])
        entry, forget = both[..., 0, :], both[..., 1, :]
        new = functions.tanh(sums[..., 2 * hidden : 3 * hidden])
        memory = forget * memory + entry * new
        out = functions.sigmoid(sums[..., 3 * hidden :] + into_out * memory)
        after = out * functions.tanh(memory)
        return after, (after, memory)


def build(inputs: int, hidden: int, options: CellOptions) -> PeepholeLSTMNetwork:
    """A network, as `Cell.build` describes it."""
    return PeepholeLSTMNetwork(inputs, hidden, options)


PEEPHOLE_LSTM = Cell(build=build)
