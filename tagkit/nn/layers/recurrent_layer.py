"""A recurrent layer over padded sequences: any cell, one or two directions.

    h[t] = g(h[t-1], x[t]),  h[-1] = 0

with g one of `cells/` (Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.1-13.3 for the simple
recurrence, 13.16-13.18 for two directions; Goodfellow, Bengio and Courville, sections 10.2, 10.3
and 10.10). The networks are torch's fused ones, or loops over time (`recurrence/time_loop.py`).

Two directions are two one-way networks, the second over each sequence reversed within its own
length. That is exact under padding without packed sequences, with which torch does not use its fast
kernels on a CPU: training with them took 1.3 to 2 times as long.

Long sequences are read in segments: a segment begins with the state that the one before it ended
with, so that the states are those of reading in one go, but no gradient crosses the border
(truncated back-propagation through time: Williams and Peng 1990; Jurafsky and Martin, "RNNs and
LSTMs", section on training simple RNNs; Goodfellow, Bengio and Courville, section 10.2, on the cost
of doing without). What the backward pass of a segment needs is computed again when its turn comes,
so that memory holds the gates of one segment, not of all.

`inference.py` computes the same states faster in prediction.
"""

import weakref
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tagkit.nn.cells import CELLS
from tagkit.nn.layers.information_flow import is_watched, watch
from tagkit.nn.layers.layer import EncoderLayer
from tagkit.nn.padding import reverse_each, zero_padding
from tagkit.nn.recurrence.cell import CellOptions, Network, State, Steps
from tagkit.nn.recurrence.recurrence import Recurrence
from tagkit.nn.threads import read_both

_Network = TypeVar("_Network", bound=Network)
_FIXED_START = ("clockwork", "echo-state", "ntm")  # as `CellOptions.initial_state` says
_INITIAL_SPREAD = 0.1  # standard deviation of the values of a learned initial state
MERGES = ("concat", "sum", "mean", "product")


def merge_directions(forwards: Tensor, backwards: Tensor, merge: str) -> Tensor:
    """Two directions as one: side by side, or their sum, mean or product, value by value.

    Jurafsky and Martin, eq. 13.18 for concatenation; the others are named beside it.

    Args:
        forwards: (..., hidden).
        backwards: the same shape.
        merge: one of `MERGES`.

    Returns:
        (..., 2 x hidden) for "concat", else (..., hidden).
    """
    match merge:
        case "concat":
            # two of (..., hidden) -> (..., 2 x hidden), the forward direction first
            return torch.cat((forwards, backwards), dim=-1)
        case "sum":
            return forwards + backwards
        case "mean":
            return (forwards + backwards) / 2
        case "product":
            return forwards * backwards
    raise ValueError(f"merge {merge!r}: expected one of {', '.join(MERGES)}")


