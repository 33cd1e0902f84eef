"""The gated recurrent unit (Cho et al. 2014), in the variant of cuDNN and torch.

    r = sigmoid(W_r x[t] + U_r h[t-1] + b_r)              reset: how much of the past n sees
    z = sigmoid(W_z x[t] + U_z h[t-1] + b_z)              update: how much of the past stays
    n = tanh(W_n x[t] + b_n + r * (U_n h[t-1] + b'_n))    the new content
    h[t] = (1 - z) * n + z * h[t-1],  h[-1] = 0

Goodfellow et al. 2016, eqs. 10.45-10.47, where, as in the paper, r is inside the product:
U_n (r * h[t-1]). Outside it, all three products of a step are one. The tanh of n is the paper's;
10.45 has a sigmoid, and gates and input of the step before.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions, Network, Steps
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import HALF, Floats, Recurrence, StepInputs
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import fill_chrono, fused_weights, with_fresh_weights


def biases(network: Network) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All biases beside the input product but b'_n, which is inside the product with r.

    Returns:
        (3 x hidden,), and the constants: b'_n, (hidden,).
    """
    of_input = network.get_parameter("bias_ih_l0")  # (3 x hidden,): torch's order is r, z, n
    of_hidden = network.get_parameter("bias_hh_l0")
    hidden = len(of_hidden) // 3
    # b'_r and b'_z are added to b_r and b_z; to b_n is added 0: (3 x hidden,)
    summed = torch.cat((of_hidden[: 2 * hidden], torch.zeros_like(of_hidden[2 * hidden :])))
    return of_input + summed, (of_hidden[2 * hidden :],)


def read(inputs: StepInputs, products: Sequence[Product], constants: Sequence[Tensor]) -> Tensor:
    """States, as `Recurrence.read` describes it."""
    (recurrent,), (hidden_bias,) = products, constants  # b'_n, (directions, 1, hidden)
    directions, batch, width = inputs.shape
    hidden = width // 3
    states = torch.empty(inputs.time, directions, batch, hidden)
    before = torch.zeros(directions, batch, hidden)  # h[-1]
    for t in range(inputs.time):
        # W x[t] + b and U h[t-1], both (directions, batch, 3 x hidden). They cannot be added up at
        # once: r multiplies the last third of the second alone.
        given, product = inputs.at(t), recurrent.of(before)
        # (directions, batch, 2 x hidden): r and z
        gates = given[:, :, : 2 * hidden].add_(product[:, :, : 2 * hidden]).sigmoid_()
        reset, update = torch.split(gates, hidden, dim=2)  # each (directions, batch, hidden)
        # r * (U_n h[t-1] + b'_n), (directions, batch, hidden)
        inner = product[:, :, 2 * hidden :].add_(hidden_bias).mul_(reset)
        # tanh(a) = 2 sigmoid(2 a) - 1: on a CPU torch's sigmoid is six times as fast as its tanh.
        new = inner.add_(given[:, :, 2 * hidden :]).mul_(2).sigmoid_().mul_(2).sub_(1)
        # n + z (h[t-1] - n), which is (1 - z) n + z h[t-1] with one product instead of two
        before = torch.lerp(new, before, update, out=states[t])
    return states


def read_packed(
    inputs: Floats,
    sizes: Sequence[int],
    recurrent: Sequence[Floats],
    constants: Sequence[Floats],
    states: Floats,
) -> None:
    """States, as `Recurrence.read_packed` describes it."""
    (hidden_bias,) = constants  # b'_n, (directions, hidden)
    _, directions, hidden = states.shape
    product = np.empty((sizes[0], directions, 3 * hidden), states.dtype)  # U h[t-1]
    before = np.zeros((sizes[0], directions, hidden), states.dtype)  # h[-1]
    start = 0
    for size in sizes:
        given, state = inputs[start : start + size], states[start : start + size]
        before, product = before[:size], product[:size]
        # (directions, size, hidden) @ (directions, hidden, 3 x hidden)
        np.matmul(before.swapaxes(0, 1), recurrent[0], out=product.swapaxes(0, 1))
        gates, inner = product[..., : 2 * hidden], product[..., 2 * hidden :]
        np.add(gates, given[..., : 2 * hidden], out=gates)
        # sigmoid(a) = (1 + tanh(a / 2)) / 2: NumPy has no sigmoid.
        np.tanh(np.multiply(gates, HALF, out=gates), out=gates)
        np.add(np.multiply(gates, HALF, out=gates), HALF, out=gates)
        reset, update = gates[..., :hidden], gates[..., hidden:]
        # n = tanh(W_n x[t] + b_n + r * (U_n h[t-1] + b'_n))
        np.multiply(np.add(inner, hidden_bias, out=inner), reset, out=inner)
        new = np.tanh(np.add(inner, given[..., 2 * hidden :], out=inner), out=inner)
        # n + z (h[t-1] - n), which is (1 - z) n + z h[t-1] with one product instead of two
        np.multiply(np.subtract(before, new, out=state), update, out=state)
        np.add(state, new, out=state)
        before, start = state, start + size


class GRUNetwork(nn.GRU, Network):  # type: ignore[misc]
    """torch's gated recurrent unit."""

    state_weights = ("weight_hh_l0",)

    def steps(self) -> Steps:
        """As described in `Network`."""
        w, u, of_input, of_hidden = self.parameters()
        project = partial(nn.functional.linear, weight=w, bias=of_input)

        def advance(
            projected: Tensor, state: tuple[Tensor, ...]
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            (before,) = state
            product = nn.functional.linear(before, u, of_hidden)
            of_reset, of_update, of_new = product.chunk(3, -1)
            reset, update, new = projected.chunk(3, -1)
            new = torch.tanh(new + torch.sigmoid(reset + of_reset) * of_new)
            after = new + torch.sigmoid(update + of_update) * (before - new)
            return after, (after,)

        return Steps((self.hidden_size,), project, advance)

    def recurrence(self) -> Recurrence:
        """As described in `Network`."""
        return Recurrence(
            hidden=self.hidden_size,
            bounded=True,  # each state is a weighted mean of the one before and of a tanh
            weights=fused_weights(self, biases=biases),
            read=read,
            read_packed=read_packed,
        )


def build(inputs: int, hidden: int, options: CellOptions) -> GRUNetwork:
    """A network, as `Cell.build` describes it."""
    network = with_fresh_weights(GRUNetwork(inputs, hidden, batch_first=True), 3, options)
    # z keeps the past, and 1 - z takes what is new.
    fill_chrono(options.chrono, keep=network.get_parameter("bias_ih_l0")[hidden : 2 * hidden])
    return network


GRU = Cell(build=build)


class ResetBeforeGRUNetwork(LoopNetwork):
    """A layer of units as Cho et al. 2014 have them: reset before the product. Gates are r, z, n.

        n = tanh(W_n x[t] + U_n (r * h[t-1]) + b_n)

    Here r mixes what it resets: a step has two products, one after the other.
    """

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


GRU_RESET_BEFORE = Cell(build=ResetBeforeGRUNetwork)
