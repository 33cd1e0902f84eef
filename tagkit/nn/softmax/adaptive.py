"""The adaptive softmax of Grave et al. 2017: rare units are predicted in two steps.

    p(y | h) = softmax(head)[y]                                     for a frequent unit
    p(y | h) = softmax(head)[cluster of y] * softmax(tail)[y]       for a rare one

Units are sorted by falling frequency, and cut into a head and tails. The head has one more unit for
each tail. A tail is computed for those tokens alone whose target is in it, in training, and its
units have vectors of fewer values, a quarter for each tail: rare units could not train more. Where
the layer is tied, their vectors are those of the input embedding, of full size.

The distribution is normalised over all units, and exact; it is another model than a softmax over
all units, not an estimate of one.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, combinations, pairwise

import torch
from torch import Tensor, nn

from tagkit.nn.softmax.cross_entropy import cross_entropy, target_log_probs
from tagkit.nn.softmax.layer import (
    Projection,
    SoftmaxOptions,
    UnitSoftmax,
    fresh_vectors,
    own_or_table,
)

SHRINK = 4  # each tail's vectors have so many times fewer values than those before
TAILS = 2
# The least share of tokens whose unit is in the head, with a vector of full size. Baevski and Auli
# 2019 have 20,000 of 260,000 words there, which is this share by Zipf's law.
IN_HEAD = 0.8
# A product with few units costs as much as one with so many (k0 of Grave et al. 2017, section 4.1).
SMALLEST = 128


@lru_cache(maxsize=64)
def best_cutoffs(units: int, shrink: int) -> tuple[int, ...]:
    """First unit of each tail: those that cost a token the fewest products, by Zipf's law.

    Of those alone whose head holds the units of `IN_HEAD` of the tokens. It depends on nothing but
    the number of units, so that a model that is loaded has the cutoffs of the one that was trained.

    Args:
        units: number of units, the r-th of which has a frequency of 1 / r.
        shrink: how many times fewer values the vectors of a tail have than those before; 1 where
            the layer is tied.

    Returns:
        At most `TAILS`, rising; none where one softmax over so few units is the fastest.
    """
    # sums[n] is the frequency of the first n units; over that of all it is a share of the tokens.
    sums = [0.0, *accumulate(1 / rank for rank in range(1, units + 1))]
    # Powers of 2^(1/3), rounded down: pairs of all units would be too many to try.
    places = sorted({int(2 ** (step / 3)) for step in range(3 * units.bit_length())})
    candidates = [place for place in places if IN_HEAD * sums[-1] <= sums[min(place, units - 1)]]
    candidates = [place for place in candidates if SMALLEST <= place < units]

    def products(cutoffs: tuple[int, ...]) -> float:
        # The head, units and clusters, is computed for every token.
        cost = float(cutoffs[0] + len(cutoffs)) if cutoffs else float(units)
        for number, (first, end) in enumerate(pairwise((*cutoffs, units)), start=1):
            # Share of the tokens that a tail is computed for: those whose target is in it.
            reached = (sums[end] - sums[first]) / sums[-1]
            # Its own calls cost something even where few tokens reach it. Products of vectors that
            # have shrink ** number times fewer values cost as many times less.
            cost += SMALLEST / 8 + reached * max(SMALLEST, end - first) / shrink**number
        return cost

    choices = (each for count in range(TAILS + 1) for each in combinations(candidates, count))
    return min(choices, key=products)


class AdaptiveSoftmax(UnitSoftmax):
    """A softmax over the frequent units and clusters of the others."""

    def __init__(
        self, *, units: int, hidden: int, dim: int, tied: bool, cutoffs: tuple[int, ...]
    ) -> None:
        """`cutoffs` as of `best_cutoffs`; the others as in `SoftmaxOptions`."""
        super().__init__()
        self.units = units
        self.cutoffs = cutoffs
        self.ends = (*cutoffs, units)  # of the head and of each tail
        self.project = Projection(hidden, dim)
        # (frequent, dim); where tied, rows of the table serve the head and the tails.
        self.weight = None if tied else fresh_vectors(self.ends[0], dim)
        self.bias = nn.Parameter(torch.zeros(units))  # of the head and of all tails
        # A cluster is no unit, so that it has a vector of its own even where the layer is tied.
        self.clusters = fresh_vectors(len(cutoffs), dim)  # (tails, dim)
        self.cluster_bias = nn.Parameter(torch.zeros(len(cutoffs)))
        self.tails = nn.ModuleList()
        if not tied:
            for number, (first, end) in enumerate(pairwise(self.ends), start=1):
                self.tails.append(_Tail(dim, max(1, dim // SHRINK**number), end - first))

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`."""
        states = self.project(states)
        clusters = self._clusters_of(targets)
        # -log p(y) = -log p(cluster of y) - log p(y | cluster): the head has a term for each token,
        # a tail for the tokens of its units.
        total = cross_entropy(states, *self._head(table), self._head_targets(targets, clusters))
        for _, inside in self._reached_tails(states, targets, clusters, table):
            total = total + cross_entropy(*inside)
        return total, torch.tensor(len(targets))

    def log_probs(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        states, frequent = self.project(states), self.ends[0]
        # (tokens, dim) -> (tokens, frequent + tails): frequent units, then a column for each tail
        head = torch.log_softmax(nn.functional.linear(states, *self._head(table)), 1)
        parts = [head[:, :frequent]]
        for number in range(len(self.cutoffs)):
            # (tokens, units of the tail) + (tokens, 1): log p(y | tail) + log p(tail)
            inside = nn.functional.linear(*self._tail(number, states, table))
            cluster = head[:, frequent + number].unsqueeze(1)
            parts.append(torch.log_softmax(inside, 1) + cluster)
        # Head and tails follow each other as the units do: (tokens, units)
        return torch.cat(parts, 1)

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        states = self.project(states)
        clusters = self._clusters_of(targets)
        found = target_log_probs(states, *self._head(table), self._head_targets(targets, clusters))
        for rows, inside in self._reached_tails(states, targets, clusters, table):
            found = found.index_add(0, rows, target_log_probs(*inside))
        return found

    def _clusters_of(self, targets: Tensor) -> Tensor:
        """(tokens,) 0 for a unit of the head, and the number of its tail for another, from 1."""
        # `right`: a cutoff is the first unit of its tail, not the last one before it.
        return torch.bucketize(
            targets, torch.tensor(self.cutoffs, device=targets.device), right=True
        )

    def _head_targets(self, targets: Tensor, clusters: Tensor) -> Tensor:
        """(tokens,) what the head has to predict: the unit, or its tail."""
        return torch.where(clusters == 0, targets, self.ends[0] + clusters - 1)

    def _head(self, table: Tensor | None) -> tuple[Tensor, Tensor]:
        """Vectors, (frequent + tails, dim), and biases of the frequent units and of the tails."""
        frequent = own_or_table(self.weight, table)[: self.ends[0]]
        return (
            torch.cat((frequent, self.clusters)),
            torch.cat((self.bias[: self.ends[0]], self.cluster_bias)),
        )

    def _reached_tails(
        self, states: Tensor, targets: Tensor, clusters: Tensor, table: Tensor | None
    ) -> Iterator[tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]]:
        """The tails that targets are in.

        Args:
            states: (tokens, dim).
            targets: (tokens,) int64.
            clusters: (tokens,) of the targets, as `_clusters_of`.
            table: (units, dim) where the layer is tied.

        Yields:
            (rows,) which tokens have their target in the tail; then what `cross_entropy` takes for
            these alone: states, vectors and biases as of `_tail`, and (rows,) targets in the tail.
        """
        for number, first in enumerate(self.cutoffs):
            rows = (clusters == number + 1).nonzero().squeeze(1)
            if len(rows):
                yield rows, (*self._tail(number, states[rows], table), targets[rows] - first)

    def _tail(
        self, number: int, states: Tensor, table: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What a tail's scores are products of.

        Args:
            number: of the tail, from 0.
            states: (tokens, dim).
            table: (units, dim) where the layer is tied.

        Returns:
            States, (tokens, own dim), vectors, (units of the tail, own dim), and biases. The own
            dimension is `dim` where the layer is tied, and smaller with each tail where it is not.
        """
        inside = slice(self.ends[number], self.ends[number + 1])
        if table is not None:
            return states, table[inside], self.bias[inside]
        tail = self.tails[number]
        assert isinstance(tail, _Tail)
        return nn.functional.linear(states, tail.project), tail.weight, self.bias[inside]


class _Tail(nn.Module):
    """Vectors of a tail's units, and what brings states to their size."""

    def __init__(self, dim: int, own_dim: int, units: int) -> None:
        super().__init__()
        self.project = fresh_vectors(own_dim, dim)
        self.weight = fresh_vectors(units, own_dim)


def build(options: SoftmaxOptions) -> AdaptiveSoftmax:
    """A layer with fresh weights."""
    return AdaptiveSoftmax(
        units=options.units,
        hidden=options.hidden,
        dim=options.dim,
        tied=options.tied,
        cutoffs=best_cutoffs(options.units, 1 if options.tied else SHRINK),
    )
