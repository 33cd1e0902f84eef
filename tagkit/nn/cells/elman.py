"""The simple recurrent network of Elman 1990.

    h[t] = tanh(W x[t] + U h[t-1] + b),  h[-1] = 0

With `activation = "relu"`, max(0, ...) in the place of tanh: its gradient does not vanish, and its
states have no bounds (Le, Jaitly and Hinton 2015).

Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.1-13.3; Goodfellow et al. 2016, eqs. 10.8 and 10.9
(whose U and W are exchanged).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions, Network, Steps
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import Floats, Recurrence, StepInputs
from tagkit.nn.recurrence.weights import (
    fused_weights,
    projection,
    recurrent_weight,
    with_fresh_weights,
)


def read(
    inputs: StepInputs, products: Sequence[Product], _: Sequence[Tensor], *, relu: bool
) -> Tensor:
    """States, as `Recurrence.read` describes it."""
    (recurrent,) = products
    states = torch.empty(inputs.time, *inputs.shape)  # one gate: its width is `hidden`
    for t in range(inputs.time):
        product = inputs.at(t)  # W x[t] + b: (directions, batch, hidden)
        if t:  # U h[-1] is 0
            # + U h[t-1], the same shape, in place
            recurrent.add_to(product, states[t - 1])
        if relu:
            torch.clamp(product, min=0, out=states[t])
        else:
            # tanh(a) = 2 sigmoid(2 a) - 1: on a CPU torch's sigmoid is six times as fast as tanh.
            torch.mul(product.mul_(2).sigmoid_(), 2, out=states[t]).sub_(1)
    return states


def read_packed(
    inputs: Floats,
    sizes: Sequence[int],
    recurrent: Sequence[Floats],
    _: Sequence[Floats],
    states: Floats,
    *,
    relu: bool,
) -> None:
    """States, as `Recurrence.read_packed` describes it."""
    before = np.zeros_like(states[: sizes[0]])  # h[-1]
    start = 0
    for size in sizes:
        step = slice(start, start + size)
        state = states[step]  # (size, directions, hidden)
        # (directions, size, hidden) @ (directions, hidden, hidden)
        np.matmul(before[:size].swapaxes(0, 1), recurrent[0], out=state.swapaxes(0, 1))
        np.add(state, inputs[step], out=state)
        if relu:
            np.maximum(state, 0, out=state)
        else:
            np.tanh(state, out=state)
        before, start = state, step.stop


class ElmanNetwork(nn.RNN, Network):  # type: ignore[misc]
    """torch's simple recurrent network."""

    state_weights = ("weight_hh_l0",)

    def steps(self) -> Steps:
        """As described in `Network`."""
        u = recurrent_weight(self)
        squash = torch.relu if self.nonlinearity == "relu" else torch.tanh

        def advance(
            projected: Tensor, state: tuple[Tensor, ...]
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            after = squash(projected + nn.functional.linear(state[0], u))
            return after, (after,)

        return Steps((self.hidden_size,), projection(self), advance)

    def recurrence(self) -> Recurrence:
        """As described in `Network`."""
        relu = self.nonlinearity == "relu"
        return Recurrence(
            hidden=self.hidden_size,
            bounded=not relu,
            weights=fused_weights(self),
            read=partial(read, relu=relu),
            read_packed=partial(read_packed, relu=relu),
        )


def build(inputs: int, hidden: int, options: CellOptions) -> ElmanNetwork:
    """A network, as `Cell.build` describes it."""
    network = ElmanNetwork(inputs, hidden, batch_first=True, nonlinearity=options.activation)
    return with_fresh_weights(network, 1, options)


ELMAN = Cell(build=build)