class RecurrentLayer(EncoderLayer):
    """One layer of one or two directions.

    Attributes:
        weight_drop: probability of a recurrent weight to be dropped, in training
            (`with_dropped_weights`).
        max_state_grad: limit of each value of the gradient that enters a state, in training; 0 for
            none (`ClippedNetwork`).
    """

    weight_drop = 0.0
    max_state_grad = 0.0

    def __init__(
        self,
        *,
        cell: str,
        options: CellOptions,
        inputs: int,
        hidden: int,
        bidirectional: bool,
        merge: str,
        segment: int,
    ) -> None:
        """`hidden` units in each direction; `merge` of the two is one of `MERGES`.

        Gradients go back through `segment` steps at most; 0 for all.
        """
        super().__init__()
        self.cell = cell
        self.merge = merge
        self.segment = segment
        # Two networks rather than torch's bidirectional one, which would read padding first.
        build = CELLS[cell].build
        self.forwards = build(inputs, hidden, options)
        self.backwards = build(inputs, hidden, options) if bidirectional else None
        self.outputs = hidden * (2 if bidirectional and merge == "concat" else 1)
        # (values of all that is carried,) of each direction; none for zeros.
        self.initial = nn.ParameterList()
        if options.initial_state == "learned" and cell not in _FIXED_START:
            self._parts, self._is_one = _carried(self.forwards, inputs)
            for _ in range(1 + bidirectional):
                values = _INITIAL_SPREAD * torch.randn(sum(self._parts))
                self.initial.append(nn.Parameter(values))

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """States at every token, zero on padding.

        Args:
            inputs: (batch, time, inputs); padding has no effect.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs).
        """
        return self.merged_states(*self._directions(inputs, mask), mask)

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` and what `final_states` return, in one pass."""
        ahead, back = self._directions(inputs, mask)
        return self.merged_states(ahead, back, mask), self.merged_final(ahead, back, mask)

    def read_sides(
        self, inputs: Tensor, mask: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor | None]]:
        """What `read` returns, and the states of each direction at every token, not merged.

        Those on padding have no meaning.
        """
        ahead, back = self._directions(inputs, mask)
        found = self.merged_states(ahead, back, mask), self.merged_final(ahead, back, mask)
        return found, (ahead, None if back is None else reverse_each(back, mask))

    def final_states(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """The final state of each direction: the backward one's is that of the first token.

        Args:
            inputs: (batch, time, inputs); padding has no effect.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, outputs).
        """
        return self.merged_final(*self._directions(inputs, mask), mask)

    def carry(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        """As described in `EncoderLayer`."""
        assert self.backwards is None  # it would have to read the text from its end
        network, _ = self.networks()
        state = self._begin(0, len(inputs)) if state is None else state
        states, after = _read_on(network, inputs, self.segment, state)
        if is_watched():
            states = watch(network, inputs, states, self.segment, state)
        return states, after

    def networks(self) -> tuple[Network, Network | None]:
        """The networks that read a batch: in training, with recurrent weights that are dropped.

        They are drawn here, once for all steps and segments of the batch, the forward direction
        first.
        """
        probability = self.weight_drop if self.training else 0.0
        limit = self.max_state_grad if self.training else 0.0
        forwards = _clipped(with_dropped_weights(self.forwards, probability), limit)
        if self.backwards is None:
            return forwards, None
        return forwards, _clipped(with_dropped_weights(self.backwards, probability), limit)

    def _begin(self, direction: int, batch: int) -> State | None:
        """The initial states of a batch, each (1, batch, values); None for zeros."""
        if not self.initial:
            return None
        parts = self.initial[direction].split(self._parts)
        state = tuple(part.expand(1, batch, -1).contiguous() for part in parts)
        return state[0] if self._is_one else state

    def recurrences(self) -> list[Recurrence]:
        """As described in `EncoderLayer`; they begin with zeros."""
        if self.initial:
            return []
        networks = [self.forwards] if self.backwards is None else [self.forwards, self.backwards]
        return [found for network in networks if (found := network.recurrence())]

    def merged_states(self, ahead: Tensor, back: Tensor | None, mask: Tensor) -> Tensor:
        """States at every token, from those of each direction in its own reading order.

        Args:
            ahead: (batch, time, hidden), first token first.
            back: the same with the last token first; None in a layer of one direction.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs), zero on padding.
        """
        if back is None:
            return zero_padding(ahead, mask)
        # Reversed once more, the state that has read tokens t to the last one is at t, beside the
        # forward state that has read the first to t.
        return zero_padding(merge_directions(ahead, reverse_each(back, mask), self.merge), mask)

    def merged_final(self, ahead: Tensor, back: Tensor | None, mask: Tensor) -> Tensor:
        """As `merged_states`, the final states alone, (batch, outputs)."""
        # In its own reading order each direction ends at the last real token, not at time - 1.
        # (batch,) -> (batch, 1, hidden), as `gather` needs one index for each value
        last = (mask.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, ahead.shape[2])
        # (batch, time, hidden) at (batch, 1, hidden) -> (batch, 1, hidden) -> (batch, hidden)
        ended = ahead.gather(1, last).squeeze(1)
        if back is None:
            return ended
        # Backwards the last state is that of the first token, which has read the whole sequence.
        return merge_directions(ended, back.gather(1, last).squeeze(1), self.merge)

    def _directions(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """States of both directions, each in its own reading order."""
        # A NaN on padding would turn the weights' gradient NaN even where its own gradient is 0.
        inputs = zero_padding(inputs, mask)
        (forwards, backwards), segment, batch = self.networks(), self.segment, len(inputs)
        # On padding the recurrence continues from the last token; `merged_states` zeroes it there.
        first, last = self._begin(0, batch), None
        if backwards is None:
            ahead = _states(forwards, inputs, segment, first)
            return (watch(forwards, inputs, ahead, segment, first) if is_watched() else ahead), None
        # (batch, time, inputs) -> two of (batch, time, hidden), the second last token first
        own_weights = [list(network.parameters()) for network in (forwards, backwards)]
        for weights, initial in zip(own_weights, self.initial, strict=False):
            weights.append(initial)
        ahead, back = read_both(
            lambda own: _states(forwards, own, segment, self._begin(0, batch)),
            lambda own: _states(backwards, reverse_each(own, mask), segment, self._begin(1, batch)),
            inputs,
            (own_weights[0], own_weights[1]),
            shared=is_watched(),
        )
        if is_watched():
            last = self._begin(1, batch)
            ahead = watch(forwards, inputs, ahead, segment, first)
            back = watch(backwards, reverse_each(inputs, mask), back, segment, last)
        return ahead, back


def _states(network: Network, inputs: Tensor, segment: int, first: State | None) -> Tensor:
    """States at every step; a gradient goes back `segment` steps at most, 0 for all."""
    return _read_on(network, inputs, segment, first)[0]


@torch.no_grad()
def _carried(network: Network, inputs: int) -> tuple[list[int], bool]:
    """Number of values of each tensor that a network carries, and whether it is one by itself."""
    like = next(network.parameters())
    _, state = network(like.new_zeros(1, 1, inputs))
    parts = (state,) if isinstance(state, Tensor) else state
    return [part.shape[2] for part in parts], isinstance(state, Tensor)


class ClippedNetwork(Network):
    """A network whose states get a gradient of limited values: it cannot explode through time.

    Graves 2013, "Generating sequences with recurrent neural networks"; Goodfellow, Bengio and
    Courville, section 10.11.1. torch's kernels keep the states of the backward pass for themselves,
    so that the steps are those of `Network.steps`, one after the other.
    """

    def __init__(self, network: Network, limit: float) -> None:
        """`limit` of the absolute value of each number, above 0."""
        super().__init__()
        self.network, self.limit = network, limit

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As described in `Network`."""
        steps = self.network.steps()
        assert steps is not None  # as the configuration demands
        if state is None:
            state = tuple(inputs.new_zeros(1, len(inputs), values) for values in steps.memories)
        is_one = isinstance(self.network, nn.RNN | nn.GRU)
        carried = (state,) if isinstance(state, Tensor) else state
        outputs = []
        # (batch, time, width) -> (1, batch, width) of each step
        for given in steps.project(inputs).transpose(0, 1).unsqueeze(1):
            output, after = steps.advance(given, carried)
            carried = tuple(self._limited(memory) for memory in after)
            # A cell's output is its first memory as a rule, whose gradient is clipped as a whole.
            outputs.append(carried[0] if output is after[0] else self._limited(output))
        return torch.cat(outputs).transpose(0, 1), carried[0] if is_one else carried

    def _limited(self, values: Tensor) -> Tensor:
        found = values.view_as(values)
        if found.requires_grad:
            clamp: Any = found.register_hook  # which torch gives no types
            clamp(lambda gradient: gradient.clamp(-self.limit, self.limit))
        return found

    def steps(self) -> Steps | None:
        """As described in `Network`."""
        return self.network.steps()


def _clipped(network: Network, limit: float) -> Network:
    return ClippedNetwork(network, limit) if limit else network


def _read_on(
    network: Network, inputs: Tensor, segment: int, carried: State | None
) -> tuple[Tensor, State]:
    """The same from a state on, None for zeros, and the state after the last step."""
    # (batch, time, inputs) -> (batch, time, hidden)
    if not segment or inputs.shape[1] <= segment:
        whole: tuple[Tensor, State] = network(inputs, carried)
        return whole
    parts: list[Tensor] = []
    # Each part is (batch, up to `segment`, inputs).
    for part in torch.split(inputs, segment, dim=1):
        if parts:
            # Detached: the next segment reads the values, and no gradient comes back. An LSTM
            # carries h and c, each (1, batch, hidden), an Elman network h alone.
            assert carried is not None
            carried = detached(carried)
        if torch.is_grad_enabled():
            # Gates are not kept but computed again in the backward pass. There is no dropout in
            # here, so no state of the random generator has to be restored for that.
            states, carried = checkpoint(
                network, part, carried, use_reentrant=False, preserve_rng_state=False
            )
        else:
            states, carried = network(part, carried)
        parts.append(states)
    assert carried is not None
    # each (batch, up to `segment`, hidden) -> (batch, time, hidden)
    return torch.cat(parts, dim=1), carried


def detached(state: State) -> State:
    """The same values, through which no gradient goes back."""
    if isinstance(state, Tensor):
        return state.detach()
    return tuple(memory.detach() for memory in state)


# Weight drop: dropout of recurrent weights, the same ones at all steps of a batch.
#
# DropConnect (Wan et al. 2013) on the weights between states (Merity et al. 2018, section 2). It
# regularises what a network carries from step to step without disturbing the states themselves, and
# leaves the loop over time, or the kernel that computes it, as it is.
#
# The dropped weights are computed from the trained ones, so that gradients go on to these, and are
# put into a copy of the network that shares all others. The network itself never changes: its
# tensors keep their names and values, and whatever else reads them knows nothing of it.
def with_dropped_weights(network: _Network, probability: float) -> _Network:
    """The network with some of its recurrent weights at 0, and the others scaled up.

    Args:
        network: of any cell.
        probability: of each weight to be dropped, drawn by torch's generator; with 0 nothing is
            drawn, and the network is returned as it is.
    """
    if not probability or not network.state_weights:
        return network
    return with_weights(
        network,
        {
            name: nn.functional.dropout(network.get_parameter(name), probability)
            for name in network.state_weights
        },
    )


def with_weights(network: _Network, weights: dict[str, Tensor]) -> _Network:
    """A copy of the network, which shares all its tensors but those that are given by name."""
    copied = object.__new__(type(network))
    parameters = {**network._parameters, **weights}
    copied.__dict__ = {**network.__dict__, "_parameters": parameters}
    if isinstance(copied, nn.RNNBase):
        _give_to_kernel(copied)
    return copied


def _give_to_kernel(network: nn.RNNBase) -> None:
    """Make torch's kernel read the weights that the network has.

    It reads a list of its own, and not the attributes: a weight that is replaced by a tensor is
    ignored in silence by versions of torch that do not compare the two.
    """
    names = network._flat_weights_names
    weights: list[Tensor] = [getattr(network, name) for name in names]
    if weights[0].is_cuda:
        # cuDNN wants them in one piece of memory, and would copy them with a warning.
        whole = torch.cat([one.flatten() for one in weights])
        parts = whole.split_with_sizes([one.numel() for one in weights])
        weights = [part.view_as(one) for part, one in zip(parts, weights, strict=True)]
        network._parameters = dict(zip(names, weights, strict=True))  # type: ignore[arg-type]
    network._flat_weights = weights  # type: ignore[assignment]
    # With them torch knows that the list is up to date, and leaves it as it is.
    network._flat_weight_refs = [weakref.ref(one) for one in weights]  # type: ignore[arg-type]
