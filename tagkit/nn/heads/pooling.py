"""From the states of a text's tokens to one vector: what a classifier reads.

    last       the final state of each direction: the last forward and the first backward one
               (Jurafsky and Martin, "RNNs and LSTMs", section on RNNs for sequence
               classification; Goodfellow, Bengio and Courville, section 10.2, fig. 10.5)
    mean       the mean of the states (Jurafsky and Martin, eq. 13.15)
    max        the largest value of each feature (the same section)
    mean+max   both, side by side
    concat     the final state, the mean and the maximum, side by side (Howard and Ruder 2018,
               section 3.3)
    attention  sum of a[t] h[t], a = softmax over t of q . tanh(W h[t] + b), q one learned query
               (Yang et al. 2016, eqs. 5-7)
    scaled-attention
               the same with scores divided by sqrt(d), d features of a state (Vaswani et al. 2017,
               section 3.2.1). It begins as nearly the mean of the states and becomes selective as
               the steps add up. Without the scale the weights of a small corpus are soon those of a
               few words of each text, which is then known by heart.
    memory     the states as the facts of a memory network, which the final state u asks several
               times (Sukhbaatar et al. 2015, sections 2.1 and 2.2, layer-wise; Goodfellow, Bengio
               and Courville, section 10.12): in each hop p = softmax over t of u . A h[t],
               o = sum of p[t] C h[t], and then u = H u + o

Padding has no part in any of them.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from tagkit.nn.padding import zero_padding


class Pooling(nn.Module, ABC):
    """States of a text as one vector.

    Attributes:
        outputs: features of the vector.
        hops: of `memory`: how often the states are asked.
    """

    outputs: int
    hops = 1

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__()
        self.outputs = inputs

    @abstractmethod
    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """One vector for each text, and each token's weight in it if the pooling is attention.

        Args:
            states: (batch, time, inputs); padding has no effect.
            final: (batch, inputs) the final states of the directions, merged.
            mask: (batch, time) bool, True on real tokens; True throughout column 0.

        Returns:
            (batch, outputs), and (batch, time) with 0 on padding, or None.
        """


class LastPooling(Pooling):
    """The final states."""

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        return final, None  # (batch, inputs): those of each text's own last and first token


class MeanPooling(Pooling):
    """The mean over a text's tokens."""

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        return _mean(states, mask), None


class MaxPooling(Pooling):
    """The largest value of each feature among a text's tokens."""

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        return _max(states, mask), None


class MeanMaxPooling(Pooling):
    """Mean and maximum, side by side."""

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__(inputs)
        self.outputs = 2 * inputs

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        # two of (batch, inputs) -> (batch, 2 x inputs)
        return torch.cat((_mean(states, mask), _max(states, mask)), dim=1), None


class ConcatPooling(Pooling):
    """Final states, mean and maximum, side by side."""

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__(inputs)
        self.outputs = 3 * inputs

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        # three of (batch, inputs) -> (batch, 3 x inputs)
        return torch.cat((final, _mean(states, mask), _max(states, mask)), dim=1), None


class AttentionPooling(Pooling):
    """A mean whose weights are learnt.

    Attributes:
        scale: factor of a token's score.
    """

    scale = 1.0

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__(inputs)
        # W and b, then q: the names are those of the saved weights.
        self.keys = nn.Linear(inputs, inputs)
        # A bias would add the same to every token's score, which softmax takes out again.
        self.query = nn.Linear(inputs, 1, bias=False)

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`."""
        # Although the weights of padding are 0: 0 times a NaN would be NaN.
        states = zero_padding(states, mask)
        # (batch, time, inputs) -> (batch, time, 1) -> (batch, time)
        scores: Tensor = self.query(torch.tanh(self.keys(states))).squeeze(2) * self.scale
        # a = softmax over the tokens of a text, (batch, time). Minus infinity becomes a weight of
        # exactly 0; a row of nothing else would become NaN, but each text has a token.
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
        # (batch, 1, time) @ (batch, time, inputs) -> (batch, 1, inputs) -> (batch, inputs)
        return (weights.unsqueeze(1) @ states).squeeze(1), weights


class ScaledAttentionPooling(AttentionPooling):
    """Attention that is nearly a mean at first."""

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__(inputs)
        self.scale = inputs**-0.5


class MemoryPooling(Pooling):
    """Several hops of attention, of which each asks what the one before it has found."""

    def __init__(self, inputs: int) -> None:
        """`inputs` features of each state."""
        super().__init__(inputs)
        self.keys = nn.Linear(inputs, inputs, bias=False)  # A
        self.values = nn.Linear(inputs, inputs, bias=False)  # C
        # H begins as the identity, with which a hop adds to what is known.
        self.kept = nn.Linear(inputs, inputs, bias=False)
        nn.init.eye_(self.kept.weight)

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """As in `Pooling`; the weights are those of the last hop."""
        states = zero_padding(states, mask)  # as in `AttentionPooling`
        keys, values, asked = self.keys(states), self.values(states), final
        for _ in range(self.hops):
            # (batch, time, inputs) @ (batch, inputs, 1) -> (batch, time)
            scores = (keys @ asked.unsqueeze(2)).squeeze(2)
            weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
            # (batch, 1, time) @ (batch, time, inputs) -> (batch, inputs)
            asked = self.kept(asked) + (weights.unsqueeze(1) @ values).squeeze(1)
        return asked, weights


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    # (batch, time, inputs) -> (batch, inputs), divided by each text's own length, (batch, 1), and
    # not by `time`.
    return zero_padding(states, mask).sum(1) / mask.sum(1, keepdim=True)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    # (batch, time, inputs) -> (batch, inputs). Minus infinity on padding rather than 0, as all
    # values of a feature may be negative.
    return states.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(1)
