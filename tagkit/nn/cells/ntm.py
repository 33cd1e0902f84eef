"""The neural Turing machine: an LSTM with a memory that it reads and writes by attention.

    h[t], c[t] = LSTM([x[t]; r[t-1]], h[t-1], c[t-1])                the controller

Each read and each write head emits, by a linear map of h[t], a key k, a strength b = softplus(.), a
gate g = sigmoid(.), a distribution s = softmax(.) over the shifts -1, 0 and 1, and a sharpness
y = 1 + softplus(.); a write head also emits e = sigmoid(.) to erase, and a to add. A head's weights
over the slots M(i) of the memory are, with u its weights of the step before:

    w_c(i) = softmax over i of b cos(k, M[t-1](i))                   by content
    w_g    = g w_c + (1 - g) u                                       or where the head was
    w_s(i) = sum over j of w_g(j) s(i - j)                           or beside it, on a circle
    w(i)   = w_s(i)^y / sum over j of w_s(j)^y                       sharpened

    M[t](i) = M[t-1](i) * product of (1 - w(i) e) + sum of w(i) a    over the write heads
    r[t]    = sum over i of w(i) M[t](i), of each read head
    o[t]    = V [h[t]; r[t]] + v                                     what the layer passes on

Graves, Wayne and Danihelka 2014, equations 2 to 9 (Goodfellow, Bengio and Courville, section 10.12,
on addresses by content and by location). At the beginning all slots hold the same vector, a small
constant that is trained on (Collier and Beel 2018 found it best), and all heads are at slot 0.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions, Network, State
from tagkit.nn.recurrence.time_loop import fresh_input_weights, fresh_recurrent_weights

_SHIFTS = 3  # -1, 0 and 1
_FIRST = 1e-6  # of each value of the memory
# Beside squared norms: the gradient of a direction has no bound where a vector is nearly 0.
_NORM = 1e-6
# Beside weights before their logarithm, which those of slots never visited do not have.
_WEIGHT = 1e-16


class NTMNetwork(Network):
    """A layer with a controller of `hidden` units."""

    state_weights = ("weight_hh", "weight_reads", "weight_heads")

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`options.heads` read and as many write heads; `options.memory` slots and their width."""
        super().__init__()
        self.heads, (self.slots, self.width) = options.heads, options.memory
        values = self.heads * self.width  # read, or written, in a step
        # The order of the gates is input, forget, output, new content: one sigmoid serves three.
        self.weight_ih = fresh_input_weights(4, hidden, inputs)
        self.weight_reads = fresh_input_weights(4, hidden, values)
        self.bias = nn.Parameter(torch.zeros(4 * hidden))
        nn.init.ones_(self.bias[hidden : 2 * hidden])  # forget gates begin open
        # Of all heads, the read heads before the write heads: what goes through one function is
        # side by side. Keys, and what is added; strengths and sharpnesses; gates, and what is
        # erased; shifts.
        both = 2 * self.heads
        self.parts = (both * self.width, values, 2 * both, both + values, _SHIFTS * both)
        self.weight_heads = fresh_input_weights(1, sum(self.parts), hidden)
        self.bias_heads = nn.Parameter(torch.zeros(sum(self.parts)))
        self.weight_out = fresh_input_weights(1, hidden, hidden + values)
        self.bias_out = nn.Parameter(torch.zeros(hidden))
        self.first = nn.Parameter(torch.full((self.width,), _FIRST))
        # The last to be drawn: its options change no other weights.
        self.weight_hh = fresh_recurrent_weights(4, hidden, options)

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As described in `Network`.

        The state is h and c, what was read, the weights of all heads, and the memory, the last two
        without what they are at the beginning, which is zeros then as that of all cells is.
        """
        batch, hidden = len(inputs), self.weight_hh.shape[1]
        # Mixed precision computes products with fewer bits, the steps with all.
        own = self.weight_ih.dtype
        # (batch, time, inputs) -> time of (batch, 4 x hidden)
        given = nn.functional.linear(inputs.transpose(0, 1), self.weight_ih, self.bias).to(own)
        sizes = (
            hidden, hidden, self.heads * self.width, 2 * self.heads * self.slots,
            self.slots * self.width,
        )  # fmt: skip
        if state is None:
            state = tuple(self.weight_ih.new_zeros(1, batch, values) for values in sizes)
        h, c, reads, weights, memory = (each[0].to(own) for each in state)
        # (batch, 2 x heads, slots); another state than that of a step may have negative values
        weights = (weights.view(batch, -1, self.slots) + self._at_start()).clamp(min=0)
        memory = memory.view(batch, self.slots, self.width) + self.first
        recurrent = torch.cat((self.weight_hh, self.weight_reads), 1).t()
        known, steps = torch.cat((h, reads), 1), []
        with torch.autocast(inputs.device.type, enabled=False):
            for projected in given.unbind(0):
                # (batch, hidden + heads x width) -> (batch, 4 x hidden)
                sums = torch.addmm(projected, known, recurrent)
                gates, new = sums.split_with_sizes((3 * hidden, hidden), 1)
                entry, forget, out = torch.sigmoid(gates).chunk(3, 1)
                c = forget * c + entry * torch.tanh(new)
                h = out * torch.tanh(c)
                weights, memory = self._address(h, weights, memory)
                # (batch, heads, slots) @ (batch, slots, width)
                reads = torch.bmm(weights[:, : self.heads], memory).flatten(1)
                known = torch.cat((h, reads), 1)
                steps.append(known)
        # (time, batch, hidden + heads x width) -> (batch, time, hidden)
        read_out = nn.functional.linear(torch.stack(steps), self.weight_out, self.bias_out)
        after = (
            h,
            c,
            reads,
            (weights - self._at_start()).flatten(1),
            (memory - self.first).flatten(1),
        )
        return read_out.transpose(0, 1), tuple(each.unsqueeze(0) for each in after)

    def _at_start(self) -> Tensor:
        """(slots,) the weights of every head before the first step."""
        found = self.first.new_zeros(self.slots)
        found[0] = 1
        return found

    def _address(self, h: Tensor, weights: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Weights of all heads, and the memory that the write heads leave.

        Args:
            h: (batch, hidden) of the controller.
            weights: (batch, 2 x heads, slots) of the step before; so are those returned.
            memory: (batch, slots, width) of the step before; so is that returned.
        """
        batch, heads = len(h), self.heads
        emitted = torch.addmm(self.bias_heads, h, self.weight_heads.t())
        keys, added, scales, gates, shifts = emitted.split_with_sizes(self.parts, 1)
        keys = keys.view(batch, 2 * heads, self.width)
        # (batch, 2 x heads, 1) each
        strengths, sharpness = nn.functional.softplus(scales).unsqueeze(2).chunk(2, 1)
        gates = torch.sigmoid(gates)
        gates, erased = gates.split_with_sizes((2 * heads, heads * self.width), 1)
        # b k / |k| . M(i) / |M(i)|, (batch, 2 x heads, slots)
        keys = keys * (strengths * (keys.square().sum(2, keepdim=True) + _NORM).rsqrt())
        scores = torch.bmm(keys, memory.transpose(1, 2))
        by_content = torch.softmax(
            scores * (memory.square().sum(2) + _NORM).rsqrt().unsqueeze(1), 2
        )
        weights = torch.lerp(weights, by_content, gates.unsqueeze(2))
        # (batch, 2 x heads, 3, 1) -> three of (batch, 2 x heads, 1)
        back, stay, on = torch.softmax(shifts.view(batch, -1, _SHIFTS, 1), 2).unbind(2)
        shifted = torch.addcmul(stay * weights, on, weights.roll(1, 2))
        shifted = torch.addcmul(shifted, back, weights.roll(-1, 2))
        # w^y over its sum is the softmax of y log w, which does not underflow.
        weights = torch.softmax((shifted + _WEIGHT).log() * (1 + sharpness), 2)
        written = weights[:, heads:].transpose(1, 2)  # (batch, slots, heads)
        for head, vector in enumerate(erased.view(batch, heads, 1, self.width).unbind(1)):
            # (batch, slots, 1) * (batch, 1, width)
            share = written[:, :, head : head + 1] * vector
            memory = torch.addcmul(memory, memory, share, value=-1)
        return weights, torch.baddbmm(memory, written, added.view(batch, heads, self.width))


NTM = Cell(build=NTMNetwork)
