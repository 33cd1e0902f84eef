"""The LSTM of one or two directions over packed sequences, with its own gradient, for training.

torch trains an LSTM on a CPU with kernels of oneDNN, which are made anew for every new shape of a
batch: with the characters of a batch's words, of which no two batches have equally many, that took
as long as the arithmetic. This reads both directions at once, computes nothing on padding, and is
made of products of matrices alone (back-propagation through time: Werbos 1990; Goodfellow, Bengio
and Courville, section 10.2.2).

With a = W x[t] + U h[t-1] + b, in torch's order of the gates,

    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o),   g = tanh(a_g) = 2 sigmoid(2 a_g) - 1
    c[t] = f c[t-1] + i g,   h[t] = o tanh(c[t])

and dh, dc the gradients of the loss by h[t] and c[t], dc including what arrives from c[t+1]:

    da_i = dc g i (1 - i)           da_g = dc i (1 - g^2)
    da_f = dc c[t-1] f (1 - f)      da_o = dh tanh(c[t]) o (1 - o)
    dc  += dh o (1 - tanh(c[t])^2), then dc f goes on to c[t-1] and U^T da to h[t-1]
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tagkit.nn.recurrence.cell import Network
from tagkit.nn.recurrence.packing import Packing


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
