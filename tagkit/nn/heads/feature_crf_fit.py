"""Find the weights of a CRF of word features.

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So all
weights are found at once by L-BFGS, from 0 and without random numbers.

A token has some 25 features, most of which its word alone decides, and a feature has weights for
many tags: 4,000 sentences have 21 million pairs of a token and a weight. So what the features of a
group score is computed once for each of the distinct values that a batch has, with 8 million pairs,
and then read at each token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tagkit.nn.crf.chain import Chain, path_score
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.nn.heads.feature_crf import FeatureCrf, Ids
from tagkit.nn.optimizers import minimize

Floats = npt.NDArray[np.float64]
# Of the squares of all weights in the loss.
_PENALTY = 0.1
# Mean squared length of the vector of a token, for which `_PENALTY` is right.
_VECTOR_SQUARE, _LEAST_SQUARE = 4.5, 1e-30
_MAX_STEPS = 30  # with 20 and with 100 dev scores are the same but for chance
_MIN_STEPS = 20  # of a search that time ends: with 10 the network is better alone
_SENTENCES = 64  # of similar length, of which scores and log-partitions are computed at once


@dataclass(frozen=True, slots=True)
class Features:
    """Features of all tokens that the same thing decides, such as their word.

    Attributes:
        keys: (items, features) of each distinct value.
        items: (tokens,) which of them a token has.
    """

    keys: Ids
    items: Ids

    @classmethod
    def of(cls, keys: Ids) -> "Features":
        """The distinct rows of (tokens, features)."""
        distinct, items = np.unique(keys, axis=0, return_inverse=True)
        return cls(distinct, items.ravel())  # in NumPy 2.0 they are a column


@dataclass(frozen=True, slots=True)
class Examples:
    """Sentences to learn from, their tokens one after another.

    Attributes:
        features: of each token: those of all groups together, in any order.
        vectors: (tokens, dim) pretrained vector of each, 0 without one; dim 0 without any.
        tags: (tokens,) gold tag ids.
        lengths: (sentences,) number of tokens in each.
        weights: (sentences,) of the loss of each; None where all weigh the same.
    """

    features: Sequence[Features]
    vectors: Floats
    tags: Ids
    lengths: Ids
    weights: npt.NDArray[np.float32] | None = None


def fit(
    crf: FeatureCrf, examples: Examples, tag_weights: Tensor | None, max_seconds: float
) -> None:
    """Find the weights at which the penalised loss of a corpus is smallest.

    Args:
        crf: without weights, on the CPU.
        examples: the training corpus.
        tag_weights: (tags,) of the gold tags in the loss; None where all weigh the same.
        max_seconds: of the search, as of `minimize`. If it ends within a few steps, all weights
            stay 0.
    """
    total = len(crf.transitions)
    keys, tags = _pairs(examples, total, len(crf.keys))
    crf.place(keys, tags)
    vectors = torch.from_numpy(examples.vectors)
    # Of length 2 or so, whatever vectors they are: one penalty for all weights.
    squares = float((vectors**2).sum(1).mean()) if vectors.shape[1] else 0.0
    # Squares of next to nothing would make a factor that float32 does not hold.
    scale = (_VECTOR_SQUARE / squares) ** 0.5 if squares > _LEAST_SQUARE else 1.0
    batches = _batches(crf, examples, vectors * scale, tag_weights)
    learnt = [
        torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        for shape in ((len(keys),), (total, total), crf.vector_weights.shape)
    ]

    def loss() -> Tensor:
        found: Tensor = _Loss.apply(batches, *learnt)  # type: ignore[no-untyped-call]
        return found

    search = minimize(learnt, loss, _MAX_STEPS, max_seconds)
    if search.is_cut and search.evaluations < _MIN_STEPS:
        return  # weights near 0 would take from the network and give nothing
    weights, steps, of_vectors = (each.detach() for each in learnt)
    crf.keep(weights, steps, of_vectors * scale)


class _Loss(torch.autograd.Function):
    """The penalised loss of a corpus, which finds its gradient together with its value."""

    @staticmethod
    def forward(ctx: Any, batches: "Sequence[_Batch]", *learnt: Tensor) -> Tensor:
        value, ctx.slopes = _loss_and_slopes(batches, *learnt)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(grad * slope for slope in ctx.slopes)


def _loss_and_slopes(
    batches: "Sequence[_Batch]", weights: Tensor, steps: Tensor, of_vectors: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The penalised loss, and its gradient by each of what is learnt.

    Batch by batch: scores of all tokens at once, and the graph of the loss, would take some
    hundred megabytes with 4,000 sentences.
    """
    learnt, total = (weights, steps, of_vectors), len(steps)
    loss = _PENALTY * torch.stack([(each**2).sum() for each in learnt]).sum()
    slopes = [2 * _PENALTY * each for each in learnt]
    for batch in batches:
        # (entries,) -> (rows x tags,) -> (rows, tags): what each row adds to its tokens
        scores = weights.new_zeros(batch.rows * total)
        scores.index_add_(0, batch.entries, weights.index_select(0, batch.numbers))
        scores = scores.view(batch.rows, total)
        emissions = scores.index_select(0, batch.items[0])  # (batch x time, tags)
        for rows in batch.items[1:]:
            emissions += scores.index_select(0, rows)
        emissions.addmm_(batch.windows, of_vectors)
        value, of_emissions, of_steps = batch.loss_and_slopes(emissions, steps)
        loss += value
        slopes[1] += of_steps
        slopes[2].addmm_(batch.windows.t(), of_emissions)
        of_scores = scores.zero_()  # from here on
        for rows in batch.items:
            of_scores.index_add_(0, rows, of_emissions)
        found = of_scores.flatten().index_select(0, batch.entries)
        slopes[0].index_add_(0, batch.numbers, found)
    return loss, slopes


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sentences of similar length.

    Attributes:
        entries: (entries,) row x tags + tag of each weight that a row has. Rows are the distinct
            values that the batch has of all groups of features, one group after another.
        numbers: (entries,) which weight that is.
        rows: number of rows.
        items: for each group of features the (batch x time,) row that a token has; on padding that
            of the corpus's first token.
        windows: (batch x time, 3 x dim) vectors before, at and after a token; likewise.
        mask: (batch, time) bool.
        tags: (batch, time) gold tag ids.
        weights: (batch,) of the loss of each.
        tag_weights: as of `fit`.
    """

    entries: Tensor
    numbers: Tensor
    rows: int
    items: list[Tensor]
    windows: Tensor
    mask: Tensor
    tags: Tensor
    weights: Tensor
    tag_weights: Tensor | None

    @torch.enable_grad()
    def loss_and_slopes(self, emissions: Tensor, steps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The loss of the gold paths, summed, and its gradient by each argument.

        Args:
            emissions: (batch x time, tags).
            steps: (tags before, tags after).
        """
        leaves = emissions.detach().requires_grad_(), steps.detach().requires_grad_()
        own, free = leaves[0].view(*self.mask.shape, -1), emissions.new_zeros(len(steps))
        loss = self._loss(Chain(own, leaves[1], free, free, self.mask, checked=True))
        of_emissions, of_steps = torch.autograd.grad(loss, leaves)
        return loss.detach(), of_emissions, of_steps

    def _loss(self, chain: Chain) -> Tensor:
        if self.tag_weights is None:
            each = log_partition(chain) - path_score(chain, self.tags)  # (batch,)
        else:
            each = weighted_loss(chain, self.tags, self.tag_weights)
        return (each * self.weights).sum()


