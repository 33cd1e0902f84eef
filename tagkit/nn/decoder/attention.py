"""Attention: which states of the encoder a step of the decoder looks at.

    weights[i, j] = softmax over j of score(s[i], h[j]),  c[i] = sum over j of weights[i, j] h[j]

with s[i] the decoder's state and h[j] the encoder's (Jurafsky and Martin 2024, eqs. 13.34 to 13.37,
where the state is that of the step before; `decoder.py` says how the two are the same). The scores:

    dot          s . h                         eq. 13.35; both of one size
    scaled-dot   s . h / sqrt(size)            Vaswani et al. 2017
    bilinear     s W h                         eq. 13.38
    additive     v . tanh(W s + V h + b)       Bahdanau et al. 2015

"monotone" never looks back (Raffel et al. 2017: the expectation over hard alignments in training,
with noise before the sigmoid, and hard alignments in prediction). From the place where it stopped
for the unit before, it goes from symbol to symbol and stops at each with a probability p, at the
last one for certain:

    p[i, j] = sigmoid(additive score + sum over o of w[o] weights[i-1, j-o])
    weights[i, k] = p[i, k] * sum over j <= k of weights[i-1, j]
                              * product over j <= l < k of 1 - p[i, l]

The second term of p is its location (Chorowski et al. 2015, section 2.1): how far it moves may
follow from where it was alone, so that it can go on by one symbol each time, however long the
source. "location" adds the same to the score of "additive", before the softmax, and may look back.
Both begin with going on by one symbol, which copies a source: most inflected forms have their lemma
in them, and a hundred pairs are enough to learn the rest.
"""

import math
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.weights import fresh_linear

_CERTAIN = 200.0  # a score whose sigmoid is 1
_REACH = 2  # symbols, in both directions, to which the location of the step before reaches


class Attention(nn.Module):
    """One way to compute weights.

    Attributes:
        follows: whether the weights of a step depend on those of the step before.
        places: columns of weights before the first symbol.
    """

    follows: ClassVar[bool] = False
    places: ClassVar[int] = 0

    def __init__(self, queries: int, memory: int, hidden: int) -> None:
        """`queries` and `memory` are the sizes of a state of the decoder and of the encoder."""
        super().__init__()

    def keys(self, states: Tensor) -> Tensor:
        """What is computed of the encoder's states once, (batch, time, memory) -> (..., size)."""
        return states

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(batch, queries, size) and (batch, time, size) -> (batch, queries, time)."""
        raise NotImplementedError

    def begin(self, mask: Tensor, rows: int) -> Tensor | None:
        """(batch, rows, places + time) the weights before the first step; None of no meaning."""
        return None

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor, before: Tensor | None) -> Tensor:
        """The weights.

        Args:
            queries: (batch, queries, size) states of the decoder.
            keys: as `keys` returns them.
            mask: (batch, time) bool, True on real symbols.
            before: (batch, queries, places + time) those of the step before, where they count.

        Returns:
            (batch, queries, places + time); they sum to 1 over real symbols.
        """
        scores = self.scores(queries, keys)
        return scores.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(2)


class Dot(Attention):
    """Equation 13.35."""

    def __init__(self, queries: int, memory: int, hidden: int) -> None:
        """As described in `Attention`.

        Raises:
            ValueError: the sizes differ.
        """
        super().__init__(queries, memory, hidden)
        if queries != memory:
            raise ValueError(f"expected states of one size, found {queries} and {memory}")

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """As described in `Attention`."""
        return queries @ keys.transpose(1, 2)


class ScaledDot(Dot):
    """Whose variance does not grow with the size of the states."""

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """As described in `Attention`."""
        return super().scores(queries, keys) / math.sqrt(queries.shape[2])


class Bilinear(Attention):
    """Equation 13.38."""

    def __init__(self, queries: int, memory: int, hidden: int) -> None:
        """As described in `Attention`."""
        super().__init__(queries, memory, hidden)
        self.project = fresh_linear(memory, queries)

    def keys(self, states: Tensor) -> Tensor:
        """W h; a bias of it adds the same to all symbols of a query's scores, but for its own."""
        found: Tensor = self.project(states)
        return found

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """As described in `Attention`."""
        return queries @ keys.transpose(1, 2)


