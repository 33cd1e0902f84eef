"""The gated recurrent unit of Cho et al. 2014: reset before the product.

    r = sigmoid(W_r x[t] + U_r h[t-1] + b_r)              reset: how much of the past n sees
    z = sigmoid(W_z x[t] + U_z h[t-1] + b_z)              update: how much of the past stays
    n = tanh(W_n x[t] + U_n (r * h[t-1]) + b_n)           the new content
    h[t] = (1 - z) * n + z * h[t-1],  h[-1] = 0

Goodfellow, Bengio and Courville, eqs. 10.45-10.47, where 10.45 has a sigmoid in place of the
paper's tanh of n, and gates and input of the step before. torch's GRU (`gru.py`) multiplies by r
after the product instead, r * (U_n h[t-1] + b'_n), so that its three products are one. Here r mixes
what it resets: a step has two products, one after the other.
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import fill_chrono


class ResetBeforeGRUNetwork(LoopNetwork):
    """A layer of gated recurrent units; the order of the gates is r, z, n."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`hidden` units."""
        super().__init__(inputs=inputs, hidden=hidden, gates=3, memories=[hidden])
        self.weight_hh = fresh_recurrent_weights(3, hidden, options)
        # z keeps the past, and 1 - z takes what is new.
        fill_chrono(options.chrono, keep=self.bias[hidden : 2 * hidden])

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U_r and U_z as one matrix, and U_n."""
        return self.weight_hh[: 2 * self.hidden], self.weight_hh[2 * self.hidden :]

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before,), (of_gates, of_new) = state, products
        hidden = before.shape[-1]
        gates = functions.sigmoid(projected[..., : 2 * hidden] + of_gates(before))
        reset, update = gates[..., :hidden], gates[..., hidden:]
        new = functions.tanh(projected[..., 2 * hidden :] + of_new(reset * before))
        # n + z (h[t-1] - n), which is (1 - z) n + z h[t-1] with one product instead of two
        after = new + update * (before - new)
        return after, (after,)


def build(inputs: int, hidden: int, options: CellOptions) -> ResetBeforeGRUNetwork:
    """A network, as `Cell.build` describes it."""
    return ResetBeforeGRUNetwork(inputs, hidden, options)


GRU_RESET_BEFORE = Cell(build=build)
