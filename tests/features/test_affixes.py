"""Prefixes, suffixes and shapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.affixes import (
    AFFIXES_PER_WORD,
    affixes_of,
    frequent_affixes,
    word_shape,
)


def test_the_affixes_of_a_word_are_shorter_than_the_word_and_in_lower_case() -> None:
    assert list(affixes_of("Berlin")) == ["b-", "be-", "ber-", "-n", "-in", "-lin", "-rlin", "=Xxx"]
    assert list(affixes_of("Of")) == ["o-", "", "", "-f", "", "", "", "=Xx"]
    assert list(affixes_of("a")) == ["", "", "", "", "", "", "", "=x"]


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("DC10-30", "XX00-00"),
        ("McDonald's", "XxXxx'x"),
        ("U.S.A.", "X.X.X."),
        ("1996-08-22", "00-00-00"),
        ("Αθήνα", "Xxx"),
        ("東京都", "aa"),
        ("...", ".."),
    ],
)
def test_a_shape_has_at_most_two_characters_of_a_kind_in_a_row(word: str, shape: str) -> None:
    assert word_shape(word) == shape


@given(st.text(min_size=1))
def test_every_word_has_equally_many_affixes_and_one_shape(word: str) -> None:
    found = list(affixes_of(word))
    assert len(found) == AFFIXES_PER_WORD
    assert found[-1] != "="
    assert all(affix == "" or len(affix) - 1 < len(word.lower()) for affix in found[:-1])


def test_affixes_of_two_words_are_known_and_those_of_one_are_not() -> None:
    assert frequent_affixes(["walking", "talking", "Rome"]) == (
        "-g", "-ing", "-king", "-ng", "=xx",
    )  # fmt: skip


def test_the_order_of_affixes_does_not_depend_on_that_of_the_words() -> None:
    words = ["walking", "talked", "walked", "talking", "Rome", "Roma"]
    assert frequent_affixes(words) == frequent_affixes(words[::-1])
