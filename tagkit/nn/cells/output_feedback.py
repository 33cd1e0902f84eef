"""Feedback from the output alone: the only recurrence runs from the output of the step before.

    h[t] = tanh(W x[t] + U o[t-1] + b)
    o[t] = V h[t] + c,  o[-1] = 0

Jordan 1986; Goodfellow, Bengio and Courville, figure 10.4. There o are the scores of the labels. A
layer of an encoder knows no labels: its output is what it passes on to the next layer or to the
head, which is o, a linear read-out of as many values as there are hidden units. The hidden units
themselves remember nothing, so that whatever the layer keeps of the past has to be in its output.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights


class OutputFeedbackNetwork(LoopNetwork):
    """A layer whose hidden units read its own output of the step before."""

    bounded = False  # by no function: the output is linear
    state_weights = ("weight_hh", "weight_out")

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`hidden` units, and as many values of the output."""
        super().__init__(inputs=inputs, hidden=hidden, gates=1, memories=[hidden])
        self.take_activation(options)
        self.weight_hh = fresh_recurrent_weights(1, hidden, options)  # U
        self.weight_out = fresh_recurrent_weights(1, hidden, options)  # V
        self.bias_out = nn.Parameter(torch.zeros(hidden))  # c

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U and V."""
        return self.weight_hh, self.weight_out

    def constants(self) -> tuple[Tensor, ...]:
        """Bias of the output, c."""
        return (self.bias_out,)

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before,), (feedback, readout), (bias,) = state, products, constants
        output = readout(functions.activation(projected + feedback(before))) + bias
        return output, (output,)


OUTPUT_FEEDBACK = Cell(build=OutputFeedbackNetwork)
