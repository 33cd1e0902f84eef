"""Strings <-> ids."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.features.vocabulary import (
    PAD_ID,
    RESERVED,
    UNKNOWN_ID,
    Vocabulary,
    count_chars,
    count_surfaces,
    count_words,
    first_known,
    most_frequent,
    word_key,
)
from tagkit.text.records import Sentence

texts = st.text(alphabet="aAbBİßéÉ0123½٣日", max_size=4)


def vocabulary(
    *words: str,
    vector_words: tuple[str, ...] = (),
    only_vectors: bool = False,
    lowercase: bool = False,
    normalize_digits: bool = False,
) -> Vocabulary:
    return Vocabulary(
        words=words,
        vector_words=vector_words,
        only_vectors=only_vectors,
        chars=("a", "é"),
        affixes=("-s", "=Xx"),
        tags=("O", "B-X"),
        classes=(),
        features=(("NN", "VB"), ("x",)),
        lowercase=lowercase,
        normalize_digits=normalize_digits,
    )


@given(st.lists(texts, unique=True))
def test_each_word_has_the_id_of_its_place_behind_the_reserved_ones(words: list[str]) -> None:
    found = vocabulary(*words)
    assert [found.word_id(word) for word in words] == list(range(RESERVED, RESERVED + len(words)))
    assert {PAD_ID, UNKNOWN_ID} == set(range(RESERVED))


def test_characters_tags_and_features_have_ids_of_their_own() -> None:
    found = vocabulary("w")
    assert found.char_ids("éxa") == [3, UNKNOWN_ID, 2]
    assert found.char_ids("") == []
    assert [found.tag_id(tag) for tag in ("O", "B-X", "B-Y")] == [0, 1, None]
    assert found.feature_ids(0, ["VB", "NN", "x"]) == [3, 2, UNKNOWN_ID]
    assert found.feature_ids(1, ["x"]) == [2]


def test_characters_keep_their_case_where_words_do_not() -> None:
    found = vocabulary("a", lowercase=True)
    assert found.word_id("A") == 2
    assert found.char_ids("A") == [UNKNOWN_ID]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Oslo", 2),  # itself
        ("OSLO", 3),  # in lower case
        ("No7", 4),  # without digits
        ("NO77", 5),  # both
        ("Rome", UNKNOWN_ID),
        ("", UNKNOWN_ID),
    ],
)
def test_a_word_falls_back_to_lower_case_then_to_zeros(word: str, expected: int) -> None:
    assert vocabulary("Oslo", "oslo", "No0", "no00").word_id(word) == expected


def test_lower_case_goes_before_zeros() -> None:
    known = {"a1": 1, "A0": 2}
    assert first_known("A1", known.get) == 1
    assert first_known("A2", known.get) == 2
    assert first_known("A1", {"A1": 0, "a1": 1}.get) == 0  # 0 is an id as any other
    assert first_known("B", known.get) is None


def test_a_vector_is_found_by_the_word_itself_then_in_lower_case_then_by_zeros() -> None:
    found = vocabulary("oslo", vector_words=("oslo", "Oslo", "no0"), lowercase=True)
    words = ["oslo", "Oslo", "OSLO", "No7", "Rome"]
    assert [found.vector_row(word) for word in words] == [1, 2, 1, 3, 0]
    assert [found.word_id(word) for word in words] == [2, 2, 2, UNKNOWN_ID, UNKNOWN_ID]


def test_a_word_that_shall_have_its_vector_alone_has_the_id_of_padding() -> None:
    found = vocabulary("rome", vector_words=("oslo",), only_vectors=True)
    assert [found.word_id(word) for word in ("Oslo", "rome", "lima")] == [PAD_ID, 2, UNKNOWN_ID]


@given(texts, st.booleans(), st.booleans())
def test_a_key_is_its_own_key(word: str, lowercase: bool, digits: bool) -> None:
    key = word_key(word, lowercase, digits)
    assert word_key(key, lowercase, digits) == key
    assert not (digits and set(key) & set("123456789"))
    assert word_key(word, False, False) == word


def test_keys_normalize_case_and_ascii_digits() -> None:
    assert word_key("Flight-1999²", True, True) == "flight-0000²"
    assert word_key("Flight-1999", False, True) == "Flight-0000"
    assert word_key("Flight-1999", True, False) == "flight-1999"


@given(st.lists(st.lists(texts, min_size=1, max_size=4), max_size=5), st.booleans(), st.booleans())
def test_counts_are_those_of_the_keys(words: list[list[str]], lower: bool, digits: bool) -> None:
    sentences = [Sentence(tuple(sentence)) for sentence in words]
    one_by_one = Counter(word_key(w, lower, digits) for sentence in words for w in sentence)
    assert count_words(count_surfaces(sentences), lower, digits) == one_by_one


def test_the_most_frequent_come_first_and_equals_in_alphabetical_order() -> None:
    assert most_frequent(["b", "c", "a", "c", "b", "d"]) == ("b", "c", "a", "d")
    assert most_frequent([]) == ()
    assert most_frequent(count_chars(Counter({"ab": 2, "b": 1, "ca": 1}))) == ("a", "b", "c")


@given(st.lists(texts), st.randoms())
def test_their_order_does_not_depend_on_the_order_of_the_corpus(words: list[str], random) -> None:
    shuffled = list(words)
    random.shuffle(shuffled)
    assert most_frequent(shuffled) == most_frequent(words)


@given(
    st.lists(st.text(min_size=1, max_size=4).filter(lambda word: word != "O"), unique=True),
    st.lists(st.lists(st.text(max_size=2), unique=True), max_size=2),
    st.booleans(),
    st.booleans(),
)
def test_a_vocabulary_comes_back_from_json(
    words: list[str], features: list[list[str]], lowercase: bool, digits: bool
) -> None:
    before = Vocabulary(
        words=tuple(words),
        vector_words=tuple(reversed(words)),
        only_vectors=lowercase,
        chars=tuple(sorted(set("".join(words)))),
        affixes=tuple(f"-{word}" for word in words),
        tags=("O", *words),
        classes=(),
        features=tuple(map(tuple, features)),
        lowercase=lowercase,
        normalize_digits=digits,
    )
    after = Vocabulary.from_dict(json.loads(json.dumps(before.to_dict())))
    assert after == before
    assert [after.word_id(word) for word in words] == [before.word_id(word) for word in words]
    assert not [name for name in before.to_dict() if name.startswith("_")]


def test_a_part_that_is_missing_or_something_else_is_no_vocabulary() -> None:
    values = vocabulary("a").to_dict()
    with refuses(KeyError, "chars"):
        Vocabulary.from_dict({name: value for name, value in values.items() if name != "chars"})
    with pytest.raises(TypeError):
        Vocabulary.from_dict({**values, "words": 3})


def test_a_word_that_its_key_equals_is_in_memory_once() -> None:
    word, other = "".join(["ab", "c"]), "Abc"
    assert word_key(word, True, True) is word
    assert word_key(other, True, True) == "abc"
