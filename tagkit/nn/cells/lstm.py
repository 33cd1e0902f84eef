"""Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000).

    i, f, o = sigmoid(W x[t] + U h[t-1] + b)    input, forget and output gate, each with its own
    g = tanh(W_g x[t] + U_g h[t-1] + b_g)       the new content
    c[t] = f * c[t-1] + i * g                   the memory: a sum, through which gradients flow
    h[t] = o * tanh(c[t]),  h[-1] = c[-1] = 0

Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.20-13.27; Goodfellow et al. 2016, eqs. 10.40-10.44,
where 10.41 has a sigmoid in place of the tanh of g.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions, Network, Steps
from tagkit.nn.recurrence.fused import (
    fused_weights,
    projection,
    recurrent_weight,
    with_fresh_weights,
)
from tagkit.nn.recurrence.initial import fill_chrono
from tagkit.nn.recurrence.packed_lstm import packed_states
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import HALF, ONE, QUARTER, Floats, Recurrence, StepInputs


def arrange(rows: Tensor) -> Tensor:
    """Gates as i, f, o, 2 g, from torch's i, f, g, o.

    One sigmoid then serves all four: tanh(a) = 2 sigmoid(2 a) - 1, so the rows of g are doubled
    once instead of its sums at every step.
    """
    # (4 x hidden, inputs), (4 x hidden, hidden) or (4 x hidden,) -> four of a quarter of the rows
    entry, forget, new, out = rows.chunk(4)
    return torch.cat((entry, forget, out, 2 * new))


def read(inputs: StepInputs, products: Sequence[Product], _: Sequence[Tensor]) -> Tensor:
    """States, as `Recurrence.read` describes it."""
    (recurrent,) = products
    directions, batch, width = inputs.shape
    hidden = width // 4  # each gate's share
    states = torch.empty(inputs.time, directions, batch, hidden)
    memory = torch.zeros(directions, batch, hidden)  # c
    squashed = torch.empty_like(memory)  # tanh(c)
    for t in range(inputs.time):
        gates = inputs.at(t)  # W x[t] + b: (directions, batch, 4 x hidden)
        if t:  # U h[-1] is 0
            # + U h[t-1], the same shape, in place
            recurrent.add_to(gates, states[t - 1])
        gates.sigmoid_()  # all four at once, as `arrange` has doubled the rows of g
        # (directions, batch, 4 x hidden) -> four of (directions, batch, hidden)
        entry, forget, out, new = torch.split(gates, hidden, dim=2)
        # c[t] = f * c[t-1] + i * g. The last gate is sigmoid(2 a): 2 new - 1 is g = tanh(a).
        memory.mul_(forget).add_(new.mul_(2).sub_(1).mul_(entry))
        # h[t] = o * tanh(c[t]). On a CPU torch's sigmoid is six times as fast as its tanh.
        torch.mul(memory, 2, out=squashed)
        squashed.sigmoid_().mul_(2).sub_(1)
        torch.mul(squashed, out, out=states[t])
    return states


def read_packed(
    inputs: Floats,
    sizes: Sequence[int],
    recurrent: Sequence[Floats],
    _: Sequence[Floats],
    states: Floats,
) -> None:
    """States, as `Recurrence.read_packed` describes it.

    Factors of 1/2 and 2 are applied where arrays are smaller; products with powers of 2 are exact.
    """
    _, directions, hidden = states.shape
    if directions == 1 and sizes[0] == 1:
        _read_one(inputs[:, 0], recurrent[0][0], states[:, 0])
        return
    gates = np.empty((sizes[0], directions, 4 * hidden), states.dtype)
    memory = np.zeros((sizes[0], directions, hidden), states.dtype)  # c
    squashed = np.empty_like(memory)  # tanh(c)
    before = np.zeros_like(memory)  # h[-1] / 2
    halves = inputs * HALF
    start = rows = 0
    for size in sizes:
        if size != rows:  # the shortest sequences have ended; they are the last rows
            rows = size
            gates, memory = gates[:rows], memory[:rows]
            squashed, before = squashed[:rows], before[:rows]
            products, reading = gates.swapaxes(0, 1), before.swapaxes(0, 1)
            sigmoids = gates[..., : 3 * hidden]
            # (rows, directions, 4 x hidden) -> four of (rows, directions, hidden)
            entry, forget, out, new = (
                gates[..., first : first + hidden] for first in range(0, 4 * hidden, hidden)
            )
        step = slice(start, start + size)
        # (directions, size, hidden) @ (directions, hidden, 4 x hidden)
        np.matmul(reading, recurrent[0], out=products)
        # One tanh for all four: 2 sigmoid(a) = 1 + tanh(a / 2), and the rows of g are doubled.
        np.tanh(np.add(gates, halves[step], out=gates), out=gates)
        np.add(sigmoids, ONE, out=sigmoids)  # 2 i, 2 f, 2 o
        # c[t] = (2 f * c[t-1] + 2 i * g) / 2
        np.multiply(memory, forget, out=memory)
        np.add(memory, np.multiply(entry, new, out=new), out=memory)
        np.multiply(memory, HALF, out=memory)
        after = np.multiply(np.tanh(memory, out=squashed), out, out=states[step])  # 2 h[t]
        np.multiply(after, QUARTER, out=before)
        start = step.stop
    np.multiply(states, HALF, out=states)


def _read_one(inputs: Floats, recurrent: Floats, states: Floats) -> None:
    """As `read_packed`, of one sequence in one direction: the same states to the bit, in less time.

    Args:
        inputs: (tokens, 4 x hidden).
        recurrent: (hidden, 4 x hidden).
        states: (tokens, hidden), which this fills.
    """
    hidden = len(recurrent)
    # i, f, o, g and the memory c side by side, so that i g and f c are one product: a call of NumPy
    # costs as much as 200 products.
    values = np.zeros(5 * hidden, states.dtype)
    gates, sigmoids, memory = values[: 4 * hidden], values[: 3 * hidden], values[4 * hidden :]
    pair, new_and_old = values[: 2 * hidden], values[3 * hidden :]
    of_new, of_old, out = (values[first : first + hidden] for first in (0, hidden, 2 * hidden))
    squashed = np.empty_like(memory)  # tanh(c)
    before = np.zeros_like(memory)  # h[-1] / 2
    for row, state in zip(inputs * HALF, states, strict=True):
        np.dot(before, recurrent, out=gates)
        np.tanh(np.add(gates, row, out=gates), out=gates)
        np.add(sigmoids, ONE, out=sigmoids)  # 2 i, 2 f, 2 o
        # c[t] = (2 f * c[t-1] + 2 i * g) / 2
        np.multiply(pair, new_and_old, out=pair)
        np.add(of_old, of_new, out=memory)
        np.multiply(memory, HALF, out=memory)
        np.multiply(np.tanh(memory, out=squashed), out, out=state)  # 2 h[t]
        np.multiply(state, QUARTER, out=before)
    np.multiply(states, HALF, out=states)


class LSTMNetwork(nn.LSTM, Network):
    """torch's long short-term memory."""

    state_weights = ("weight_hh_l0",)

    def forward(  # type: ignore[override]
        self, inputs: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """As torch's, in 32 bits on a processor that has no layer in bf16."""
        mixed = inputs.device.type == "cpu" and torch.is_autocast_enabled("cpu")
        if not mixed or _reads_in_bf16():
            return super().forward(inputs, state)
        with torch.autocast("cpu", enabled=False):
            of_32_bits = None if state is None else (state[0].float(), state[1].float())
            return super().forward(inputs.float(), of_32_bits)

    def steps(self) -> Steps:
        """As described in `Network`."""
        u = recurrent_weight(self)

        def advance(
            projected: Tensor, state: tuple[Tensor, ...]
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            before, memory = state
            sums = projected + nn.functional.linear(before, u)
            entry, forget, new, out = sums.chunk(4, -1)
            memory = torch.sigmoid(forget) * memory + torch.sigmoid(entry) * torch.tanh(new)
            after = torch.sigmoid(out) * torch.tanh(memory)
            return after, (after, memory)

        return Steps((self.hidden_size, self.hidden_size), projection(self), advance)

    def recurrence(self) -> Recurrence:
        """As described in `Network`."""
        return Recurrence(
            hidden=self.hidden_size,
            # A sigmoid times a tanh; the memory c is not bounded, but no weights multiply it.
            bounded=True,
            weights=fused_weights(self, arrange=arrange),
            read=read,
            read_packed=read_packed,
        )


@cache
def _reads_in_bf16() -> bool:
    """Whether torch's layer runs in bf16 here: oneDNN's needs AVX-512, and torch has no other."""
    one, gates = torch.zeros(1, 1, 1), torch.zeros(4)
    weights = (gates.unsqueeze(1), gates.unsqueeze(1), gates, gates)
    try:
        with torch.autocast("cpu", torch.bfloat16):
            torch.lstm(one, (one, one), weights, True, 1, 0.0, False, False, True)
    except RuntimeError:
        return False
    return True


def build(inputs: int, hidden: int, options: CellOptions) -> LSTMNetwork:
    """A network, as `Cell.build` describes it."""
    network = LSTMNetwork(inputs, hidden, batch_first=True)
    with_fresh_weights(network, 4, options, forget_gate=1)
    entry, forget, _, _ = network.get_parameter("bias_ih_l0").chunk(4)
    fill_chrono(options.chrono, keep=forget, take=entry)
    return network


LSTM = Cell(name="LSTM", build=build, train_packed=packed_states)
