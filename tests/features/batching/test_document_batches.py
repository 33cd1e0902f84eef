"""Batches of whole documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.batching.bucketing import (
    batches_at_random,
    batches_in_order,
    batches_with_little_padding,
)
from tagkit.features.batching.document_batches import (
    batches_of_documents,
    batches_to_predict,
    count_documents,
    pieces,
    share,
)

CORPUS = st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=9), min_size=1, max_size=40)


def arrays(corpus: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the sentences of each document, and the document of each sentence."""
    lengths = np.array([length for document in corpus for length in document])
    return lengths, np.repeat(np.arange(len(corpus)), [len(document) for document in corpus])


def is_whole(batch: np.ndarray, documents: np.ndarray) -> bool:
    """Whether a batch has all sentences of each of its documents, in order, side by side."""
    found = dict.fromkeys(documents[batch].tolist())
    return batch.tolist() == [i for d in found for i in np.flatnonzero(documents == d)]


@given(CORPUS, st.integers(1, 9), st.sampled_from([0, 40, 200]), st.integers(0, 9))
def test_batches_hold_every_document_once_and_whole(
    corpus: list[list[int]], size: int, tokens: int, seed: int
) -> None:
    lengths, documents = arrays(corpus)
    shuffled = batches_of_documents(lengths, documents, size, tokens, np.random.default_rng(seed))
    ordered = batches_to_predict(lengths, documents, size, tokens or 100, little_padding=True)
    for batches in (shuffled, ordered):
        assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
        assert all(is_whole(batch, documents) for batch in batches)
    for batch in shuffled:
        several = count_documents(batch, documents) > 1
        cells = len(batch) * lengths[batch].max()
        assert not (several and tokens) or cells <= tokens
        # Without the last document, whichever that is, it had too few sentences.
        largest = max(len(document) for document in corpus)
        assert not several or tokens or len(batch) <= size + largest / 2
    for batch in ordered:
        whole = [lengths[documents == d].sum() for d in dict.fromkeys(documents[batch].tolist())]
        assert len(whole) == 1 or len(whole) * max(whole) <= (tokens or 100)
        assert len(whole) <= size


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(1, 9),
       st.sampled_from([0, 40, 200]), st.integers(0, 9))  # fmt: skip
def test_documents_of_one_sentence_make_the_batches_of_sentences(
    found: list[int], size: int, tokens: int, seed: int
) -> None:
    lengths, documents = arrays([[length] for length in found])

    def drawn(*, by_document: bool) -> list[list[int]]:
        generator = np.random.default_rng(seed)
        batches = (
            batches_of_documents(lengths, documents, size, tokens, generator)
            if by_document
            else batches_at_random(lengths, size, tokens, generator)
        )
        return [batch.tolist() for batch in batches] + [[int(generator.integers(2**30))]]

    assert drawn(by_document=True) == drawn(by_document=False)
    for little_padding, plain in ((True, batches_with_little_padding), (False, batches_in_order)):
        wanted = plain(lengths, size, 100)
        for each in (documents, None):
            batches = batches_to_predict(lengths, each, size, 100, little_padding=little_padding)
            assert [b.tolist() for b in batches] == [b.tolist() for b in wanted]


def test_a_batch_of_training_has_about_as_many_sentences_as_it_should() -> None:
    lengths, documents = arrays(
        [[5] * int(n) for n in np.random.default_rng(1).integers(1, 30, 400)]
    )
    batches = batches_of_documents(lengths, documents, 32, 0, np.random.default_rng(1))
    assert np.mean([len(batch) for batch in batches]) == pytest.approx(32, abs=4)


def test_a_long_sentence_does_not_make_a_batch_of_many_short_ones_wide() -> None:
    lengths, documents = arrays([[1] * 400, [1] * 400, [400], [200, 200]])
    batches = batches_to_predict(lengths, documents, 9, 2000, little_padding=False)
    assert [sorted({*documents[batch].tolist()}) for batch in batches] == [[0, 1], [2, 3]]


def test_shares_and_pieces_cut_between_documents() -> None:
    documents = np.array([0, 0, 0, 1, 2, 2, 3, 3, 4])
    batch = np.array([3, 0, 1, 2, 6, 7, 8])  # documents 1, 0, 3 and 4
    assert [part.tolist() for part in pieces(batch, documents, 2)] == [[3, 0, 1, 2], [6, 7, 8]]
    assert [len(part) for part in pieces(batch, documents, 99)] == [1, 3, 2, 1]
    assert share(batch, documents, 0, 2).tolist() == [3, 6, 7]
    assert share(batch, documents, 1, 2).tolist() == [0, 1, 2, 8]
    assert share(batch, documents, 4, 5).tolist() == []
    assert count_documents(batch, documents) == 4
    # Without documents each sentence stands by itself.
    assert [part.tolist() for part in pieces(batch, None, 2)] == [[3, 0, 1, 2], [6, 7, 8]]
    assert share(batch, None, 1, 2).tolist() == [0, 2, 7]
