"""The regulariser of Pascanu, Mikolov and Bengio 2013: gradients keep their norm through time.

    Omega = sum over t of ( |g[t] J[t]| / |g[t]| - 1 )^2,   J[t] = ds[t]/ds[t-1]

with s[t] all that a network carries from step t on (h of an Elman network, h and c of an LSTM) and
g[t] the gradient of the loss by s[t], through all later steps (their eq. 9; Goodfellow, Bengio and
Courville, eq. 10.52). It asks of J to keep the norm of the one vector that is propagated, not of
all: what a network has to forget it may forget. J is exact, as the product g J is a vector-Jacobian
product, and never a matrix.

As in the paper (eq. 10) states and gradients are constants when Omega itself is differentiated: its
gradient is the immediate one, by the weights in J[t]. With every state known, the steps are
independent, and all of them are one batch.

The gradients g are known in the backward pass alone. So a layer's states pass through a function
that changes nothing in the forward pass, and whose backward pass computes the gradient of Omega
from the one that arrives. The second output of that function, a penalty of 0, is added to the loss:
what the loss is multiplied by later, such as 1 / targets, then multiplies the gradient of Omega
too, and the loss that is reported is the one of the targets.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tagkit.nn.recurrence.cell import Network, State, Steps

# Penalties of the networks that were watched since; of the calling thread alone.
_penalties: ContextVar[list[Tensor] | None] = ContextVar("penalties", default=None)


@contextmanager
def watched_flow() -> Iterator[list[Tensor]]:
    """Within this context layers put a penalty for each of their networks into the list."""
    penalties: list[Tensor] = []
    token = _penalties.set(penalties)
    try:
        yield penalties
    finally:
        _penalties.reset(token)


def is_watched() -> bool:
    """Whether the flow of information is regularised now."""
    return _penalties.get() is not None and torch.is_grad_enabled()


def watch(
    network: Network, inputs: Tensor, states: Tensor, segment: int, before: State | None = None
) -> Tensor:
    """The same states, whose gradient is to keep its norm on its way back through the network.

    Args:
        network: that has read the inputs.
        inputs: (batch, time, inputs), in the network's reading order.
        states: (batch, time, hidden), what it returned.
        segment: steps that a gradient goes back at most; 0 for all.
        before: the state that it began with; None for zeros.
    """
    penalties = _penalties.get()
    assert penalties is not None
    if network.steps() is None:
        raise ValueError(f"{type(network).__name__} has no steps that can be differentiated")
    parameters = [one for one in network.parameters() if one.requires_grad]
    # Parameters are arguments, since gradients are returned for arguments alone.
    found: tuple[Tensor, Tensor] = _WatchedStates.apply(  # type: ignore[no-untyped-call]
        network, segment, before, inputs.detach(), states, *parameters
    )
    penalties.append(found[1])
    return found[0]


class _WatchedStates(torch.autograd.Function):
    """Forward: the states as they are, and a penalty of 0. Backward: the gradient of Omega too."""

    @staticmethod
    def forward(
        ctx: Any,
        network: Network,
        segment: int,
        before: State | None,
        inputs: Tensor,
        states: Tensor,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The states, (batch, time, hidden), and a 0; arguments as in `watch`, then parameters."""
        # A state that was carried is a constant, and so no tensor that has to be saved.
        ctx.network, ctx.segment, ctx.before = network, segment, before
        ctx.save_for_backward(inputs, *weights)
        return states.view_as(states), torch.zeros((), device=states.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor, of_penalty: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the states, unchanged, and that of each parameter, in its shape.

        Args:
            ctx: of `forward`.
            of_states: (batch, time, hidden).
            of_penalty: () the factor of Omega in the loss.
        """
        inputs, *weights = ctx.saved_tensors
        sums: list[Tensor | None] = [None] * len(weights)
        with torch.enable_grad():
            # One segment after the other: memory holds the steps of one.
            for penalty in flow_penalties(ctx.network, inputs, of_states, ctx.segment, ctx.before):
                # Kept: segments share what is computed of the weights once, such as masked ones.
                # What is a segment's own goes with its penalty.
                parts = torch.autograd.grad(penalty, weights, allow_unused=True, retain_graph=True)
                del penalty
                # A weight that J does not depend on, such as the bias of a linear output, has none.
                for number, part in enumerate(parts):
                    if part is not None:
                        before = sums[number]
                        sums[number] = part if before is None else before + part
        scaled = [None if one is None else one * of_penalty for one in sums]
        return None, None, None, None, of_states, *scaled


def flow_penalties(
    network: Network,
    inputs: Tensor,
    gradients: Tensor,
    segment: int,
    before: State | None = None,
) -> Iterator[Tensor]:
    """Omega of each segment, summed over its steps and all sequences.

    Args:
        network: of one direction.
        inputs: (batch, time, inputs), in its reading order.
        gradients: (batch, time, hidden) of the loss by each state as the layer passes it on, which
            leaves out what goes through later steps.
        segment: steps that a gradient goes back at most; 0 for all.
        before: the state that the network began with; None for zeros.

    Yields:
        A number, to be differentiated by the network's parameters.
    """
    steps = network.steps()
    assert steps is not None  # as `watch` has made sure
    like = next(network.parameters())  # all is computed in its type, also in mixed precision
    batch, time, _ = inputs.shape
    if before is None:
        before = tuple(like.new_zeros(1, batch, values) for values in steps.memories)
    state = (before,) if isinstance(before, Tensor) else before
    # (batch, time, values) -> (up to `segment`, batch, values)
    parts = torch.split(inputs.to(like.dtype).transpose(0, 1), segment or time)
    of_parts = torch.split(gradients.to(like.dtype).transpose(0, 1), segment or time)
    for part, of_outputs in zip(parts, of_parts, strict=True):
        # The segment is read again, with all that is carried, and back-propagated through.
        reading = _Reading()
        state = tuple(memory.detach().requires_grad_() for memory in state)
        for given in steps.project(part).detach().unsqueeze(1):
            # A copy for each step: what is carried on unchanged, as by `skip`, has a gradient of
            # its own in each state that it is a part of.
            state = tuple(memory.view_as(memory) for memory in state)
            reading.before.append(state)
            output, state = steps.advance(given, state)
            reading.outputs.append(output)
            reading.after.append(state)
        if len(part) > 1:  # before the first step lies a border, or the beginning
            yield _omega(steps, part[1:], reading, of_outputs.unsqueeze(1))


@dataclass(frozen=True, slots=True)
class _Reading:
    """The steps of a segment, each (1, batch, values): what they read, pass on and carry."""

    before: list[tuple[Tensor, ...]] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    after: list[tuple[Tensor, ...]] = field(default_factory=list)


def _omega(steps: Steps, inputs: Tensor, reading: _Reading, of_outputs: Tensor) -> Tensor:
    """Omega of a segment.

    Args:
        steps: of the network.
        inputs: (time - 1, batch, inputs) of its second to last step.
        reading: of all its steps.
        of_outputs: (time, 1, batch, hidden) gradients of the loss by what its steps pass on.
    """
    of_states = _state_gradients(reading, of_outputs)  # g[t]
    # A gradient that has nearly vanished is scaled up, as its square would be 0. Omega does not
    # depend on its size. Where it is 0, as on padding, there is nothing to keep.
    largest = torch.cat(of_states, -1).abs().amax(-1, keepdim=True)
    known = largest > 0
    of_states = [each / torch.where(known, largest, 1) for each in of_states]
    # s[t-1], each (time - 1, 1, batch, values): with these known, all steps are one batch.
    before = tuple(
        torch.stack(memories).detach().requires_grad_()
        for memories in zip(*reading.before[1:], strict=True)
    )
    _, after = steps.advance(steps.project(inputs).unsqueeze(1), before)
    # g J: a graph of it is kept, as it is differentiated by the weights next.
    passed = torch.autograd.grad(after, before, of_states, create_graph=True, allow_unused=True)
    norm = torch.cat([each for each in passed if each is not None], -1).norm(dim=-1)
    expected = torch.where(known.squeeze(-1), torch.cat(of_states, -1).norm(dim=-1), 1)
    deviations = (norm / expected - 1).square()  # (time - 1, 1, batch)
    return torch.where(known.squeeze(-1), deviations, 0).sum()


def _state_gradients(reading: _Reading, of_outputs: Tensor) -> list[Tensor]:
    """g[t] of the second to last step, (time - 1, 1, batch, values) for each memory."""
    # What arrives at s[t] without a later step: a cell's output is its first memory as a rule.
    found: list[tuple[Tensor, ...]] = []
    for output, state, gradient in zip(
        reading.outputs[1:], reading.after[1:], of_outputs[1:], strict=True
    ):
        if output is state[0]:
            found.append((gradient, *(torch.zeros_like(memory) for memory in state[1:])))
        else:
            found.append(_gradients([output], state, [gradient]))
    # And through all later ones: by what step t + 1 read.
    read = [memory for state in reading.before[2:] for memory in state]
    if read:
        later = iter(_gradients(reading.outputs, read, list(of_outputs)))
        found[:-1] = [tuple(one + next(later) for one in state) for state in found[:-1]]
    return [torch.stack(memories) for memories in zip(*found, strict=True)]


def _gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], gradients: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Gradients by the inputs, 0 where the outputs do not depend on one."""
    found = torch.autograd.grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True)
    return tuple(
        torch.zeros_like(one) if gradient is None else gradient
        for one, gradient in zip(inputs, found, strict=True)
    )
