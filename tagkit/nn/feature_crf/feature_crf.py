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
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain
from tagkit.nn.feature_crf.feature_crf_blocks import FeatureBlock, FeatureExamples, make_blocks
from tagkit.nn.feature_crf.vector_clusters import VectorClusters
from tagkit.nn.optimizers import minimize, with_gradient

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


# Find the weights of a CRF of word features.
#
# The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So all
# weights are found at once by L-BFGS, from 0 and without random numbers.


# Of the squares of all weights in the loss.
_PENALTY = 0.1
# Mean squared length of the vector of a token, for which `_PENALTY` is right.
_VECTOR_SQUARE, _LEAST_SQUARE = 4.5, 1e-30
_MAX_STEPS = 30  # with 20 and with 100 dev scores are the same but for chance
_MIN_STEPS = 20  # of a search that time ends: with 10 the network is better alone


def fit(
    crf: FeatureCrf,
    examples: FeatureExamples,
    tag_weights: Tensor | None,
    max_seconds: float,
    on_pass: Callable[[int], None],
    sharing: Tensor | None = None,
) -> None:
    """Find the weights at which the penalised loss of a corpus is smallest.

    Args:
        crf: without weights, on the CPU.
        examples: the training corpus.
        tag_weights: (tags,) of the gold tags in the loss; None where all weigh the same.
        max_seconds: of the search, as of `minimize`. If it ends within a few steps, all weights
            stay 0.
        on_pass: called before each pass over the corpus, with its number from 1.
        sharing: (tags, tags) the share of each tag's weights of vectors, by rows, in that of each
            one's score, by columns; None where each tag is scored by its own alone.
    """
    total = len(crf.transitions)
    keys, tags = _pairs(examples, total, len(crf.keys))
    crf.place(keys, tags)
    values = _values(examples, keys)
    vectors = torch.from_numpy(examples.vectors)
    # Of length 2 or so, whatever vectors they are: one penalty for all weights.
    squares = float((vectors**2).sum(1).mean()) if vectors.shape[1] else 0.0
    # Squares of next to nothing would make a factor that float32 does not hold.
    scale = (_VECTOR_SQUARE / squares) ** 0.5 if squares > _LEAST_SQUARE else 1.0
    blocks = make_blocks(crf, examples, vectors * scale, tag_weights)
    shares = (torch.eye(total) if sharing is None else sharing).double()
    learnt = [
        torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        for shape in ((len(keys),), (total, total), crf.vector_weights.shape)
    ]

    passes = count(1)

    def loss() -> Tensor:
        on_pass(next(passes))
        return with_gradient(*_loss_and_slopes(blocks, values, shares, *learnt), learnt)

    search = minimize(learnt, loss, _MAX_STEPS, max_seconds)
    if search.is_cut and search.evaluations < _MIN_STEPS:
        return  # weights near 0 would take from the network and give nothing
    weights, steps, of_vectors = (each.detach() for each in learnt)
    crf.keep(weights * values, steps, of_vectors @ shares * scale)


@torch.no_grad()
def _loss_and_slopes(
    blocks: Sequence[FeatureBlock],
    values: Tensor,
    shares: Tensor,
    weights: Tensor,
    steps: Tensor,
    of_vectors: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """The penalised loss, and its gradient by each of what is learnt.

    Batch by batch: scores of all tokens at once, and the graph of the loss, would take some
    hundred megabytes with 4,000 sentences.
    """
    learnt, total = (weights, steps, of_vectors), len(steps)
    loss = _PENALTY * torch.stack([(each**2).sum() for each in learnt]).sum()
    slopes = [2 * _PENALTY * each for each in learnt]
    # (3 x dim, tags), with which vectors are multiplied, and the gradient of the loss by it.
    shared = of_vectors @ shares
    of_shared = torch.zeros_like(shared)
    # (weights,) what each adds to a score, and the gradient of the loss by it.
    valued = weights * values
    of_valued = torch.zeros_like(valued)
    for block in blocks:
        # (entries,) -> (rows x tags,) -> (rows, tags): what each row adds to its tokens
        scores = weights.new_zeros(block.rows * total)
        scores.index_add_(0, block.entries, valued.index_select(0, block.numbers))
        scores = scores.view(block.rows, total)
        found = []
        for batch in block.batches:
            emissions = scores.index_select(0, batch.items[0])  # (batch x time, tags)
            for rows in batch.items[1:]:
                emissions += scores.index_select(0, rows)
            emissions.addmm_(batch.windows, shared)
            value, of_emissions, of_steps = batch.loss_and_slopes(emissions, steps)
            loss += value
            slopes[1] += of_steps
            of_shared.addmm_(batch.windows.t(), of_emissions)
            found.append(of_emissions)
        of_scores = scores.zero_()  # from here on
        for batch, of_emissions in zip(block.batches, found, strict=True):
            for rows in batch.items:
                of_scores.index_add_(0, rows, of_emissions)
        of_entries = of_scores.flatten().index_select(0, block.entries)
        of_valued.index_add_(0, block.numbers, of_entries)
    slopes[0].addcmul_(of_valued, values)
    slopes[2].addmm_(of_shared, shares.t())
    return loss, slopes


def _values(examples: FeatureExamples, keys: Ids) -> Tensor:
    """(weights,) of the feature of each weight; `keys` are (weights,)."""
    values = np.ones(len(keys))
    for group in examples.features:
        for place in np.flatnonzero(group.values != 1):
            values[np.isin(keys, group.keys[:, place])] = group.values[place]
    return torch.from_numpy(values)


def _pairs(examples: FeatureExamples, total: int, limit: int) -> tuple[Ids, npt.NDArray[np.int32]]:
    """Features and tags that are together in a corpus, the most frequent, ascending.

    Args:
        examples: the corpus.
        total: number of tags.
        limit: of pairs.
    """
    keys, tags, counts = [], [], []
    for group in examples.features:
        together, times = np.unique(
            group.items * np.int64(total) + examples.tags, return_counts=True
        )
        items, own = np.divmod(together, total)
        keys.append(group.keys[items].ravel())
        tags.append(np.repeat(own, group.keys.shape[1]))
        counts.append(np.repeat(times, group.keys.shape[1]))
    all_keys, all_tags = np.concatenate(keys), np.concatenate(tags)
    order = np.lexsort((all_tags, all_keys))
    all_keys, all_tags = all_keys[order], all_tags[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (all_keys[1:] != all_keys[:-1]) | (all_tags[1:] != all_tags[:-1])
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(np.concatenate(counts)[order], starts)
    # Stable: of equally frequent ones those with the smallest keys, whatever the corpus's order.
    kept = np.sort(np.argsort(-sums, kind="stable")[:limit])
    return all_keys[starts[kept]], all_tags[starts[kept]].astype(np.int32)
