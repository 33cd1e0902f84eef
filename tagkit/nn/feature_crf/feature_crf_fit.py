"""The fit of a CRF of word features, and sentences as it reads them.

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So all
weights are found at once by L-BFGS, from 0 and without random numbers.

A token has some 25 features, most of which its word alone decides, and a feature has weights for
many tags: 9,000 sentences have 69 million pairs of a token and a weight. So what the features of a
group score is computed once for each of the distinct values that a block of sentences has, and then
read at each token.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.crf.chain import Chain, path_score
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.nn.feature_crf.feature_crf import FeatureCrf, Ids
from tagkit.nn.optimizers import minimize, with_gradient

Floats = npt.NDArray[np.float64]
_SENTENCES = 64  # of similar length, of which log-partitions are computed at once
_MAX_SCORES = 2**23  # of a block, were all of its values distinct; of 9,000 sentences a tenth are
# Of the squares of all weights in the loss.
_PENALTY = 0.1
# Mean squared length of the vector of a token, for which `_PENALTY` is right.
_VECTOR_SQUARE, _LEAST_SQUARE = 4.5, 1e-30
_MAX_STEPS = 30  # with 20 and with 100 dev scores are the same but for chance
_MIN_STEPS = 20  # of a search that time ends: with 10 the network is better alone


@dataclass(frozen=True, slots=True)
class Features:
    """Features of all tokens that the same thing decides, such as their word.

    Attributes:
        keys: (items, features) of each distinct value.
        items: (tokens,) int32, which of them a token has.
        values: (features,) of the features, by which weights are multiplied while they are learnt;
            a feature's value is the same in each group. A penalty weighs less on a large one.
    """

    keys: Ids
    items: npt.NDArray[np.int32]
    values: Floats

    @classmethod
    def of(cls, keys: Ids, values: Floats | None = None) -> "Features":
        """The distinct rows of (tokens, features); of features whose values are 1, for None."""
        # (tokens, features) -> (items, features) without repetitions, and (tokens,) places in it
        distinct, items = np.unique(keys, axis=0, return_inverse=True)
        values = np.ones(keys.shape[1]) if values is None else values
        # In NumPy 2.0 items are a column.
        return cls(distinct, items.ravel().astype(np.int32), values)


@dataclass(frozen=True, slots=True)
class FeatureExamples:
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


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Sentences that share what their features score.

    Attributes:
        entries: (entries,) row x tags + tag of each weight that a row has. Rows are the distinct
            values that the block has of all groups of features, one group after another.
        numbers: (entries,) which weight that is.
        rows: number of rows.
        batches: of the sentences.
    """

    entries: Tensor
    numbers: Tensor
    rows: int
    batches: "list[BlockBatch]"


@dataclass(frozen=True, slots=True)
class BlockBatch:
    """Sentences of similar length.

    Attributes:
        items: (groups of features, batch x time) int32, the row that a token has; on padding that
            of a first token.
        windows: (batch x time, 3 x dim) vectors before, at and after a token; likewise.
        mask: (batch, time) bool.
        tags: (batch, time) gold tag ids.
        weights: (batch,) of the loss of each.
        tag_weights: as of `fit`.
    """

    items: Tensor
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
        # The graph ends here: what emissions are sums of has its gradient in closed form (`fit`).
        leaves = emissions.detach().requires_grad_(), steps.detach().requires_grad_()
        # (batch x time, tags) -> (batch, time, tags); no scores of a start and an end, (tags,)
        own, free = leaves[0].view(*self.mask.shape, -1), emissions.new_zeros(len(steps))
        # Checked: `_batch` has made the mask from lengths.
        loss = self._loss(Chain(own, leaves[1], free, free, self.mask, checked=True))
        of_emissions, of_steps = torch.autograd.grad(loss, leaves)
        return loss.detach(), of_emissions, of_steps

    def _loss(self, chain: Chain) -> Tensor:
        # -log p(gold path) = log Z - score(gold path), (batch,)
        if self.tag_weights is None:
            each = log_partition(chain) - path_score(chain, self.tags)
        else:
            each = weighted_loss(chain, self.tags, self.tag_weights)
        return (each * self.weights).sum()


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

    BlockBatch by batch: scores of all tokens at once, and the graph of the loss, would take some
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


