"""Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000).

    i, f, o = sigmoid(W x[t] + U h[t-1] + b)    input, forget and output gate, each with its own
    g = tanh(W_g x[t] + U_g h[t-1] + b_g)       the new content
    c[t] = f * c[t-1] + i * g                   the memory: a sum, through which gradients flow
    h[t] = o * tanh(c[t]),  h[-1] = c[-1] = 0

Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.20-13.27; Goodfellow et al. 2016, eqs. 10.40-10.44,
where 10.41 has a sigmoid in place of the tanh of g.

It is computed in three ways: by torch (`LSTMNetwork`), over packed sequences with a gradient of its
own in training on a CPU (`packed_states`), and by `read` and `read_packed` in prediction.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tagkit.nn.padding import Packing
from tagkit.nn.recurrence.cell import Cell, CellOptions, Network, Steps
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import HALF, ONE, QUARTER, Floats, Recurrence, StepInputs
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import (
    fill_chrono,
    fused_weights,
    projection,
    recurrent_weight,
    with_fresh_weights,
)


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


# The LSTM of one or two directions over packed sequences, with its own gradient, for training.
#
# torch trains an LSTM on a CPU with kernels of oneDNN, which are made anew for every new shape of a
# batch: with the characters of a batch's words, of which no two batches have equally many, that
# took as long as the arithmetic. This reads both directions at once, computes nothing on padding,
# and is made of products of matrices alone (back-propagation through time: Werbos 1990; Goodfellow,
# Bengio and Courville, section 10.2.2).
#
# With a = W x[t] + U h[t-1] + b, in torch's order of the gates,
#
#     i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o),   g = tanh(a_g) = 2 sigmoid(2 a_g) - 1
#     c[t] = f c[t-1] + i g,   h[t] = o tanh(c[t])
#
# and dh, dc the gradients of the loss by h[t] and c[t], dc including what arrives from c[t+1]:
#
#     da_i = dc g i (1 - i)           da_g = dc i (1 - g^2)
#     da_f = dc c[t-1] f (1 - f)      da_o = dh tanh(c[t]) o (1 - o)
#     dc  += dh o (1 - tanh(c[t])^2), then dc f goes on to c[t-1] and U^T da to h[t-1]
def packed_states(
    rows: Tensor, chosen: Tensor, packing: Packing, networks: Sequence[Network]
) -> Tensor:
    """States of each direction at every token.

    Args:
        rows: (rows, inputs): what tokens read, such as the embeddings of all characters. W x + b is
            computed for each row, however many tokens read it.
        chosen: (tokens,) which row each token reads, packed.
        packing: of the tokens.
        networks: of one layer each: the forward direction and, if there are two, the backward one.

    Returns:
        (directions, tokens, hidden), each direction packed in its own reading order.
    """
    weights: list[Tensor] = []
    for network in networks:
        weights += network.parameters()
    # One sigmoid serves all gates if the sums of g, the third in torch's order, are doubled.
    # A tanh of these alone, rows with gaps between them, takes longer.
    doubled = weights[0].new_ones(4, weights[1].shape[1])
    doubled[2] = 2
    doubled = doubled.flatten()
    # Four parameters of each direction, (directions, 4 x hidden, inputs or hidden) and biases. The
    # biases are multiplied before they are added: torch makes what a sum passes on the gradient of
    # both, and would add to it in place for each.
    w, u = (torch.stack(weights[kind::4]) * doubled.unsqueeze(1) for kind in (0, 1))
    of_input, of_hidden = (torch.stack(weights[kind::4]) * doubled for kind in (2, 3))
    bias = (of_input + of_hidden).unsqueeze(1)
    # (directions, rows, inputs) x (directions, inputs, 4 x hidden)
    sums = torch.baddbmm(bias, rows.expand(len(w), *rows.shape), w.transpose(1, 2))
    states: Tensor = _PackedLSTM.apply(sums, u, chosen, packing)  # type: ignore[no-untyped-call]
    return states


class _PackedLSTM(torch.autograd.Function):
    """States from the rows' sums and the weights U, those of g doubled in both."""

    @staticmethod
    def forward(ctx: Any, sums: Tensor, u: Tensor, chosen: Tensor, packing: Packing) -> Tensor:
        """(directions, tokens, hidden) states, each direction packed in its own reading order.

        Args:
            ctx: of the call.
            sums: (directions, rows, 4 x hidden) W x + b.
            u: (directions, 4 x hidden, hidden).
            chosen: (tokens,) which row each token reads, packed.
            packing: of the tokens.
        """
        directions, _, width = sums.shape
        hidden = width // 4
        # Each direction's in its own reading order.
        read = (chosen, chosen.index_select(0, packing.mirrored))[:directions]
        # (directions, tokens, 4 x hidden), turned into gates in place
        gates = sums.new_empty(directions, len(chosen), width)
        for own, of_direction, rows in zip(gates, sums, read, strict=True):
            torch.index_select(of_direction, 0, rows, out=own)
        memory = gates.new_empty(*gates.shape[:2], hidden)  # c
        squashed = torch.empty_like(memory)  # tanh(c)
        states = torch.empty_like(memory)  # h
        transposed = u.transpose(1, 2)
        before: tuple[Tensor, Tensor] | None = None  # h and c of the step before
        # Views of each step, all made at once: one by one they would cost as much as the sums.
        parts = (gates, *torch.split(gates, hidden, dim=2), memory, squashed, states)
        for step in zip(
            *(part.split_with_sizes(packing.counts, dim=1) for part in parts), strict=True
        ):
            all_gates, entry, forget, new, out, c, tanh_c, h = step
            running = h.shape[1]  # number of sequences that have not ended
            if before:
                all_gates.baddbmm_(before[0][:, :running], transposed)
            all_gates.sigmoid_()
            new.mul_(2).sub_(1)
            torch.mul(entry, new, out=c)
            if before:
                c.addcmul_(forget, before[1][:, :running])
            torch.tanh(c, out=tanh_c)
            torch.mul(tanh_c, out, out=h)
            before = h, c
        ctx.save_for_backward(gates, memory, squashed, states, u)
        ctx.packing, ctx.read, ctx.rows = packing, read, sums.shape[1]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the sums and of U, in their shapes; `grad` has that of the states."""
        gates, memory, squashed, states, u = ctx.saved_tensors
        packing: Packing = ctx.packing
        directions, tokens, hidden = states.shape
        first = packing.counts[0]
        # What each gate's gradient is multiplied by, for all steps at once, (..., 4 x hidden):
        # s - s^2 is the derivative of the sigmoid.
        slope = torch.addcmul(gates, gates, gates, value=-1)
        entry, forget, new, out = torch.split(gates, hidden, dim=2)
        of_entry, of_forget, of_new, of_out = torch.split(slope, hidden, dim=2)
        of_entry.mul_(new)
        of_forget[:, :first] = 0  # c[-1]
        of_forget[:, first:].mul_(memory.index_select(1, packing.before))
        # (1 - g^2) i, halved as this gate's sum is doubled
        torch.mul(new, new, out=of_new).mul_(-0.5).add_(0.5).mul_(entry)
        of_out.mul_(squashed)
        # (1 - tanh(c)^2) o
        of_memory = torch.mul(squashed, squashed).neg_().add_(1).mul_(out)

        # Sequences that have not ended at a step are its first rows; of the others both stay 0.
        d_state = grad.new_zeros(directions, first, hidden)
        d_memory = torch.zeros_like(d_state)
        by_gate = slope.view(directions, tokens, 4, hidden)
        parts = (grad, of_memory, forget, slope, by_gate[:, :, :3], of_out)
        steps = list(
            zip(*(part.split_with_sizes(packing.counts, dim=1) for part in parts), strict=True)
        )
        for t in range(len(steps) - 1, -1, -1):
            d_above, by_memory, forgotten, d_gates, of_three, of_last = steps[t]
            running = d_above.shape[1]
            dh, dc = d_state[:, :running], d_memory[:, :running]
            dh.add_(d_above)
            dc.addcmul_(dh, by_memory)
            of_three.mul_(dc.unsqueeze(2))
            of_last.mul_(dh)
            # `slope` holds da of this step now.
            if t:
                dc.mul_(forgotten)
                # (directions, running, 4 x hidden) x (directions, 4 x hidden, hidden)
                torch.baddbmm(dh, d_gates, u, beta=0, out=dh)
        # (directions, rows, 4 x hidden): what a row's tokens add up to
        d_sums = slope.new_zeros(directions, ctx.rows, 4 * hidden)
        for own, of_tokens, rows in zip(d_sums, slope, ctx.read, strict=True):
            own.index_add_(0, rows, of_tokens)
        # (directions, hidden, tokens) x (directions, tokens, 4 x hidden): faster than the transpose
        earlier = states.index_select(1, packing.before)
        d_u = torch.bmm(earlier.transpose(1, 2), slope[:, first:]).transpose(1, 2)
        return d_sums, d_u, None, None


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


LSTM = Cell(build=build, train_packed=packed_states)


class PeepholeLSTMNetwork(LoopNetwork):
    """A layer of LSTM units with peepholes: gates see the memory (Gers and Schmidhuber 2000).

        i = sigmoid(W_i x[t] + U_i h[t-1] + p_i * c[t-1] + b_i)
        f = sigmoid(W_f x[t] + U_f h[t-1] + p_f * c[t-1] + b_f)
        g = tanh(W_g x[t] + U_g h[t-1] + b_g)
        c[t] = f * c[t-1] + i * g
        o = sigmoid(W_o x[t] + U_o h[t-1] + p_o * c[t] + b_o)
        h[t] = o * tanh(c[t]),  h[-1] = c[-1] = 0

    Each unit's gates see the memory of this unit alone. They learn when to open from how much has
    been gathered, as in counting and timing, also while o is closed and h tells nothing of c.
    """

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """Peepholes begin at 0, that is, as an LSTM without them; forget gates begin open."""
        super().__init__(inputs=inputs, hidden=hidden, gates=4, memories=[hidden, hidden])
        self.weight_hh = fresh_recurrent_weights(4, hidden, options)
        self.peepholes = nn.Parameter(torch.zeros(3, hidden))  # p_i, p_f, p_o
        with torch.no_grad():
            self.bias[hidden : 2 * hidden] = 1
        entry, forget, _, _ = self.bias.chunk(4)
        fill_chrono(options.chrono, keep=forget, take=entry)

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U."""
        return (self.weight_hh,)

    def constants(self) -> tuple[Tensor, ...]:
        """p_i and p_f side by side, and p_o."""
        return self.peepholes[:2].flatten(), self.peepholes[2]

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before, memory), (product,), (into_both, into_out) = state, products, constants
        hidden = memory.shape[-1]
        sums = projected + product(before)  # (..., 4 x hidden)
        # Input and forget gate as one, (..., 2, hidden): both see the memory of the step before.
        both = sums[..., : 2 * hidden].reshape(*sums.shape[:-1], 2, hidden)
        peepholes = into_both.reshape(*into_both.shape[:-1], 2, hidden)
        both = functions.sigmoid(both + peepholes * memory[..., None, :])
        entry, forget = both[..., 0, :], both[..., 1, :]
        new = functions.tanh(sums[..., 2 * hidden : 3 * hidden])
        memory = forget * memory + entry * new
        out = functions.sigmoid(sums[..., 3 * hidden :] + into_out * memory)
        after = out * functions.tanh(memory)
        return after, (after, memory)


PEEPHOLE_LSTM = Cell(build=PeepholeLSTMNetwork)
