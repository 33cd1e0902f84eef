"""Clusters of pretrained vectors: words that are used alike.

A model that is linear in vectors cannot score one group of words by itself: what it adds for some
it adds for all that lie in the same direction. A cluster is such a group, and one word of it in the
training corpus tells something of the others (Turian et al. 2010, for the clusters of Brown et al.
1992; Guo et al. 2014, "Revisiting Embedding Features for Simple Semi-supervised Learning", for
those of k-means). Several numbers of clusters give coarse and fine groups of the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

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
