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
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tagkit.nn.cells import CELLS
from tagkit.nn.layers.information_flow import is_watched, watch
from tagkit.nn.layers.layer import EncoderLayer
from tagkit.nn.padding import reverse_each, zero_padding
from tagkit.nn.recurrence.cell import CellOptions, Network, State
from tagkit.nn.recurrence.recurrence import Recurrence
from tagkit.nn.threads import read_both

_Network = TypeVar("_Network", bound=Network)
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
    """

    weight_drop = 0.0

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
        forwards = with_dropped_weights(self.forwards, probability)
        if self.backwards is None:
            return forwards, None
        return forwards, with_dropped_weights(self.backwards, probability)

    def recurrences(self) -> list[Recurrence]:
        """As described in `EncoderLayer`."""
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
        (forwards, backwards), segment = self.networks(), self.segment
        # On padding the recurrence continues from the last token; `merged_states` zeroes it there.
        if backwards is None:
            ahead = _states(forwards, inputs, segment)
            return (watch(forwards, inputs, ahead, segment) if is_watched() else ahead), None
        # (batch, time, inputs) -> two of (batch, time, hidden), the second last token first
        ahead, back = read_both(
            lambda own: _states(forwards, own, segment),
            lambda own: _states(backwards, reverse_each(own, mask), segment),
            inputs,
            (list(forwards.parameters()), list(backwards.parameters())),
            shared=is_watched(),
        )
        if is_watched():
            ahead = watch(forwards, inputs, ahead, segment)
            back = watch(backwards, reverse_each(inputs, mask), back, segment)
        return ahead, back


def _states(network: Network, inputs: Tensor, segment: int) -> Tensor:
    """States at every step; a gradient goes back `segment` steps at most, 0 for all."""
    return _read_on(network, inputs, segment, None)[0]


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
