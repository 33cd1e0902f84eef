"""Which sentences make up a batch: those of similar length, so that padding is small."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

# Padded tokens of a batch that is measured in sentences: bounds memory where texts are long.
_MOST_TOKENS = 65_536
# Batches that are shuffled as one: sentences of similar length come from among so many.
_POOL_BATCHES = 64


def batches_in_order(lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """Indices of batches of similar length, the shortest first: little padding, no chance.

    Args:
        lengths: (sentences,) number of words of each.
        batch_size: sentences a batch, at most.
        batch_tokens: tokens a batch, padding included, at most, where a sentence is no longer
            than that.
    """
    return _cut(np.argsort(lengths, kind="stable"), lengths, batch_size, batch_tokens)


def batches_at_random(
    lengths: Ids, batch_size: int, batch_tokens: int, generator: np.random.Generator
) -> list[Ids]:
    """Indices of an epoch's batches: sentences of similar length, otherwise in random order.

    The corpus is shuffled, cut into pools, each pool sorted by length and cut into batches, and
    the batches shuffled. A batch has `batch_tokens` tokens, padding included, or, where that is 0,
    `batch_size` sentences (fewer where they are so long that memory is at risk).
    """
    shuffled = generator.permutation(len(lengths))
    # With a token budget alone a batch of average sentences sets the size of a pool.
    average = max(1, int(lengths.mean()))
    size = max(1, batch_tokens // average) if batch_tokens else batch_size
    pools = max(1, round(len(lengths) / (size * _POOL_BATCHES)))
    batches = []
    for pool in np.array_split(shuffled, pools):
        ordered = pool[np.argsort(lengths[pool], kind="stable")]
        limit = len(lengths) if batch_tokens else batch_size
        batches += _cut(ordered, lengths, limit, batch_tokens or _MOST_TOKENS)
    return [batches[i] for i in generator.permutation(len(batches))]


def padding_share(lengths: Ids, batches: Sequence[Ids]) -> float:
    """How much of the batches' area is padding, 0 to 1."""
    area = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - float(lengths.sum()) / area if area else 0.0


def _cut(ordered: Ids, lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """Cut indices that are sorted by length into batches."""
    return list(_slices(ordered, lengths, batch_size, batch_tokens))


def _slices(ordered: Ids, lengths: Ids, batch_size: int, batch_tokens: int) -> Iterator[Ids]:
    start = 0
    for end in range(len(ordered)):
        rows = end - start
        too_wide = (rows + 1) * int(lengths[ordered[end]]) > batch_tokens
        if rows and (rows == batch_size or too_wide):
            yield ordered[start:end]
            start = end
    if start < len(ordered):
        yield ordered[start:]
