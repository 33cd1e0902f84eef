"""Batches of whole documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.batching.document_batches import (
    batches_at_random,
    batches_in_order,
    batches_of_documents,
    batches_to_predict,
    batches_with_little_padding,
    count_documents,
    padding_share,
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


lengths = st.lists(st.integers(1, 60), min_size=1, max_size=200).map(np.array)


@given(lengths, st.integers(1, 9), st.sampled_from([0, 1, 40, 200]), st.integers(0, 9))
def test_batches_hold_every_sentence_once_and_keep_to_their_limits(
    found: np.ndarray, size: int, tokens: int, seed: int
) -> None:
    shuffled = batches_at_random(found, size, tokens, np.random.default_rng(seed))
    ordered = batches_in_order(found, size, tokens)
    padded_little = batches_with_little_padding(found, size, tokens or 10**6)
    for batches in (shuffled, ordered, padded_little):
        assert sorted(i for batch in batches for i in batch) == list(range(len(found)))
        for batch in batches:
            area = len(batch) * found[batch].max()
            assert not tokens or area <= tokens or len(batch) == 1
    assert tokens or all(len(batch) <= size for batch in shuffled)
    for batches in (ordered, padded_little):
        assert all(len(batch) <= size for batch in batches)
        longest = [int(found[batch].max()) for batch in batches]
        assert longest == sorted(longest)


def test_batches_at_random_are_those_of_the_generator_and_pad_little() -> None:
    found = np.random.default_rng(1).integers(1, 60, 5000)

    def batches(seed: int) -> list[list[int]]:
        drawn = batches_at_random(found, 32, 0, np.random.default_rng(seed))
        return [batch.tolist() for batch in drawn]

    assert batches(1) == batches(1) != batches(2)
    assert padding_share(found, [np.array(batch) for batch in batches(1)]) < 0.05
    # In the order of the corpus nearly half of the area would be padding.
    assert padding_share(found, list(np.arange(4992).reshape(-1, 32))) > 0.4
    by_tokens = batches_at_random(found, 32, 1000, np.random.default_rng(1))
    sizes = [len(batch) for batch in by_tokens]
    assert max(sizes) > 100  # short sentences
    assert min(sizes) < 20  # long ones


def test_batches_of_a_window_pad_little_and_are_not_smaller_than_that_needs() -> None:
    found = np.random.default_rng(1).integers(1, 60, 800)
    batches = batches_with_little_padding(found, 128, 16_384)
    assert padding_share(found, batches) < 0.05 < padding_share(found, [np.arange(800)])
    assert padding_share(found, batches_in_order(found, 128, 16_384)) > 0.09
    assert min(len(batch) for batch in batches[:-1]) >= 24
    same = np.full(300, 7)
    assert [len(batch) for batch in batches_with_little_padding(same, 128, 16_384)] == [
        128,
        128,
        44,
    ]


def test_a_token_budget_pads_little_whatever_the_number_of_sentences_says() -> None:
    found = np.random.default_rng(1).integers(1, 60, 5000)
    batches = batches_at_random(found, 1, 1000, np.random.default_rng(1))
    assert padding_share(found, batches) < 0.05
    assert max(len(batch) for batch in batches) > 100


def test_batches_come_in_random_order_of_sentences_drawn_at_random() -> None:
    found = np.random.default_rng(1).integers(1, 60, 1000)
    batches = batches_at_random(found, 10, 0, np.random.default_rng(1))
    longest = np.array([found[batch].max() for batch in batches])
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3
    # Of equal lengths, neighbours in the corpus are no more likely to meet than others.
    equal = batches_at_random(np.full(1000, 7), 10, 0, np.random.default_rng(1))
    assert all(int(batch.max() - batch.min()) > 100 for batch in equal)


def test_a_batch_of_long_texts_has_fewer_of_them() -> None:
    found = np.array([10_000] * 40 + [10] * 40)
    batches = batches_at_random(found, 32, 0, np.random.default_rng(1))
    assert sorted(i for batch in batches for i in batch) == list(range(80))
    areas = [len(batch) * int(found[batch].max()) for batch in batches]
    assert max(areas) <= 65_536
    assert max(len(batch) for batch in batches) == 32
