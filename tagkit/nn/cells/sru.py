"""The simple recurrent unit: no matrix is multiplied by a state.

    f[t] = sigmoid(W_f x[t] + v_f * c[t-1] + b_f)         forget gate
    c[t] = f[t] * c[t-1] + (1 - f[t]) * (W x[t])          the memory: a mean that the gate weighs
    r[t] = sigmoid(W_r x[t] + v_r * c[t-1] + b_r)         reset gate, of the highway connection
    h[t] = r[t] * c[t] + (1 - r[t]) * s[t],  c[-1] = 0    s[t] = a x[t], or W_s x[t]

Lei et al. 2018, "Simple Recurrent Units for Highly Parallelizable Recurrence", equations 1 to 4.
The products with all inputs are one large product; a step is a few sums and products value by
value. Of these only f and c depend on the step before: r and h follow for all steps at once. s is
the input itself where it has as many values as the state, with the a = sqrt(3) that keeps the
variance of its equation 4 at that of the input while b_r is 0, and a product of its own otherwise.

The gradient by hand, with df, dr, du and ds those by the sums in the sigmoids, by W x[t] and by
s[t], dh that by h[t], and dc that by c[t], which includes what arrives from step t+1:

    dr = dh (c[t] - s[t]) r (1 - r)             ds = dh (1 - r)
    df = dc (c[t-1] - W x[t]) f (1 - f)         du = dc (1 - f)
    dc = dh r + v_r dr[t+1] + dc[t+1] (f[t+1] + v_f (c[t] - W x[t+1]) f[t+1] (1 - f[t+1]))

The factor of dc[t+1] is known for all steps beforehand, so that back-propagation through time is
one sum of a product a step.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tagkit.nn.recurrence.cell import Cell, CellOptions, State
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import HALF, Floats, Recurrence, StepInputs, Weights
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values

_SCALE = 3**0.5  # sqrt(1 + 2 exp(b_r)), with b_r = 0


class SRUNetwork(LoopNetwork):
    """A layer of simple recurrent units; the order of the products is f, r, W x, and W_s x."""

    bounded = False
    state_weights = ()

    def __init__(self, inputs: int, hidden: int) -> None:
        """`hidden` units."""
        own = inputs != hidden  # a matrix W_s
        super().__init__(inputs=inputs, hidden=hidden, gates=4 if own else 3, memories=[hidden])
        self.bias = nn.Parameter(torch.zeros(2 * hidden))  # of the two gates
        self.peepholes = nn.Parameter(torch.zeros(2, hidden))  # v_f and v_r
        if own:
            with torch.no_grad():
                self.weight_ih[3 * hidden :] *= _SCALE

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """No matrices."""
        return ()

    def constants(self) -> tuple[Tensor, ...]:
        """v_f and v_r, one after the other."""
        return (self.peepholes.flatten(),)

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As described in `Network`."""
        if state is None:
            state = (self.weight_ih.new_zeros(1, len(inputs), self.hidden),)
        assert isinstance(state, tuple)
        # (batch, time, inputs) -> (time, batch, 3 x hidden) and (time, batch, hidden)
        given = inputs.transpose(0, 1)
        of_gates, of_skip = self.weight_ih.split_with_sizes(
            (3 * self.hidden, len(self.weight_ih) - 3 * self.hidden)
        )
        sums = nn.functional.linear(given, of_gates, self._biases(3))
        skipped = nn.functional.linear(given, of_skip) if len(of_skip) else _SCALE * given
        # Mixed precision computes products with fewer bits, the steps with all.
        own = self.weight_ih.dtype
        states, after = _Steps.apply(  # type: ignore[no-untyped-call]
            sums.to(own), skipped.to(own), self.peepholes, state[0][0]
        )
        return states.transpose(0, 1), (after.unsqueeze(0),)

    def steps(self) -> None:
        """None: no state goes back into what the layer passes on, and no matrix is recurrent."""

    def _biases(self, products: int) -> Tensor:
        """(products x hidden,): the others than the gates have none."""
        return nn.functional.pad(self.bias, (0, (products - 2) * self.hidden))

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before,), (peepholes,) = state, constants
        hidden = before.shape[-1]
        forget = functions.sigmoid(projected[..., :hidden] + peepholes[..., :hidden] * before)
        reset = functions.sigmoid(
            projected[..., hidden : 2 * hidden] + peepholes[..., hidden:] * before
        )
        new, skipped = projected[..., 2 * hidden : 3 * hidden], projected[..., 3 * hidden :]
        after = new + forget * (before - new)
        return skipped + reset * (after - skipped), (after,)

    def recurrence(self) -> Recurrence:
        """As described in `Network`."""
        of_input: Tensor = self.weight_ih
        if len(of_input) == 3 * self.hidden:
            identity = torch.eye(self.hidden, dtype=of_input.dtype, device=of_input.device)
            of_input = torch.cat((of_input, _SCALE * identity))
        weights = Weights(of_input, self._biases(4), (), self.constants())
        return Recurrence(self.hidden, self.bounded, weights, self._read, self._read_packed)

    def _read(
        self, inputs: StepInputs, products: Sequence[Product], constants: Sequence[Tensor]
    ) -> Tensor:
        """`advance` at each step in four calls: a call costs as much as its arithmetic."""
        directions, batch, _ = inputs.shape
        states = torch.empty(inputs.time, directions, batch, self.hidden)
        memory = torch.zeros(directions, batch, 1, self.hidden)
        # (directions, 1, 2 x hidden) -> (directions, 1, 2, hidden), and projections likewise
        peepholes = constants[0].view(directions, 1, 2, self.hidden)
        for t in range(inputs.time):
            projected = inputs.at(t).view(directions, batch, 4, self.hidden)
            gates, (new, skipped) = projected[:, :, :2], projected[:, :, 2:].unbind(2)
            gates.addcmul_(peepholes, memory).sigmoid_()
            forget, reset = gates.unbind(2)
            before = memory.squeeze(2)
            torch.lerp(new, before, forget, out=before)
            torch.lerp(skipped, before, reset, out=states[t])
        return states

    def _read_packed(
        self,
        inputs: Floats,
        sizes: Sequence[int],
        recurrent: Sequence[Floats],
        constants: Sequence[Floats],
        states: Floats,
    ) -> None:
        """The same in NumPy, in which whatever needs no step before is one call for all steps."""
        tokens, directions, _ = inputs.shape
        by_product = inputs.reshape(tokens, directions, 4, self.hidden)
        peepholes = constants[0].reshape(directions, 2, self.hidden)
        # sigmoid(a) = (1 + tanh(a / 2)) / 2
        gates = by_product[:, :, :2]
        np.multiply(gates, HALF, out=gates)
        peepholes = peepholes * HALF
        new, skipped = by_product[:, :, 2], by_product[:, :, 3]
        memory = np.zeros((sizes[0], directions, 1, self.hidden), states.dtype)
        start = 0
        for size in sizes:
            step = slice(start, start + size)
            memory = memory[:size]  # the shortest sequences have ended; they are the last rows
            both = gates[step]
            both += peepholes * memory
            np.tanh(both, out=both)
            both *= HALF
            both += HALF
            # c = W x + f (c[t-1] - W x)
            before = memory[:, :, 0]
            before -= new[step]
            before *= both[:, :, 0]
            before += new[step]
            states[step] = before
            start = step.stop
        # h = s + r (c - s), of all steps
        states -= skipped
        states *= gates[:, :, 1]
        states += skipped


