"""The simple recurrent network of Elman 1990.

    h[t] = tanh(W x[t] + U h[t-1] + b),  h[-1] = 0

Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.1-13.3; Goodfellow et al. 2016, eqs. 10.8 and 10.9
(whose U and W are exchanged).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.cells.cell import Cell, Floats, StepInputs, keep_order, sum_biases
from tagkit.nn.products import Product


def read(inputs: StepInputs, recurrent: Product, _: Tensor) -> Tensor:
    """States, as `Cell.read` describes it."""
    states = torch.empty(inputs.time, *inputs.shape)  # one gate: its width is `hidden`
    for t in range(inputs.time):
        product = inputs.at(t)  # W x[t] + b: (directions, batch, hidden)
        if t:  # U h[-1] is 0
            # + U h[t-1], the same shape, in place
            recurrent.add_to(product, states[t - 1])
        # tanh(a) = 2 sigmoid(2 a) - 1: on a CPU torch's sigmoid is six times as fast as its tanh.
        torch.mul(product.mul_(2).sigmoid_(), 2, out=states[t]).sub_(1)
    return states


def read_packed(
    inputs: Floats, sizes: Sequence[int], recurrent: Floats, _: Floats, states: Floats
) -> None:
    """States, as `Cell.read_packed` describes it."""
    before = np.zeros_like(states[: sizes[0]])  # h[-1]
    start = 0
    for size in sizes:
        step = slice(start, start + size)
        state = states[step]  # (size, directions, hidden)
        # (directions, size, hidden) @ (directions, hidden, hidden)
        np.matmul(before[:size].swapaxes(0, 1), recurrent, out=state.swapaxes(0, 1))
        np.tanh(np.add(state, inputs[step], out=state), out=state)
        before, start = state, step.stop


ELMAN = Cell(
    name="Elman RNN",
    network=nn.RNN,
    gates=1,
    bounded=True,  # by tanh; with nonlinearity="relu" it would not be
    forget_gate=None,
    arrange=keep_order,
    biases=sum_biases,
    read=read,
    read_packed=read_packed,
    train_packed=None,
)
