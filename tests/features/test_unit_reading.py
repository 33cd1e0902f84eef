"""Units in place of words, or of characters: ids, lengths, features and what a file may hold."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says
from vocabularies import NO_FEATURES, VOCABULARY

from tagkit.features.batching.encoding import encode, encode_words, index
from tagkit.features.unit_reading import UnitReading, cut_all, learn_units
from tagkit.features.vocabulary import RESERVED, UNKNOWN_ID, Vocabulary
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.records import Sentence
from tagkit.text.units import CharacterUnits

PAIRS = BytePairs((("Ġ", "a"), ("Ġa", "b"), ("c", "c")))
CHARACTERS = UnitReading(CharacterUnits(), "words")
IN_PLACE_OF_WORDS = replace(
    NO_FEATURES, words=PAIRS.names, units=UnitReading(PAIRS, "words"), vector_words=()
)
IN_PLACE_OF_CHARACTERS = replace(
    NO_FEATURES, chars=PAIRS.names, units=UnitReading(PAIRS, "characters")
)
texts = st.lists(
    st.lists(st.text("aAbc1é", min_size=1), min_size=1).map(lambda found: Sentence(tuple(found))),
    min_size=1, max_size=4,
)  # fmt: skip


def names(vocabulary: Vocabulary, sentences: list[Sentence]) -> list[list[str]]:
    """The units of each sentence by its ids in a batch."""
    batch = encode(sentences, vocabulary, {}, chars=False).batch(range(len(sentences)))
    ids = batch.words.word_ids[batch.tokens.rows]
    return [
        [vocabulary.words[number - RESERVED] for number in row[mask].tolist()]
        for row, mask in zip(ids, batch.tokens.mask, strict=True)
    ]


@given(texts)
def test_a_text_is_read_as_the_units_of_its_words_one_after_another(
    sentences: list[Sentence],
) -> None:
    # "B" and "1" are "b" and "0" for this vocabulary, before they are cut.
    wanted = [
        PAIRS.strings("".join(f" {word.lower().replace('1', '0')}" for word in sentence.words))
        for sentence in sentences
    ]
    assert names(IN_PLACE_OF_WORDS, sentences) == wanted
    assert index(sentences, IN_PLACE_OF_WORDS).lengths.tolist() == [*map(len, wanted)]


def test_a_unit_has_the_features_of_its_word() -> None:
    vocabulary = replace(IN_PLACE_OF_WORDS, features=(("N", "V"),))
    found = index(
        [Sentence(("ab", "cc"), None, (("N", "V"),)), Sentence(("b",), None, (("V",),))], vocabulary
    )
    assert [found.distinct[number] for number in found.numbers] == ["Ġab", "Ġ", "cc", "Ġ", "b"]
    assert found.features.tolist() == [[2, 3, 3, 3, 3]]
    assert found.lengths.tolist() == [3, 2]


def test_a_tagger_reads_units_where_characters_are_read_and_still_words() -> None:
    encoded = encode_words(["ab", "Acc"], IN_PLACE_OF_CHARACTERS, chars=True)
    spelt = [PAIRS.names[number - RESERVED] for number in encoded.chars]
    assert spelt == ["Ġab", "Ġ", "A", "cc"]  # as written: case is for words alone
    assert encoded.char_counts.tolist() == [1, 3]
    assert index([Sentence(("ab", "Acc"))], IN_PLACE_OF_CHARACTERS).distinct == ["ab", "Acc"]
    ends = IN_PLACE_OF_CHARACTERS.char_ids("x" * 10_000)
    assert len(ends) == 2 * 128 + 1  # of both ends, and the blank


def test_an_unknown_character_is_the_unknown_unit_and_no_bytes_are() -> None:
    characters = replace(IN_PLACE_OF_WORDS, words=(" ", "a"), units=CHARACTERS)
    ids = encode_words(["a", "x", " "], characters, chars=False).word_ids
    assert ids.tolist() == [RESERVED + 1, UNKNOWN_ID, RESERVED]
    units = IN_PLACE_OF_WORDS.units_of("漢\0")
    assert UNKNOWN_ID not in encode_words(units, IN_PLACE_OF_WORDS, chars=False).word_ids


def test_words_are_cut_once_for_all_places() -> None:
    calls: Counter[str] = Counter()

    def cut(word: str) -> list[str]:
        calls[word] += 1
        return [*word]

    units, lengths = cut_all(["ab", "c", "ab"], cut)
    assert (units, lengths.tolist()) == (["a", "b", "c", "a", "b"], [2, 1, 2])
    assert calls == {"ab": 1, "c": 1}


@pytest.mark.parametrize(
    "vocabulary", [IN_PLACE_OF_WORDS, IN_PLACE_OF_CHARACTERS, replace(VOCABULARY, units=CHARACTERS)]
)
def test_a_vocabulary_with_units_is_read_as_it_was_written(vocabulary: Vocabulary) -> None:
    assert Vocabulary.from_dict(vocabulary.to_dict()) == vocabulary
    assert "units" not in VOCABULARY.to_dict()  # of which earlier versions know nothing


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (7, Says("units", "object")),
        ({}, Says("units", "instead_of", '"words"', '"characters"')),
        ({"unit": [], "instead_of": "words"}, Says("units", '"character"', '"bpe"')),
        ({"unit": "bpe", "instead_of": "words"}, Says("merges", "strings")),
    ],
)  # fmt: skip
def test_units_that_no_model_has_are_refused(values: Any, problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        UnitReading.from_dict(values)
    assert str(caught.value) == problem


def test_units_are_learnt_from_words_with_the_blank_before_them() -> None:
    assert learn_units("word", "words", ["a"], 300) is None
    assert learn_units("character", "words", ["a"], 300) == CHARACTERS
    # "Ġ a" three times; "b c" twice, before any other pair.
    learnt = learn_units("bpe", "characters", ["a", "a", "a", "bc", "bc"], 259)
    assert learnt is not None
    assert learnt.units == BytePairs((("Ġ", "a"), ("b", "c"), ("Ġ", "bc")))
    assert learnt.known is not None
    assert len(learnt.known) == 259
