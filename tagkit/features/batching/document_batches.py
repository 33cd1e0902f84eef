"""Batches of sentences of similar length, so that there is little padding, or of whole documents.

Of a document that is a batch's the encoder reads the sentences as one sequence.

Everything here counts sentences by index, and `documents` says of each the number of its document
(or of the part of it that is read at a time), which ascends. Where `documents` is None each
sentence stands by itself. A batch has the sentences of each of its documents side by side, in their
order; batches are cut between documents.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tagkit.features import Ids
from tagkit.text.documents import parts_of
from tagkit.text.records import Sentence

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


# Cells of the sentences of a batch of prediction, padding included, for each cell of its documents:
# one long sentence makes all others of the batch as wide.
_MAX_WIDENING = 8


def document_numbers(
    sentences: Sequence[Sentence], limit: int, *, marked_only: bool = False
) -> Ids | None:
    """`documents` of some sentences, none of more than `limit` words; None for a limit of 0."""
    if not limit:
        return None
    return np.array(parts_of(sentences, limit, marked_only=marked_only), dtype=np.int64)


def documents_of_rows(indices: Ids, documents: Ids | None) -> Ids | None:
    """(batch,) number of the document of each row of a batch, from 0; None if each has one row."""
    if documents is None:
        return None
    own = documents[indices]
    changes = np.concatenate(([False], own[1:] != own[:-1]))
    # With one sentence in each there is nothing to join.
    return None if changes[1:].all() else np.cumsum(changes)


def batches_of_documents(
    lengths: Ids,
    documents: Ids | None,
    batch_size: int,
    batch_tokens: int,
    generator: np.random.Generator,
) -> list[Ids]:
    """As `bucketing.batches_at_random`, with documents, if there are any, in place of sentences.

    A batch has about `batch_size` sentences, as near as whole documents come to that, and one
    document at least.
    """
    if documents is None:
        return batches_at_random(lengths, batch_size, batch_tokens, generator)
    whole = _Documents(lengths, documents)
    per_batch = batch_size / (len(lengths) / len(whole.lengths))  # documents, on average
    found = []
    for pool in pools_at_random(whole.lengths, per_batch, batch_tokens, generator):
        limit = len(lengths) if batch_tokens else batch_size
        found += [*whole.batches(pool, limit, batch_tokens or MAX_TOKENS)]
    return [whole.sentences(found[i]) for i in generator.permutation(len(found))]


def batches_to_predict(
    lengths: Ids, documents: Ids | None, batch_size: int, batch_tokens: int, *, little_padding: bool
) -> list[Ids]:
    """Batches of documents of similar length, the shortest first; nothing is random.

    Args:
        lengths: (sentences,) number of words in each.
        documents: (sentences,) number of each one's document, or None.
        batch_size: maximum number of documents in a batch.
        batch_tokens: maximum number of tokens in a batch, padding of documents included; a longer
            document is a batch of its own.
        little_padding: whether batches are smaller where larger ones would hold much padding.
    """
    cut = batches_with_little_padding if little_padding else batches_in_order
    if documents is None:
        return cut(lengths, batch_size, batch_tokens)
    whole = _Documents(lengths, documents)
    batches = cut(whole.lengths, batch_size, batch_tokens)
    most = _MAX_WIDENING * batch_tokens
    return [whole.sentences(part) for batch in batches for part in whole.narrowed(batch, most)]


def pieces(indices: Ids, documents: Ids | None, count: int) -> list[Ids]:
    """`count` pieces of a batch at most, whose numbers of documents differ by one at most."""
    borders = _borders(indices, documents)
    firsts = [part[0] for part in np.array_split(borders, min(count, len(borders)))]
    return np.split(indices, firsts[1:])


def share(indices: Ids, documents: Ids | None, rank: int, count: int) -> Ids:
    """Every `count`th document of a batch, from number `rank` on."""
    if documents is None:
        return indices[rank::count]
    each = np.split(indices, _borders(indices, documents)[1:])[rank::count]
    return np.concatenate(each) if each else indices[:0]


def count_documents(indices: Ids, documents: Ids | None) -> int:
    """Number of documents of a batch."""
    return len(_borders(indices, documents))


def _borders(indices: Ids, documents: Ids | None) -> Ids:
    """(documents,) where the sentences of each begin in a batch."""
    if documents is None or not len(indices):
        return np.arange(len(indices))
    own = documents[indices]
    return np.flatnonzero(np.concatenate(([True], own[1:] != own[:-1])))


class _Documents:
    """The documents of a corpus.

    Attributes:
        lengths: (documents,) number of words in each.
    """

    def __init__(self, lengths: Ids, documents: Ids) -> None:
        self._starts = _borders(np.arange(len(lengths)), documents)
        self._ends = np.append(self._starts[1:], len(lengths))
        self._widths = np.maximum.reduceat(lengths, self._starts)  # of the longest sentence
        self.lengths: Ids = np.add.reduceat(lengths, self._starts)

    def sentences(self, chosen: Ids) -> Ids:
        """The sentences of some documents."""
        return np.concatenate([np.arange(self._starts[i], self._ends[i]) for i in chosen])

    def batches(self, ordered: Ids, batch_size: int, batch_tokens: int) -> Iterator[Ids]:
        """Cut documents that are sorted by length into batches of about `batch_size` sentences."""
        start = rows = widest = 0
        for end, chosen in enumerate(ordered):
            size = int(self._ends[chosen] - self._starts[chosen])
            widest = max(widest, int(self._widths[chosen]))
            # Lengths ascend, so the document to be added is the longest. Its sentences, one below
            # the other, are padded too.
            cells = max((end + 1 - start) * int(self.lengths[chosen]), (rows + size) * widest)
            # The nearer to `batch_size` the better: below or above.
            full = 2 * rows + size > 2 * batch_size
            if rows and (full or cells > batch_tokens):
                yield ordered[start:end]
                start, rows, widest = end, 0, int(self._widths[chosen])
            rows += size
        if start < len(ordered):
            yield ordered[start:]

    def narrowed(self, batch: Ids, cells: int) -> Iterator[Ids]:
        """A batch, in halves where its sentences, padded, have too many cells."""
        rows = int((self._ends[batch] - self._starts[batch]).sum())
        if len(batch) > 1 and rows * int(self._widths[batch].max()) > cells:
            for half in np.array_split(batch, 2):
                yield from self.narrowed(half, cells)
        else:
            yield batch
