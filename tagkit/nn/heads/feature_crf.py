"""A linear-chain CRF over features of words, beside the network.

    p(y | x) = exp(score(y)) / sum over all paths y' of exp(score(y'))
    score(y) = sum over t of T[y[t-1], y[t]] + sum over features f of token t of w[f, y[t]]

(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs.) Only weights w[f, y] of features that the training corpus has with the
tag y exist. Where there are pretrained vectors, those of the word and both neighbours add
V[y] [v[t-1]; v[t]; v[t+1]] (Turian et al. 2010).

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So all
weights are found at once, before the network's first step, by L-BFGS, from 0 and without random
numbers. From a few hundred sentences these features learn what the network does not, and the
network what they do not; so their probabilities are multiplied, each to the power of its share
(Hinton 2002, products of experts). Of two linear-chain CRFs that is one more: scores of emissions
and steps are added (`Chain.multiplied`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain, path_score
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.nn.optimizers import minimize

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# The key of a row that is not used: the largest, so that it is sorted to the end.
_UNUSED = np.iinfo(np.int64).max
# Of the squares of all weights in the loss.
_PENALTY = 0.1
# Mean squared length of the vector of a token, for which `_PENALTY` is right.
_VECTOR_SQUARE, _LEAST_SQUARE = 4.5, 1e-30
_MAX_STEPS = 30  # with 20 and with 100 dev scores are the same but for chance
_MIN_STEPS = 20  # of a search that time ends: with 10 the network is better alone
# Of the CRF in the product, of which the best on dev is chosen; the last is the network alone.
SHARES = (0.5, 0.3, 0.0)
_SENTENCES = 64  # of similar length, of which log-partitions are computed at once


@dataclass(frozen=True, slots=True)
class Examples:
    """Sentences to learn from, their tokens one after another.

    Attributes:
        keys: (tokens, features) of the features of each token.
        vectors: (tokens, dim) pretrained vector of each, 0 without one; dim 0 without any.
        tags: (tokens,) gold tag ids.
        lengths: (sentences,) number of tokens in each.
        weights: (sentences,) of the loss of each; None where all weigh the same.
    """

    keys: Ids
    vectors: Floats
    tags: Ids
    lengths: Ids
    weights: npt.NDArray[np.float32] | None = None


class FeatureCrf(nn.Module):
    """The CRF; all of it is saved, and none of it is learnt with the network.

    Attributes:
        keys: (weights,) of the features, ascending.
        tags: (weights,) int32 tag of each weight.
        weights: (weights,).
        transitions: (tags before, tags after).
        vector_weights: (3 x dim, tags) of the vectors before, at and after a token.
        share: () of it in the product, from 0 to below 1.
    """

    keys: Tensor
    tags: Tensor
    weights: Tensor
    transitions: Tensor
    vector_weights: Tensor
    share: Tensor

    def __init__(self, *, weights: int, tags: int, dim: int) -> None:
        """A model without features, whose share is 0.

        Args:
            weights: the most that it can have.
            tags: number of tags.
            dim: of the pretrained vectors; 0 without any.
        """
        super().__init__()
        # Buffers: neither an optimizer nor the mean of the weights has anything to do with them.
        self.register_buffer("keys", torch.full((weights,), _UNUSED))
        self.register_buffer("tags", torch.zeros(weights, dtype=torch.int32))
        self.register_buffer("weights", torch.zeros(weights))
        self.register_buffer("transitions", torch.zeros(tags, tags))
        self.register_buffer("vector_weights", torch.zeros(3 * dim, tags))
        self.register_buffer("share", torch.zeros(()))
        self._table: _Table | None = None
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

    def scores(self, keys: Ids) -> Tensor:
        """(items, tags) sums of the weights that features have.

        Args:
            keys: (items, features): a token's, or those of a word that all its tokens have.
        """
        if self._table is None or self._table.keys is not self.keys:
            self._table = _Table(self.keys, self.tags, self.weights)
        tags = len(self.transitions)
        cells, rows = self._table.entries(keys, tags)
        # Sums of few numbers each, in float64; on the CPU, as the table is there.
        found = np.bincount(cells, self._table.weights.numpy()[rows], len(keys) * tags)
        sums = torch.from_numpy(found.astype(np.float32)).to(self.weights.device)
        return sums.view(-1, tags)

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

    def fit(self, examples: Examples, tag_weights: Tensor | None, max_seconds: float) -> None:
        """Find the weights at which the penalised loss of a corpus is smallest.

        Args:
            examples: the training corpus.
            tag_weights: (tags,) of the gold tags in the loss; None where all weigh the same.
            max_seconds: of the search, as of `minimize`. If it ends within a few steps, all
                weights stay 0.
        """
        keys, tags = (torch.from_numpy(each) for each in _pairs(examples, len(self.keys)))
        self.keys[: len(keys)], self.tags[: len(tags)] = keys, tags
        self._table = None
        total, table = len(self.transitions), _Table(self.keys, self.tags, self.weights)
        places, rows = map(torch.from_numpy, table.entries(examples.keys, total))
        vectors = torch.from_numpy(examples.vectors)
        # Of length 2 or so, whatever vectors they are: one penalty for all weights.
        squares = float((vectors**2).sum(1).mean()) if vectors.shape[1] else 0.0
        # Squares of next to nothing would make a factor that float32 does not hold.
        scale = (_VECTOR_SQUARE / squares) ** 0.5 if squares > _LEAST_SQUARE else 1.0
        windows = _windows(vectors * scale, examples.lengths)
        batches = _batches(examples, tag_weights)
        in_batches = torch.cat([batch.places.flatten() for batch in batches])
        sizes = [batch.places.numel() for batch in batches]
        free = torch.zeros(total, dtype=torch.float64)
        weights, steps, of_vectors = learnt = [
            torch.zeros(shape, dtype=torch.float64, requires_grad=True)
            for shape in ((len(keys),), (total, total), (windows.shape[1], total))
        ]

        def penalised_loss() -> Tensor:
            found = _sums(places, weights.index_select(0, rows), len(windows) * total)
            emissions = found.view(-1, total) + windows @ of_vectors  # (tokens, tags)
            # Of all batches at once, and then split: the gradient of a selection is as large as
            # what it selects from. (tokens, tags) -> (cells of all batches, tags)
            cells = torch.split(emissions.index_select(0, in_batches), sizes)
            loss = _PENALTY * torch.stack([(each**2).sum() for each in learnt]).sum()
            for batch, own in zip(batches, cells, strict=True):
                own = own.view(*batch.mask.shape, total)  # (batch, time, tags)
                chain = Chain(own, steps, free, free, batch.mask, checked=True)
                loss = loss + batch.loss(chain)
            return loss

        search = minimize(learnt, penalised_loss, _MAX_STEPS, max_seconds)
        if search.is_cut and search.evaluations < _MIN_STEPS:
            return  # weights near 0 would take from the network and give nothing
        self.weights[: len(keys)] = weights.detach().float()
        self.transitions.copy_(steps.detach())
        self.vector_weights.copy_(of_vectors.detach() * scale)


def _forget_table(crf: FeatureCrf, _: object) -> None:
    # Loaded weights may be copied into the same tensor.
    crf._table = None


class _Table:
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

    def entries(self, keys: Ids, tags: int) -> tuple[Ids, Ids]:
        """Item x tags + tag, and row, of each weight that the features of items have.

        Args:
            keys: (items, features).
            tags: number of tags.
        """
        places = np.searchsorted(self._features, keys.ravel())
        known = self._features[places] == keys.ravel()
        item, place = np.flatnonzero(known) // keys.shape[1], places[known]
        counts = self._counts[place]
        # The rows of a feature follow each other: start, start + 1, ...
        ends = np.cumsum(counts)
        rows = np.repeat(self._starts[place] + counts - ends, counts) + np.arange(counts.sum())
        return np.repeat(item * tags, counts) + self._tags[rows], rows


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sentences of similar length.

    Attributes:
        places: (batch, time) number of each token among those of the corpus; 0 on padding.
        mask: (batch, time) bool.
        tags: (batch, time) gold tag ids.
        weights: (batch,) of the loss of each.
        tag_weights: as in `FeatureCrf.fit`.
    """

    places: Tensor
    mask: Tensor
    tags: Tensor
    weights: Tensor
    tag_weights: Tensor | None

    def loss(self, chain: Chain) -> Tensor:
        """The loss of the gold paths, summed."""
        if self.tag_weights is None:
            each = log_partition(chain) - path_score(chain, self.tags)  # (batch,)
        else:
            each = weighted_loss(chain, self.tags, self.tag_weights)
        return (each * self.weights).sum()


