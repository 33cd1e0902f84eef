"""Bucketing: batches of sentences of similar length, so that there is little padding."""

from collections.abc import Iterator, Sequence

import numpy as np

from tagkit.features import Ids

# Tokens of a batch, padding included, when batch_size counts sentences: bounds memory if texts are
# long.
MAX_TOKENS = 65_536
# Share of padding at which a batch of prediction ends, if it has as many sentences as this: with
# fewer, the calls of each step cost more than the padding.
_MOST_PADDING = 0.05
_SMALLEST_BATCH = 24
# Batches in a pool, inside which sentences are sorted by length. More: less padding; fewer: batches
# that are more random.
_POOL_BATCHES = 64


def batches_in_order(lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """Indices of batches of sentences of similar length, the shortest first; nothing is random.

    Args:
        lengths: (sentences,) number of words in each.
        batch_size: maximum number of sentences in a batch.
        batch_tokens: maximum number of tokens in a batch, padding included; a longer sentence is
            a batch of its own.
    """
    # A stable sort keeps equal lengths in the order of the corpus: the same batches in every run.
    ordered = np.argsort(lengths, kind="stable")
    return list(_slices(ordered, lengths, batch_size, batch_tokens))


def batches_with_little_padding(lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """As `batches_in_order`, with smaller batches where larger ones would hold much padding.

    A few hundred sentences are of very different lengths: in batches of 128, windows of 20,000
    words of CoNLL-2000 were 19 % padding, and are 4 % in this way, at equal speed.
    """
    ordered = np.argsort(lengths, kind="stable")
    batches, start, total = [], 0, 0  # `total`: tokens of the batch without padding
    for end, length in enumerate(lengths[ordered].tolist()):
        # Before and after the sentence at `end`, which is the longest so far, has been added.
        rows, cells = end - start, length * (end + 1 - start)
        padded = rows >= _SMALLEST_BATCH and cells - total - length > _MOST_PADDING * cells
        if rows and (padded or rows == batch_size or cells > batch_tokens):
            batches.append(ordered[start:end])
            start, total = end, 0
        total += length
    return [*batches, ordered[start:]] if len(ordered) else []


def batches_at_random(
    lengths: Ids, batch_size: int, batch_tokens: int, generator: np.random.Generator
) -> list[Ids]:
    """Indices of an epoch's batches: sentences of similar length, otherwise in random order.

    The corpus is shuffled, cut into pools, each pool sorted by length and cut into batches, and
    the batches shuffled. A batch has at most `batch_tokens` tokens, padding included, or, if that
    is 0, `batch_size` sentences (fewer if they are so long that memory could run out).
    """
    batches: list[Ids] = []
    for ordered in pools_at_random(lengths, batch_size, batch_tokens, generator):
        limit = len(lengths) if batch_tokens else batch_size
        batches += _slices(ordered, lengths, limit, batch_tokens or MAX_TOKENS)
    # Without this second draw each pool's batches would come in order of length, shortest first.
    return [batches[i] for i in generator.permutation(len(batches))]


def pools_at_random(
    lengths: Ids, batch_size: float, batch_tokens: int, generator: np.random.Generator
) -> Iterator[Ids]:
    """The pools of `batches_at_random`, each sorted by length."""
    shuffled = generator.permutation(len(lengths))
    # With a token budget the size of a pool follows from a batch of average sentences.
    average = max(1, int(lengths.mean()))
    size = max(1, batch_tokens // average) if batch_tokens else batch_size
    pools = max(1, round(len(lengths) / (size * _POOL_BATCHES)))
    for pool in np.array_split(shuffled, pools):
        yield pool[np.argsort(lengths[pool], kind="stable")]


def padding_share(lengths: Ids, batches: Sequence[Ids]) -> float:
    """Fraction of the batches' cells that are padding, 0 to 1."""
    area = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - float(lengths.sum()) / area if area else 0.0


def _slices(ordered: Ids, lengths: Ids, batch_size: int, batch_tokens: int) -> Iterator[Ids]:
    """Cut indices that are sorted by length into batches."""
    start = 0
    for end in range(len(ordered)):
        rows = end - start
        # Lengths ascend, so the sentence to be added sets the width of the batch.
        too_wide = (rows + 1) * int(lengths[ordered[end]]) > batch_tokens
        if rows and (rows == batch_size or too_wide):
            yield ordered[start:end]
            start = end
    if start < len(ordered):
        yield ordered[start:]
