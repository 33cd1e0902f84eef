"""A linear-chain CRF over features of words, beside the network.

    p(y | x) = exp(score(y)) / sum over all paths y' of exp(score(y'))
    score(y) = sum over t of T[y[t-1], y[t]] + sum over features f of token t of w[f, y[t]]

(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs.) Only weights w[f, y] of features that the training corpus has with the
tag y exist. Where there are pretrained vectors, those of the word and both neighbours add
V[y] [v[t-1]; v[t]; v[t+1]] (Turian et al. 2010), and the clusters of the three are features.

`feature_crf_fit.py` finds the weights, before the network's first step. From a few hundred
sentences these features learn what the network does not, and the network what they do not; so their
probabilities are multiplied, each to the power of its share (Hinton 2002, products of experts). Of
two linear-chain CRFs that is one more: scores of emissions and steps are added
(`Chain.multiplied`).

A model that is linear in vectors cannot score one group of words by itself: what it adds for some
it adds for all that lie in the same direction. A cluster is such a group, and one word of it in the
training corpus tells something of the others (Turian et al. 2010, for the clusters of Brown et al.
1992; Guo et al. 2014, "Revisiting Embedding Features for Simple Semi-supervised Learning", for
those of k-means). Several numbers of clusters give coarse and fine groups of the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain

Ids = npt.NDArray[np.int64]
# The key of a row that is not used: the largest, so that it is sorted to the end.
_UNUSED = np.iinfo(np.int64).max
# Of the CRF in the product, of which the best on dev is chosen, and the first of equally good ones;
# the last is the network alone.
SHARES = (0.5, 0.7, 0.3, 0.0)


class FeatureCrf(nn.Module):
    """The CRF; all of it is saved, and none of it is learnt with the network.

    Attributes:
        keys: (weights,) of the features, ascending.
        tags: (weights,) int32 tag of each weight.
        weights: (weights,).
        transitions: (tags before, tags after).
        vector_weights: (3 x dim, tags) of the vectors before, at and after a token.
        share: () of it in the product, from 0 to below 1.
        clusters: of the vectors, whose numbers are features; None where there are none.
    """

    keys: Tensor
    tags: Tensor
    weights: Tensor
    transitions: Tensor
    vector_weights: Tensor
    share: Tensor

    def __init__(self, *, weights: int, tags: int, dim: int, clusters: Sequence[int] = ()) -> None:
        """A model without features, whose share is 0.

        Args:
            weights: the most that it can have.
            tags: number of tags.
            dim: of the pretrained vectors; 0 without any.
            clusters: the numbers of their clusters; none without vectors.
        """
        super().__init__()
        self.clusters = VectorClusters(sizes=clusters, dim=dim) if clusters and dim else None
        # Buffers: neither an optimizer nor the mean of the weights has anything to do with them.
        self.register_buffer("keys", torch.full((weights,), _UNUSED))
        self.register_buffer("tags", torch.zeros(weights, dtype=torch.int32))
        self.register_buffer("weights", torch.zeros(weights))
        self.register_buffer("transitions", torch.zeros(tags, tags))
        self.register_buffer("vector_weights", torch.zeros(3 * dim, tags))
        self.register_buffer("share", torch.zeros(()))
        self._table: _WeightTable | None = None
        # Its stub has no types.
        self.register_load_state_dict_post_hook(_forget_table)  # type: ignore[no-untyped-call]

    def __getstate__(self) -> dict[str, Any]:
        """Without the table of features, which is made again where it is needed."""
        return {**self.__dict__, "_table": None}

    @property
    def reads_vectors(self) -> bool:
        """Whether pretrained vectors are among the features."""
        return len(self.vector_weights) > 0

    @property
    def is_fitted(self) -> bool:
        """Whether it has weights: a search that time has ended too early leaves none."""
        return any(bool(each.any()) for each in (self.weights, self.vector_weights))

    def is_valid(self) -> bool:
        """Whether the tables are such as `fit` makes."""
        ordered = bool((self.keys[1:] >= self.keys[:-1]).all())
        within = bool(((self.tags >= 0) & (self.tags < len(self.transitions))).all())
        return ordered and within and 0 <= float(self.share) < 1

    def scores(self, keys: Ids, groups: Ids | None = None) -> Tensor:
        """(items, tags) sums of the weights that features have, or (items, groups, tags).

        Args:
            keys: (items, features): a token's, or those of a word that all its tokens have.
            groups: (features,) the group of each feature, from 0, if each group has its own sum.
        """
        tags, table = len(self.transitions), self._known_table()
        count = 1 if groups is None else int(groups.max()) + 1
        cells, rows = table.entries(keys, tags, groups)
        # Sums of few numbers each, in float64; on the CPU, as the table is there.
        found = np.bincount(cells, table.weights.numpy()[rows], len(keys) * count * tags)
        sums = torch.from_numpy(found.astype(np.float32)).to(self.weights.device)
        return sums.view(-1, tags) if groups is None else sums.view(-1, count, tags)

    def vector_scores(self, vectors: Tensor) -> Tensor:
        """(items, 3, tags) what vectors add to the token after theirs, to theirs, and before it.

        Args:
            vectors: (items, dim) pretrained vectors.
        """
        weights = self.vector_weights.view(3, vectors.shape[1], len(self.transitions))
        # (items, dim) x (3, dim, tags) -> (3, items, tags) -> (items, 3, tags)
        return torch.matmul(vectors, weights).transpose(0, 1)

    def chain(self, emissions: Tensor, mask: Tensor) -> Chain:
        """The scores of all paths of sentences.

        Args:
            emissions: (batch, time, tags) sums of what the features of each token score.
            mask: (batch, time) bool, True on real tokens.
        """
        free = emissions.new_zeros(len(self.transitions))
        return Chain(emissions, self.transitions, free, free, mask, checked=True)

    def place(self, keys: Ids, tags: npt.NDArray[np.int32]) -> None:
        """Say which weights there are; all others are not used.

        Args:
            keys: (weights,) of features, ascending; at most as many as the model can have.
            tags: (weights,) of each.
        """
        self.keys[: len(keys)] = torch.from_numpy(keys)
        self.tags[: len(tags)] = torch.from_numpy(tags)
        self._table = None

    def keep(self, weights: Tensor, transitions: Tensor, vector_weights: Tensor) -> None:
        """Copy what was found; shapes as of the attributes, but of the weights in use alone."""
        self.weights[: len(weights)] = weights.float()
        self.transitions.copy_(transitions)
        self.vector_weights.copy_(vector_weights)
        self._table = None

    def entries(self, keys: Ids) -> tuple[Ids, Ids]:
        """Item x tags + tag, and number, of each weight that the features of items have.

        Args:
            keys: (items, features).
        """
        return self._known_table().entries(keys, len(self.transitions))

    def _known_table(self) -> "_WeightTable":
        if self._table is None or self._table.keys is not self.keys:
            self._table = _WeightTable(self.keys, self.tags, self.weights)
        return self._table


def _forget_table(crf: FeatureCrf, _: object) -> None:
    # Loaded weights may be copied into the same tensor.
    crf._table = None


class _WeightTable:
    """Where the weights of each feature are, on the CPU.

    Attributes:
        keys: of the `FeatureCrf`, as they were when the table was made.
        weights: (weights,) of the same; a tensor, whose memory moves when the model is sent to
            another process.
    """

    def __init__(self, keys: Tensor, tags: Tensor, weights: Tensor) -> None:
        """All three are (weights,), of a `FeatureCrf`."""
        self.keys = keys
        found = keys.cpu().numpy()
        found = found[: np.searchsorted(found, _UNUSED)]
        self.weights = weights.cpu()
        self._tags = tags.cpu().numpy()[: len(found)].astype(np.int64)
        # (features + 1,), and first row and number of rows of each. The last one is greater than
        # all that are looked up, and has no rows.
        features, starts, counts = np.unique(found, return_index=True, return_counts=True)
        self._features = np.append(features, _UNUSED)
        self._starts, self._counts = np.append(starts, 0), np.append(counts, 0)

    def entries(self, keys: Ids, tags: int, groups: Ids | None = None) -> tuple[Ids, Ids]:
        """Item x tags + tag, and row, of each weight that the features of items have.

        Args:
            keys: (items, features).
            tags: number of tags.
            groups: (features,) as of `FeatureCrf.scores`; an item has as many rows of tags.
        """
        places = np.searchsorted(self._features, keys.ravel())
        known = self._features[places] == keys.ravel()
        item, feature = np.divmod(np.flatnonzero(known), keys.shape[1])
        if groups is not None:
            item = item * (int(groups.max()) + 1) + groups[feature]
        place = places[known]
        counts = self._counts[place]
        # The rows of a feature follow each other: start, start + 1, ...
        ends = np.cumsum(counts)
        rows = np.repeat(self._starts[place] + counts - ends, counts) + np.arange(counts.sum())
        return np.repeat(item * tags, counts) + self._tags[rows], rows


# Files of vectors begin with the most frequent words, whose clusters serve the rarer ones too.
_MOST_VECTORS = 20_000
_ROUNDS = 15
_POINTS = 2_048  # of which distances are computed at once: a few megabytes


class VectorClusters(nn.Module):
    """Centroids of k-means (Lloyd 1982) among vectors of length 1, for each number of clusters.

    Attributes:
        sizes: the numbers of clusters, of each kind.
        centroids: (clusters of all kinds, dim); all of it is saved, and none learnt by gradient.
    """

    centroids: Tensor

    def __init__(self, *, sizes: Sequence[int], dim: int) -> None:
        """Without centroids.

        Args:
            sizes: the numbers of clusters.
            dim: of the vectors.
        """
        super().__init__()
        self.sizes = tuple(sizes)
        self.register_buffer("centroids", torch.zeros(sum(sizes), dim))
        self._known: _Centroids | None = None
        # Its stub has no types.
        self.register_load_state_dict_post_hook(_forget_known)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def find(self, vectors: Tensor) -> None:
        """Find the centroids; without random numbers.

        Args:
            vectors: (words, dim) in the order of a file; zeros are no word's.
        """
        kept = vectors[vectors.any(1)][:_MOST_VECTORS].cpu()
        points = nn.functional.normalize(kept.double(), dim=1).float()
        # Of two equal centroids rounding would decide which is nearer.
        rounded = points.numpy().round(5)
        order = np.sort(np.unique(rounded, axis=0, return_index=True)[1])
        if not len(order):
            return
        found = [_k_means(points[torch.from_numpy(order)], size) for size in self.sizes]
        self.centroids.copy_(torch.cat(found))
        self._known = None

    @torch.no_grad()
    def numbers(self, vectors: Tensor) -> npt.NDArray[np.int64]:
        """(items, kinds) the cluster of each vector, from 1; 0 where it is zero: no vector.

        Args:
            vectors: (items, dim).
        """
        # In double on the CPU: the nearest must not depend on the device or on what else is asked.
        if self._known is None:
            self._known = _Centroids.of(self.centroids.cpu().double(), self.sizes)
        points = vectors.cpu().double()
        known = points.any(1, keepdim=True)
        return ((self._known.nearest(points) + 1) * known).numpy()


def _forget_known(clusters: VectorClusters, _: object) -> None:
    # Loaded centroids may be copied into the same tensor.
    clusters._known = None


@dataclass(frozen=True, slots=True)
class _Centroids:
    """Centroids of all kinds, ready to be compared with.

    Attributes:
        squares: (clusters of all kinds,) ||c||^2.
        twice: (dim, clusters of all kinds) -2 c.
        sizes: the numbers of clusters, of each kind.
    """

    squares: Tensor
    twice: Tensor
    sizes: list[int]

    @staticmethod
    def of(centroids: Tensor, sizes: Sequence[int]) -> "_Centroids":
        """Of (clusters of all kinds, dim)."""
        return _Centroids((centroids**2).sum(1), -2 * centroids.t(), list(sizes))

    def nearest(self, points: Tensor) -> Tensor:
        """(points, kinds) the centroid of each kind that is nearest to the direction of a point.

        ||p/|p| - c||^2 = 1 - 2 p c / |p| + ||c||^2, whose order is that of |p| ||c||^2 - 2 p c.
        """
        found = []
        for some in torch.split(points, _POINTS):
            lengths = torch.linalg.vector_norm(some, dim=1, keepdim=True)  # (points, 1)
            # (points, dim) x (dim, clusters) -> (points, clusters)
            far = torch.addmm(lengths * self.squares, some, self.twice)
            kinds = torch.split(far, self.sizes, dim=1)
            found.append(torch.stack([kind.argmin(1) for kind in kinds], dim=1))
        return torch.cat(found)


def _k_means(points: Tensor, size: int) -> Tensor:
    """(size, dim) centroids; more than there are points are zeros.

    Args:
        points: (points, dim), all different.
        size: number of clusters.
    """
    count = min(size, len(points))
    # Every so many-th point to begin with: as good as random ones, and always the same.
    begins = torch.arange(count) * len(points) // count
    centroids = points[begins]
    for _ in range(_ROUNDS):
        nearest = _Centroids.of(centroids, [count]).nearest(points)[:, 0]
        sums = torch.zeros_like(centroids).index_add_(0, nearest, points)
        members = torch.bincount(nearest, minlength=count).unsqueeze(1)  # (count, 1)
        # A cluster that has lost all of its points keeps its place.
        centroids = torch.where(members > 0, sums / members.clamp(min=1), centroids)
    return nn.functional.pad(centroids, (0, 0, 0, size - count))
