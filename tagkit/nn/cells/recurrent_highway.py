"""The recurrent highway network: a step of several layers, each with a gate that lets it be passed.

    s_0 = h[t-1]
    n_k = tanh(W_n x[t] + U_nk s_{k-1} + b_nk)         the new content; W x[t] for k = 1 alone
    g_k = sigmoid(W_g x[t] + U_gk s_{k-1} + b_gk)      how much of it replaces what was there
    s_k = g_k * n_k + (1 - g_k) * s_{k-1},  k = 1 ... K
    h[t] = s_K,  h[-1] = 0

Zilly et al. 2017, eqs. 6-9, with the carry gate coupled to the transform gate, 1 - g, as in their
experiments. It is the deep transition (`deep_transition.py`) of a gated cell: where the gates are
closed, a gradient passes all K layers of a step unchanged.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights

# Zilly et al. 2017 begin between -2 and -4. Each of K layers of a step replaces sigmoid(-2) = 0.12.
GATE_BIAS = -2.0


class RecurrentHighwayNetwork(LoopNetwork):
    """A layer of recurrent highway units; n and g of each layer of a step are one product."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """A step has `options.transition_layers` layers, K."""
        layers = options.transition_layers
        super().__init__(inputs=inputs, hidden=hidden, gates=2, memories=[hidden])
        # (K x 2 x hidden, hidden), and the biases of all layers of a step but the first
        self.weight_hh = fresh_recurrent_weights(2 * layers, hidden, options)
        self.bias_deeper = nn.Parameter(torch.zeros(layers - 1, 2 * hidden))
        with torch.no_grad():
            self.bias[hidden:] = GATE_BIAS
            self.bias_deeper[:, hidden:] = GATE_BIAS

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U_n and U_g of each layer of a step as one matrix, (2 x hidden, hidden)."""
        return self.weight_hh.chunk(len(self.bias_deeper) + 1)

    def constants(self) -> tuple[Tensor, ...]:
        """b_n and b_g of all layers of a step but the first."""
        return self.bias_deeper.unbind(0)

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (after,) = state
        hidden = after.shape[-1]
        # The first layer reads the input beside the state, the others their biases.
        for product, given in zip(products, (projected, *constants), strict=True):
            sums = product(after) + given  # (..., 2 x hidden)
            new, gate = functions.tanh(sums[..., :hidden]), functions.sigmoid(sums[..., hidden:])
            # s + g (n - s), which is g n + (1 - g) s with one product instead of two
            after = after + gate * (new - after)
        return after, (after,)


RECURRENT_HIGHWAY = Cell(build=RecurrentHighwayNetwork)
