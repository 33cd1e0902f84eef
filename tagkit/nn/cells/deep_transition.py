"""A simple recurrent network whose step is a feed-forward network of several layers.

    a_1 = tanh(W x[t] + U_1 h[t-1] + b_1)
    a_k = tanh(U_k a_{k-1} + b_k),  k = 2 ... K-1
    h[t] = tanh(U_K a_{K-1} + b_K),  h[-1] = 0

(DT-RNN of Pascanu et al. 2014; Goodfellow, Bengio and Courville, section 10.5 and figure 10.13b).
From state to state a gradient then passes K layers instead of one. A connection that skips all of
them but the last makes it one again (DT(S)-RNN; figure 10.13c):

    h[t] = tanh(U_K a_{K-1} + S h[t-1] + b_K)
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights


class DeepTransitionNetwork(LoopNetwork):
    """A layer whose step has several layers, without a connection past them."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """A step has `options.transition_layers` layers, K, each of `hidden` units."""
        layers = options.transition_layers
        super().__init__(inputs=inputs, hidden=hidden, gates=1, memories=[hidden])
        self.take_activation(options)
        # U_1 to U_K, and b_2 to b_K; b_1 is the bias of the input product.
        self.weight_hh = fresh_recurrent_weights(layers, hidden, options)
        self.bias_deeper = nn.Parameter(torch.zeros(layers - 1, hidden))

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U_1 to U_K."""
        return self.weight_hh.chunk(len(self.bias_deeper) + 1)

    def constants(self) -> tuple[Tensor, ...]:
        """b_2 to b_K."""
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
        (before,), (first, *deeper) = state, products
        after = functions.activation(projected + first(before))
        for product, bias in zip(deeper, constants, strict=True):
            after = functions.activation(product(after) + bias)
        return after, (after,)


class ShortenedTransitionNetwork(DeepTransitionNetwork):
    """A layer whose step has several layers, and a connection past all of them but the last."""

    state_weights = ("weight_hh", "weight_skip")

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """As in `DeepTransitionNetwork`."""
        super().__init__(inputs, hidden, options)
        # The sum of two products, U_K a + S h, has the variance of one with this gain.
        gain = 0.5**0.5
        with torch.no_grad():
            self.weight_hh[-hidden:] *= gain
        self.weight_skip = fresh_recurrent_weights(1, hidden, options, gain=gain)

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U_1 to U_K, and S."""
        return (*super().recurrent_weights(), self.weight_skip)

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before,), (*layers, last, skipping), (*biases, bias) = state, products, constants
        inner, _ = DeepTransitionNetwork.advance(projected, state, layers, biases, functions)
        after = functions.activation(last(inner) + skipping(before) + bias)
        return after, (after,)


def build(inputs: int, hidden: int, options: CellOptions) -> DeepTransitionNetwork:
    """A network, as `Cell.build` describes it."""
    kind = ShortenedTransitionNetwork if options.transition_skip else DeepTransitionNetwork
    return kind(inputs, hidden, options)


DEEP_TRANSITION = Cell(build=build)