def _batches(examples: Examples, tag_weights: Tensor | None) -> list[_Batch]:
    lengths = examples.lengths
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    found = []
    for begin in range(0, len(order), _SENTENCES):
        own = order[begin : begin + _SENTENCES]
        steps = np.arange(int(lengths[own].max()))
        mask = steps < lengths[own, None]  # (time,) < (batch, 1) -> (batch, time)
        places = np.where(mask, starts[own, None] + steps, 0)
        weights = np.ones(len(own)) if examples.weights is None else examples.weights[own]
        found.append(
            _Batch(
                places=torch.from_numpy(places),
                mask=torch.from_numpy(mask),
                tags=torch.from_numpy(examples.tags[places]),
                weights=torch.from_numpy(weights.astype(np.float64)),
                tag_weights=None if tag_weights is None else tag_weights.double(),
            )
        )
    return found


def _pairs(examples: Examples, limit: int) -> tuple[Ids, npt.NDArray[np.int32]]:
    """Features and tags that are together in a corpus, the most frequent, ascending."""
    keys, tags = examples.keys.ravel(), np.repeat(examples.tags, examples.keys.shape[1])
    order = np.lexsort((tags, keys))
    keys, tags = keys[order], tags[order]
    first = np.ones(len(keys), np.bool_)
    first[1:] = (keys[1:] != keys[:-1]) | (tags[1:] != tags[:-1])
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=len(keys))
    # Stable: of equally frequent ones those with the smallest keys, whatever the corpus's order.
    kept = np.sort(np.argsort(-counts, kind="stable")[:limit])
    return keys[starts[kept]], tags[starts[kept]].astype(np.int32)


def _windows(vectors: Tensor, lengths: Ids) -> Tensor:
    """(tokens, dim) -> (tokens, 3 x dim): those of the token before, here and after; 0 outside.

    Args:
        vectors: of sentences, one after another.
        lengths: (sentences,) number of tokens in each.
    """
    ends = np.cumsum(lengths)
    before, after = vectors.roll(1, 0), vectors.roll(-1, 0)
    before[torch.from_numpy(ends - lengths)] = 0
    after[torch.from_numpy(ends - 1)] = 0
    return torch.cat((before, vectors, after), dim=1)


def _sums(places: Tensor, values: Tensor, total: int) -> Tensor:
    """(entries,) values, added up by place: (total,)."""
    return values.new_zeros(total).index_add(0, places, values)
