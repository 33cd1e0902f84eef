"""Find the weights of a CRF of word features.

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So all
weights are found at once by L-BFGS, from 0 and without random numbers.
"""

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.feature_crf.feature_crf import FeatureCrf, Ids
from tagkit.nn.feature_crf.feature_crf_blocks import Block, Examples, make_blocks
from tagkit.nn.optimizers import minimize, with_gradient

# Of the squares of all weights in the loss.
_PENALTY = 0.1
# Mean squared length of the vector of a token, for which `_PENALTY` is right.
_VECTOR_SQUARE, _LEAST_SQUARE = 4.5, 1e-30
_MAX_STEPS = 30  # with 20 and with 100 dev scores are the same but for chance
_MIN_STEPS = 20  # of a search that time ends: with 10 the network is better alone


def fit(
    crf: FeatureCrf,
    examples: Examples,
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
    blocks: Sequence[Block],
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


def _values(examples: Examples, keys: Ids) -> Tensor:
    """(weights,) of the feature of each weight; `keys` are (weights,)."""
    values = np.ones(len(keys))
    for group in examples.features:
        for place in np.flatnonzero(group.values != 1):
            values[np.isin(keys, group.keys[:, place])] = group.values[place]
    return torch.from_numpy(values)


def _pairs(examples: Examples, total: int, limit: int) -> tuple[Ids, npt.NDArray[np.int32]]:
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