def make_blocks(
    crf: FeatureCrf, examples: FeatureExamples, vectors: Tensor, tag_weights: Tensor | None
) -> list[FeatureBlock]:
    """All sentences, those of similar length together.

    Args:
        crf: that has been told which weights there are.
        examples: the training corpus.
        vectors: (tokens, dim) of the same, at their length in the loss.
        tag_weights: as of `fit`.
    """
    windows = _windows(vectors, examples.lengths)
    # Tokens of a block. Each has a row in each group, and a row scores all tags, so a table of
    # scores, (rows, tags), would have `_MAX_SCORES` if no two tokens shared a row.
    most = _MAX_SCORES // (len(crf.transitions) * len(examples.features))
    found = []
    for batches in _in_blocks(examples.lengths, most):
        # Rows of the block's table so far: those of the groups before.
        entries, numbers, rows = [], [], 0
        places = [_places(examples.lengths, own) for own in batches]
        # (batch, time) of each batch -> (tokens of the block, with padding)
        tokens = np.concatenate([each.ravel() for each in places])
        items = np.empty((len(examples.features), len(tokens)), np.int32)  # (groups, tokens)
        for group, own_items in zip(examples.features, items, strict=True):
            # Of the corpus's distinct values those that the block has: (own items,), and for each
            # token its place among them, (tokens,).
            distinct, of_tokens = np.unique(group.items[tokens], return_inverse=True)
            # (entries,) each: item x tags + tag, and the number of the weight. Few of all pairs of
            # an item and a tag have a weight, so they are listed.
            cells, which = crf.entries(group.keys[distinct])
            # Groups lie one below the other in one table: both kinds of index are moved by the
            # rows above, so that a token's score is one sum over its rows, whatever their group.
            # 32 bits are enough for a block, and half the memory where there are millions.
            entries.append((cells + rows * len(crf.transitions)).astype(np.int32))
            numbers.append(which.astype(np.int32))
            own_items[:] = of_tokens + rows
            rows += len(distinct)
        # Where each batch ends in the tokens of the block; `split` needs no end of the last one.
        ends = np.cumsum([each.size for each in places])
        found.append(
            FeatureBlock(
                entries=torch.from_numpy(np.concatenate(entries)),
                numbers=torch.from_numpy(np.concatenate(numbers)),
                rows=rows,
                batches=[
                    _batch(examples, windows, own, here, torch.from_numpy(part), tag_weights)
                    for own, here, part in zip(
                        batches, places, np.split(items, ends[:-1], axis=1), strict=True
                    )
                ],
            )
        )
    return found


def _in_blocks(lengths: Ids, most: int) -> Iterator[list[Ids]]:
    """Numbers of the sentences of each batch, block by block.

    Args:
        lengths: (sentences,) number of tokens in each.
        most: tokens of a block, with padding, if it has more than one batch.
    """
    # Shortest first: a batch is padded to its longest, so lengths in it should differ little.
    # Stable: the order of equally long ones, and with it the rounding of sums, is always the same.
    order = np.argsort(lengths, kind="stable")
    batches: list[Ids] = []
    tokens = 0
    for begin in range(0, len(order), _SENTENCES):
        own = order[begin : begin + _SENTENCES]
        more = len(own) * int(lengths[own[-1]])  # the last is the longest
        if batches and tokens + more > most:
            yield batches
            batches, tokens = [], 0
        batches.append(own)
        tokens += more
    yield batches


def _places(lengths: Ids, own: Ids) -> Ids:
    """(batch, time) where the tokens of sentences are in a corpus; on padding a first token.

    Args:
        lengths: (sentences,) of the corpus.
        own: (batch,) numbers of sentences.
    """
    # Tokens before each sentence: (sentences,) -> (batch, 1)
    starts = (np.cumsum(lengths) - lengths)[own, None]
    steps = np.arange(int(lengths[own].max()))  # (time,)
    # (time,) < (batch, 1) -> (batch, time). Padding has to name some token, as what is read at it
    # is an index; the mask leaves it out of the loss, and its gradient is 0.
    return np.where(steps < lengths[own, None], starts + steps, starts)


def _batch(
    examples: FeatureExamples,
    windows: Tensor,
    own: Ids,
    places: Ids,
    items: Tensor,
    tag_weights: Tensor | None,
) -> BlockBatch:
    """Sentences of a corpus.

    Args:
        examples: the corpus.
        windows: (tokens, 3 x dim) of it.
        own: (batch,) which sentences.
        places: (batch, time) where their tokens are.
        items: (groups, batch x time) as of `BlockBatch`.
        tag_weights: as of `fit`.
    """
    weights = np.ones(len(own)) if examples.weights is None else examples.weights[own]
    return BlockBatch(
        items=items,
        windows=windows[torch.from_numpy(places.ravel())],
        mask=torch.from_numpy(np.arange(places.shape[1]) < examples.lengths[own, None]),
        tags=torch.from_numpy(examples.tags[places]),
        weights=torch.from_numpy(weights.astype(np.float64)),
        tag_weights=None if tag_weights is None else tag_weights.double(),
    )


def _windows(vectors: Tensor, lengths: Ids) -> Tensor:
    """(tokens, dim) -> (tokens, 3 x dim): those of the token before, here and after; 0 outside.

    Args:
        vectors: of sentences, one after another.
        lengths: (sentences,) number of tokens in each.
    """
    ends = np.cumsum(lengths)  # one behind the last token of each sentence
    before, after = vectors.roll(1, 0), vectors.roll(-1, 0)  # (tokens, dim); `roll` copies
    # The neighbour of a first or a last token is in another sentence.
    before[torch.from_numpy(ends - lengths)] = 0
    after[torch.from_numpy(ends - 1)] = 0
    return torch.cat((before, vectors, after), dim=1)
