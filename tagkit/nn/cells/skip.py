"""A simple recurrent network with a second connection through time, from d steps back.

    h[t] = tanh(W x[t] + U h[t-1] + V h[t-d] + b),  h[t] = 0 for t < 0

Over T steps the shortest path of a gradient has T / d links instead of T, so that it vanishes more
slowly (Lin et al. 1996; Goodfellow, Bengio and Courville, section 10.9.1).
"""

from collections.abc import Callable, Sequence

from torch import Tensor

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights


class SkipNetwork(LoopNetwork):
    """A layer of simple recurrent units with a skip connection through time."""

    state_weights = ("weight_hh", "weight_skip")

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`options.skip` is d, in steps."""
        # The last d states, the youngest first.
        super().__init__(inputs=inputs, hidden=hidden, gates=1, memories=[hidden] * options.skip)
        # The sum of two products has the variance of one with this gain.
        self.weight_hh = fresh_recurrent_weights(1, hidden, options, gain=0.5**0.5)
        self.weight_skip = fresh_recurrent_weights(1, hidden, options, gain=0.5**0.5)

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U and V."""
        return self.weight_hh, self.weight_skip

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        last, skipped = products
        after = functions.tanh(projected + last(state[0]) + skipped(state[-1]))
        return after, (after, *state[:-1])


SKIP = Cell(build=SkipNetwork)