class Additive(Attention):
    """A feed-forward network with one hidden layer."""

    def __init__(self, queries: int, memory: int, hidden: int) -> None:
        """As described in `Attention`; the network has `hidden` units."""
        super().__init__(queries, memory, hidden)
        self.of_queries = fresh_linear(queries, hidden)
        self.project = fresh_linear(memory, hidden)
        self.score = fresh_linear(hidden, 1)

    def keys(self, states: Tensor) -> Tensor:
        """V h."""
        found: Tensor = self.project(states)
        return found

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """As described in `Attention`."""
        # (batch, queries, 1, hidden) + (batch, 1, time, hidden) -> (batch, queries, time, hidden)
        layer = torch.tanh(self.of_queries(queries).unsqueeze(2) + keys.unsqueeze(1))
        found: Tensor = self.score(layer).squeeze(3)
        return found


class Location(Additive):
    """Which knows where it looked before.

    Column 0 of its weights is a place before the first symbol, where it begins.
    """

    follows = True
    places = 1
    onwards: ClassVar[float] = 4.0  # added to the score of the symbol after the one before

    def __init__(self, queries: int, memory: int, hidden: int) -> None:
        """As described in `Additive`."""
        super().__init__(queries, memory, hidden)
        kernel = torch.zeros(2 * _REACH + 1)
        kernel[_REACH - 1] = self.onwards
        self.location = nn.Parameter(kernel)

    def begin(self, mask: Tensor, rows: int) -> Tensor:
        """All of the weight on the place before the first symbol."""
        batch, time = mask.shape
        found = self.location.new_zeros(batch, rows, time + 1)
        found[..., 0] = 1
        return found

    def located(self, queries: Tensor, keys: Tensor, before: Tensor) -> Tensor:
        """(batch, queries, time) scores with what the weights before add to them."""
        batch, rows, columns = before.shape
        # The score of column k gets w[m] times the weight of column k + m - reach.
        near = nn.functional.conv1d(
            before.reshape(batch * rows, 1, columns), self.location.view(1, 1, -1), padding=_REACH
        ).view(batch, rows, columns)
        return self.scores(queries, keys) + near[..., 1:]

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor, before: Tensor | None) -> Tensor:
        """As described in `Attention`."""
        assert before is not None
        scores = self.located(queries, keys, before).masked_fill(~mask.unsqueeze(1), -torch.inf)
        return nn.functional.pad(scores.softmax(2), (1, 0))


class Monotone(Location):
    """Which never looks back, and never stops at the place before the first symbol.

    In training it is an expectation over where it may stop; in prediction it stops at the first
    symbol with p > 0.5, however long the source. Noise in training makes p near 0 or 1.

    Attributes:
        noise: standard deviation of what is added to the scores in training.
    """

    onwards = 1.0
    noise = 1.0

    def forward(self, queries: Tensor, keys: Tensor, mask: Tensor, before: Tensor | None) -> Tensor:
        """As described in `Attention`; a product of matrices in place of a loop over symbols."""
        assert before is not None
        scores = self.located(queries, keys, before)  # (batch, queries, time)
        # log of the probability to go on: not from the last symbol, certainly from column 0
        last = mask.long().cumsum(1) == mask.sum(1, keepdim=True)  # and all padding behind it
        if self.training:
            scores = scores + self.noise * torch.randn_like(scores)
        else:  # sigmoid(.) of it is 0 or 1
            scores = torch.where(scores > 0, _CERTAIN, -_CERTAIN).to(scores.dtype)
        stops = torch.sigmoid(scores).masked_fill(last.unsqueeze(1), 1)
        goes_on = nn.functional.logsigmoid(-scores)
        # (batch, queries, 1 + time): the sum of all columns before one
        reached = nn.functional.pad(goes_on.cumsum(2)[..., :-1], (2, 0))
        # (batch, queries, from, to) products of 1 - p between two columns, at most 1
        between = (reached.unsqueeze(2) - reached.unsqueeze(3)).clamp(max=0).exp().triu()
        arrives = (before.unsqueeze(2) @ between).squeeze(2)
        beyond = nn.functional.pad(~mask, (1, 0)).unsqueeze(1)
        stops = nn.functional.pad(stops, (1, 0))
        return (arrives * stops).masked_fill(beyond, 0)


# The keys are the values that the configuration allows for `decoder.attention`, besides "none".
ATTENTIONS: dict[str, Callable[[int, int, int], Attention]] = {
    "dot": Dot,
    "scaled-dot": ScaledDot,
    "bilinear": Bilinear,
    "additive": Additive,
    "location": Location,
    "monotone": Monotone,
}