class _Steps(torch.autograd.Function):
    """All steps, with the gradient of the module's docstring."""

    @staticmethod
    def forward(
        ctx: Any, sums: Tensor, skipped: Tensor, peepholes: Tensor, before: Tensor
    ) -> tuple[Tensor, Tensor]:
        """(time, batch, hidden) states h, and (batch, hidden) the memory c after the last step.

        Args:
            ctx: of the call.
            sums: (time, batch, 3 x hidden) products of the inputs: of f, of r, and W x.
            skipped: (time, batch, hidden) what the input adds beside the cell, s.
            peepholes: (2, hidden) of f and of r.
            before: (batch, hidden) the memory before the first step.
        """
        time, batch, hidden = skipped.shape
        forget_sums, reset_sums, new = torch.split(sums, hidden, dim=2)
        of_forget, of_reset = peepholes
        forget = torch.empty_like(skipped)
        memory = skipped.new_empty(time + 1, batch, hidden)  # c from c[-1] on
        memory[0] = before
        # Views of each step, all made at once: one by one they would cost as much as the sums.
        steps = zip(forget_sums.unbind(), new.unbind(), forget.unbind(), strict=True)
        c, *others = memory.unbind()
        for (given, content, gate), after in zip(steps, others, strict=True):
            torch.addcmul(given, of_forget, c, out=gate).sigmoid_()
            torch.lerp(content, c, gate, out=after)
            c = after
        reset = torch.addcmul(reset_sums, of_reset, memory[:-1]).sigmoid_()
        ctx.save_for_backward(new, skipped, peepholes, memory, forget, reset)
        return torch.lerp(skipped, memory[1:], reset), memory[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, grad_after: Tensor) -> tuple[Tensor, ...]:
        """Gradients of all arguments, in their shapes.

        Args:
            ctx: of `forward`.
            grad: (time, batch, hidden) of the states.
            grad_after: (batch, hidden) of the memory after the last step.
        """
        new, skipped, peepholes, memory, forget, reset = ctx.saved_tensors
        hidden = skipped.shape[2]
        of_forget, of_reset = peepholes
        d_sums = grad.new_empty(*grad.shape[:2], 3 * hidden)
        d_forget, d_reset, d_new = torch.split(d_sums, hidden, dim=2)
        # r (1 - r), and (1 - r) dh
        torch.addcmul(reset, reset, reset, value=-1, out=d_reset)
        d_reset.mul_(grad).mul_(memory[1:] - skipped)
        of_memory = grad * reset  # dh r
        d_skipped = grad - of_memory
        # dc of c[-1] on, without what arrives from the next step's memory
        d_memory = of_reset * d_reset
        d_memory = torch.cat((d_memory, grad_after.unsqueeze(0)))
        d_memory[1:] += of_memory
        # What df is beside dc, and then the factor of dc[t+1]
        torch.addcmul(forget, forget, forget, value=-1, out=d_forget)
        d_forget.mul_(memory[:-1] - new)
        through = torch.addcmul(forget, of_forget, d_forget)
        dc, *others = d_memory.unbind()[::-1]
        for factor, earlier in zip(through.unbind()[::-1], others, strict=True):
            earlier.addcmul_(dc, factor)
            dc = earlier
        d_forget.mul_(d_memory[1:])
        torch.addcmul(d_memory[1:], d_memory[1:], forget, value=-1, out=d_new)
        # (time, batch, hidden) -> (hidden,) each
        d_peepholes = torch.stack(
            [(sums * memory[:-1]).sum((0, 1)) for sums in (d_forget, d_reset)]
        )
        return d_sums, d_skipped, d_peepholes, d_memory[0]


def build(inputs: int, hidden: int, options: CellOptions) -> SRUNetwork:
    """A network, as `Cell.build` describes it; it has no options."""
    return SRUNetwork(inputs, hidden)


SRU = Cell(build=build)