def _batches(
    crf: FeatureCrf, examples: Examples, vectors: Tensor, tag_weights: Tensor | None
) -> list[_Batch]:
    """All sentences, those of similar length together.

    Args:
        crf: that has been told which weights there are.
        examples: the training corpus.
        vectors: (tokens, dim) of the same, at their length in the loss.
        tag_weights: as of `fit`.
    """
    lengths, windows = examples.lengths, _windows(vectors, examples.lengths)
    starts = np.cumsum(lengths) - lengths
    order = np.argsort(lengths, kind="stable")
    found = []
    for begin in range(0, len(order), _SENTENCES):
        own = order[begin : begin + _SENTENCES]
        steps = np.arange(int(lengths[own].max()))
        mask = steps < lengths[own, None]  # (time,) < (batch, 1) -> (batch, time)
        places = np.where(mask, starts[own, None] + steps, 0)
        weights = np.ones(len(own)) if examples.weights is None else examples.weights[own]
        tokens = places.ravel()
        entries, numbers, items, rows = [], [], [], 0
        for group in examples.features:
            distinct, of_tokens = np.unique(group.items[tokens], return_inverse=True)
            cells, which = crf.entries(group.keys[distinct])
            entries.append(cells + rows * len(crf.transitions))
            numbers.append(which)
            items.append(torch.from_numpy(of_tokens + rows))
            rows += len(distinct)
        found.append(
            _Batch(
                # 32 bits are enough for a batch, and half the memory where there are millions.
                entries=torch.from_numpy(np.concatenate(entries).astype(np.int32)),
                numbers=torch.from_numpy(np.concatenate(numbers).astype(np.int32)),
                rows=rows,
                items=items,
                windows=windows[torch.from_numpy(tokens)],
                mask=torch.from_numpy(mask),
                tags=torch.from_numpy(examples.tags[places]),
                weights=torch.from_numpy(weights.astype(np.float64)),
                tag_weights=None if tag_weights is None else tag_weights.double(),
            )
        )
    return found


def _pairs(examples: Examples, total: int, limit: int) -> tuple[Ids, npt.NDArray[np.int32]]:
    """Features and tags that are together in a corpus, the most frequent, ascending.

    Args:
        examples: the corpus.
        total: number of tags.
        limit: of pairs.
    """
    keys, tags, counts = [], [], []
    for group in examples.features:
        together, times = np.unique(group.items * total + examples.tags, return_counts=True)
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
