"""Recurrent networks with further connections through time, from d steps back.

    h[t] = tanh(W x[t] + U h[t-1] + sum over d of V_d h[t-d] + b),  h[t] = 0 for t < 0

Over T steps the shortest path of a gradient has T / d links instead of T, so that it vanishes more
slowly (Lin et al. 1996, who connect several delays; Goodfellow, Bengio and Courville, section
10.9.1). "skip-lstm" reads the same sum in the gates of an LSTM:

    [i, f, g, o] = W x[t] + U h[t-1] + sum over d of V_d h[t-d] + b
    c[t] = sigmoid(f) * c[t-1] + sigmoid(i) * tanh(g)
    h[t] = sigmoid(o) * tanh(c[t])
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import fill_chrono


class SkipNetwork(LoopNetwork):
    """A layer of simple recurrent units with skip connections through time."""

    state_weights = ("weight_hh", "weight_skip")

    def __init__(
        self,
        inputs: int,
        hidden: int,
        options: CellOptions,
        gates: int = 1,
        memories: Sequence[int] = (),
    ) -> None:
        """`options.skip` are the d, in steps; `memories` are carried beside the states."""
        # The last states, the youngest first.
        self.delays = options.skip
        past = [hidden] * max(options.skip)
        super().__init__(inputs=inputs, hidden=hidden, gates=gates, memories=[*past, *memories])
        if gates == 1:
            self.take_activation(options)
        # The sum of the products has the variance of one with this gain.
        count = len(options.skip)
        gain = (1 / (1 + count)) ** 0.5
        self.weight_hh = fresh_recurrent_weights(gates, hidden, options, gain=gain)
        self.weight_skip = fresh_recurrent_weights(gates * count, hidden, options, gain=gain)

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U and each V."""
        return self.weight_hh, *self.weight_skip.chunk(len(self.delays))

    def _sums(
        self,
        projected: Values,
        past: Sequence[Values],
        products: Sequence[Callable[[Values], Values]],
    ) -> Values:
        """W x[t] + U h[t-1] + sum over d of V_d h[t-d] + b."""
        last, *skipping = products
        sums = projected + last(past[0])
        for delay, product in zip(self.delays, skipping, strict=True):
            sums = sums + product(past[delay - 1])
        return sums

    def advance(
        self,
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        after = functions.activation(self._sums(projected, state, products))
        return after, (after, *state[:-1])


class SkipLSTMNetwork(SkipNetwork):
    """A layer of LSTM units whose gates read states from several steps back."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """As in `SkipNetwork`; forget gates begin open."""
        super().__init__(inputs, hidden, options, gates=4, memories=[hidden])
        with torch.no_grad():
            self.bias[hidden : 2 * hidden] = 1
        entry, forget, _, _ = self.bias.chunk(4)
        fill_chrono(options.chrono, keep=forget, take=entry)

    def advance(
        self,
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        *past, memory = state
        hidden = memory.shape[-1]
        sums = self._sums(projected, past, products)  # (..., 4 x hidden)
        entry, forget = (functions.sigmoid(sums[..., part : part + hidden]) for part in (0, hidden))
        new = functions.tanh(sums[..., 2 * hidden : 3 * hidden])
        memory = forget * memory + entry * new
        after = functions.sigmoid(sums[..., 3 * hidden :]) * functions.tanh(memory)
        return after, (after, *past[:-1], memory)


SKIP = Cell(build=SkipNetwork)
SKIP_LSTM = Cell(build=SkipLSTMNetwork)
