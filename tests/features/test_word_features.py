"""Keys of features: equal exactly where the features that they stand for are equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.word_features import (
    AFFIXES_PER_WORD,
    affixes_of,
    cluster_keys,
    feature_groups,
    feature_keys,
    feature_values,
    frequent_affixes,
    word_shape,
)
from tagkit.text.records import Sentence

Feature = tuple[object, ...]


def sentence(words: list[str], *columns: list[str]) -> Sentence:
    return Sentence(tuple(words), features=tuple(map(tuple, columns)))


def named(given_words: list[str], *columns: list[str]) -> list[list[Feature]]:
    """The features of each token as tuples, in the order of their keys."""
    found = []
    for here in range(1, len(given_words) + 1):
        words = [None, *given_words, None]
        before, word, after = words[here - 1 : here + 2]
        assert word is not None
        own: list[Feature] = [("bias",), ("lower", word.lower()), ("shape", word_shape(word))]
        own += [("word", word)]
        own += [("prefix", length, word[:length]) for length in (1, 2, 3, 4)]
        own += [("suffix", length, word[-length:]) for length in (1, 2, 3, 4)]
        for side, other in (("before", before), ("after", after)):
            own += [(side, "lower", lower(other)), (side, "shape", shape(other))]
            own += [(side, length, other and other.lower()[-length:]) for length in (2, 3)]
        own += [("shapes before", shape(before), shape(word))]
        own += [("shapes after", shape(word), shape(after))]
        own += [("shapes", shape(before), shape(word), shape(after))]
        own += [("word before", lower(before), shape(word))]
        own += [("word after", shape(word), lower(after))]
        for number, values in enumerate(columns):
            padded = [None, *values, None]
            own += [(number, step, padded[here + step]) for step in (-1, 0, 1)]
        found.append(own)
    return found


def lower(word: str | None) -> str | None:
    return word and word.lower()


def shape(word: str | None) -> str | None:
    return word and word_shape(word)


WORDS = st.text("aAbB1-é", min_size=1, max_size=6)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6)


@given(SENTENCES, SENTENCES)
def test_keys_are_equal_exactly_where_the_features_are(one: list[str], two: list[str]) -> None:
    columns = [[word[0] for word in one], [word[0] for word in two]]
    keys = [*feature_keys(sentence(one, columns[0])).ravel()]
    keys += [*feature_keys(sentence(two, columns[1])).ravel()]
    names = [name for token in named(one, columns[0]) for name in token]
    names += [name for token in named(two, columns[1]) for name in token]
    assert len(keys) == len(names)
    pairs = set(zip(keys, names, strict=True))
    assert len(pairs) == len(set(keys)) == len(set(names))


def test_every_token_has_as_many_features_and_three_more_for_each_column() -> None:
    words = ["In", "Wales", "."]
    tags = ["IN", "NNP", "."]
    assert feature_keys(sentence(words)).shape == (3, 25)
    assert feature_keys(sentence(words, tags)).shape == (3, 28)
    assert feature_keys(sentence(words, tags, tags)).shape == (3, 31)
    # The same value in two columns is two features.
    assert len(np.unique(feature_keys(sentence(words, tags, tags))[1])) == 31


def test_keys_are_the_same_on_every_machine_and_in_every_version() -> None:
    # A saved model knows its features by these numbers.
    keys = feature_keys(sentence(["Zürich", "1999"], ["NE", "CARD"]))
    assert keys.dtype == np.int64
    of_word = [0, -1790089862445687031, 8785799860994603864, -1005008823035336026]
    assert keys[0, :4].tolist() == of_word  # every token's, lower case, shape, spelling
    of_column = [-1075665735636210840, -4263802445459682193, -4763536952154915871]
    assert keys[1, -3:].tolist() == of_column  # before, here, after
    of_cluster = [-5447111994751043391, -7628423864099683735, 7784157293513562275]
    assert cluster_keys(np.array([[7]])).ravel().tolist() == of_cluster  # here, before, after


def test_clusters_are_features_of_their_own_by_place_and_kind() -> None:
    numbers = np.array([[0, 0], [1, 0], [500, 500]])
    keys = cluster_keys(numbers)
    assert keys.shape == (3, 3, 2)
    named = {(number, place, kind): keys[word, place, kind] for word, row in enumerate(numbers)
             for place in range(3) for kind, number in enumerate(row)}  # fmt: skip
    words = feature_keys(sentence(["In", "Wales", "."], ["a"] * 3, ["b"] * 3))
    assert len({*named.values(), *words.ravel()}) == len(named) + len(np.unique(words))


def test_the_shapes_of_a_word_and_its_neighbours_count_more() -> None:
    strong = np.flatnonzero(feature_values(28) > 1)
    one, two = (feature_keys(sentence(words, ["c"] * 3))[1] for words in
                (["Ab", "cd", "EF"], ["Gh", "ij", "KL"]))  # fmt: skip
    # What has the same key although all of the three words are others: shapes, and nothing else.
    same = np.flatnonzero(one == two)
    shapes_alone = [place for place in same if place < 20 and place]  # 0 is the feature of all
    assert strong.tolist() == shapes_alone == [2, 13, 17]
    assert (np.delete(feature_values(28), strong) == 1).all()


def test_half_of_a_surrogate_pair_is_a_letter_like_any_other() -> None:
    one, other = (feature_keys(sentence([word])) for word in ("a\ud800", "a\ud801"))
    assert (one[0] == other[0]).tolist().count(False) >= 3  # word, lower, suffixes


def test_of_many_words_no_two_have_the_same_key() -> None:
    words = [f"w{number}" for number in range(20_000)]
    keys = feature_keys(sentence(words))
    # crc32 has 32 bits: among 20,000 words fewer than one pair is expected to be the same.
    assert len(np.unique(keys[:, 1])) >= 20_000 - 2


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_each_feature_is_in_one_group(columns: int) -> None:
    count = 25 + 3 * columns
    found = [place for group in feature_groups(count) for place in range(count)[group]]
    assert found == list(range(count))


def test_what_a_word_alone_decides_is_one_group_each() -> None:
    words = ["In", "Wales", "in", "Wales", "In"]
    keys = feature_keys(sentence(words))
    distinct = [len(np.unique(keys[:, group], axis=0)) for group in feature_groups(25)]
    assert distinct[0] == 3
    # Of what is before and after, the borders are words too, and case counts in the spelling.
    assert distinct[1:3] == [4, 4]


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
