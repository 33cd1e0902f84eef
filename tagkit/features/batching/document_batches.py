"""Batches of whole documents: the encoder reads their sentences as one sequence.

Everything here counts sentences by index, and `documents` says of each the number of its document
(or of the part of it that is read at a time), which ascends. Where `documents` is None each
sentence stands by itself. A batch has the sentences of each of its documents side by side, in their
order; batches are cut between documents.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tagkit.features import Ids
from tagkit.features.batching.bucketing import (
    MAX_TOKENS,
    batches_at_random,
    batches_in_order,
    batches_with_little_padding,
    pools_at_random,
)
from tagkit.text.documents import parts_of
from tagkit.text.records import Sentence

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
