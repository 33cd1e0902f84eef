"""Batches whose words are cut anew each time."""

from dataclasses import replace

import numpy as np
import pytest
from vocabularies import NO_FEATURES

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import encode
from tagkit.features.batching.targets import Target
from tagkit.features.batching.unit_dropout import ResegmentedText, UnitDropout
from tagkit.features.batching.unit_stream import UnitStream, streams_of
from tagkit.features.unit_reading import UnitReading
from tagkit.features.vocabulary import RESERVED, Vocabulary
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.records import Sentence

PAIRS = BytePairs((("a", "b"), ("ab", "c")))
WORDS = replace(NO_FEATURES, words=PAIRS.names, units=UnitReading(PAIRS, "words"), vector_words=())
CHARACTERS = replace(NO_FEATURES, chars=PAIRS.names, units=UnitReading(PAIRS, "characters"))
TEXTS = [Sentence(("abc",) * count) for count in (20, 3, 40)]


def dropout(vocabulary: Vocabulary, rate: float) -> UnitDropout:
    targets = {
        "tags": Target(np.arange(63), "token"),
        "classes": Target(np.eye(3, dtype=bool), "sentence"),
    }
    if vocabulary.reads_units:
        del targets["tags"]
    encoded = encode(TEXTS, vocabulary, targets, chars=True, weights=[1, 2, 3])
    return UnitDropout(TEXTS, encoded, vocabulary, rate, chars=True)


def text(batch: Batch, row: int) -> str:
    """What a classifier reads of a text."""
    ids = batch.words.word_ids[batch.tokens.rows[row]][batch.tokens.mask[row]]
    return PAIRS.join([PAIRS.names[number - RESERVED] for number in ids.tolist()])


def spelt(batch: Batch) -> list[str]:
    """What a tagger reads of the words of a batch."""
    rows = [row for group in batch.words.char_ids for row in group.tolist()]
    return ["+".join(PAIRS.names[n - RESERVED] for n in row if n) for row in rows]


def test_a_classifier_reads_each_occurrence_in_units_of_its_own() -> None:
    found = dropout(WORDS, 0.5)
    batch = found.batch([2, 0], seed=1)
    assert [text(batch, row) for row in (0, 1)] == [" abc" * 40, " abc" * 20]
    lengths = batch.tokens.mask.sum(1)
    # Two units at least and four at most, which none of forty words has alone.
    assert 80 < lengths[0] < 160
    assert batch.target("classes").tolist() == [[False, False, True], [True, False, False]]
    assert batch.weights is not None
    assert batch.weights.tolist() == [3, 1]
    assert found.encoded.lengths.tolist() == [40, 6, 80]


def test_a_tagger_reads_each_distinct_word_of_a_batch_in_units_of_its_own() -> None:
    found = dropout(CHARACTERS, 0.5)
    seen = {tuple(spelt(found.batch([1, 2], seed))) for seed in range(40)}
    assert seen == {("Ġ+abc",), ("Ġ+ab+c",), ("Ġ+a+b+c",)}
    batch = found.batch([1], seed=1)
    assert batch.tokens.mask.shape == (1, 3)
    assert batch.target("tags").tolist() == [[20, 21, 22]]


@pytest.mark.parametrize("vocabulary", [WORDS, CHARACTERS], ids=["words", "characters"])
def test_one_seed_gives_one_batch_and_without_dropout_it_is_that_of_prediction(
    vocabulary: Vocabulary,
) -> None:
    def parts(batch: Batch[Arrays]) -> list[Arrays]:
        words = batch.words
        return [batch.tokens.rows, batch.tokens.mask, words.word_ids, *words.char_ids]

    def equal(one: Batch[Arrays], other: Batch[Arrays]) -> bool:
        pairs = zip(parts(one), parts(other), strict=False)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    found = dropout(vocabulary, 0.5)
    assert equal(found.batch([0, 1], 7), found.batch([0, 1], 7))
    assert not all(equal(found.batch([0, 1], 7), found.batch([0, 1], seed)) for seed in range(9))
    assert equal(dropout(vocabulary, 1e-9).batch([0, 1], 7), found.encoded.batch([0, 1]))


def test_a_text_is_cut_once_for_each_seed_and_read_as_it_was_cut_last() -> None:
    seeds = []

    def cut(seed: int | None) -> UnitStream:
        seeds.append(seed)
        return streams_of(np.arange(2, 8 + 2 * (seed or 0), dtype=np.int32), 2, 2)

    found = ResegmentedText(cut)
    for seed, units in ((None, 5), (3, 11), (3, 11), (1, 7)):
        if seed is not None:
            assert found.resegment(seed) is found.stream
        assert found.target_count == found.lengths.sum() == units
        assert len(found) == len(found.stream)
        batch, same = found.batch([0, len(found) - 1]), found.stream.batch([0, len(found) - 1])
        assert batch.target("units").tolist() == same.target("units").tolist()
    assert seeds == [None, 3, 1]
    assert found.documents is None
