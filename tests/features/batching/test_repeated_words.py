"""Names that documents repeat, beside loops over words."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.batching.encoding import Indexed
from tagkit.features.batching.repeated_words import repeated_words

WORDS = ["Rome", "ROME", "rome", "the", "The", "Ärzte", "ÄRZTE", "3M", "3m", "-", "東京", "İzmir"]


def indexed(sentences: list[list[str]]) -> Indexed:
    flat = [word for sentence in sentences for word in sentence]
    distinct = list(dict.fromkeys(flat))
    return Indexed(
        distinct=distinct,
        numbers=np.array([distinct.index(word) for word in flat]),
        lengths=np.array([len(sentence) for sentence in sentences]),
        features=np.zeros((0, len(flat)), dtype=np.int64),
    )


def found(*documents: list[list[str]]) -> list[set[int]]:
    """The groups of tokens, which are counted through all sentences, the first one first."""
    numbers = [number for number, document in enumerate(documents) for _ in document]
    sentences = [sentence for document in documents for sentence in document]
    repeated = repeated_words(indexed(sentences), np.array(numbers))
    assert [*repeated.tokens] == sorted(repeated.tokens)
    groups = defaultdict(set)
    for token, group in zip(repeated.tokens.tolist(), repeated.groups.tolist(), strict=True):
        groups[group].add(token)
    assert sorted(groups) == list(range(len(groups)))
    return sorted(groups.values(), key=min)


def test_names_are_the_same_whatever_the_case_behind_their_first_letter() -> None:
    assert found([["Rome", "is", "ROME"], ["rome", "and", "Rome"]]) == [{0, 2, 5}]
    assert found([["the", "3M"], ["the", "3M"]]) == []  # no capital letter comes first


def test_documents_know_nothing_of_each_other_and_one_sentence_is_none() -> None:
    assert found([["Rome"], ["Rome"]], [["Rome"], ["a", "Rome"]]) == [{0, 1}, {2, 4}]
    assert found([["Rome", "Rome"]], [["Rome"]]) == []
    assert found([["Rome", "Rome"], ["a"]]) == [{0, 1}]


SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)
DOCUMENT = st.lists(SENTENCE, min_size=1, max_size=4)


@given(st.lists(DOCUMENT, min_size=1, max_size=5))
def test_groups_are_those_of_loops_over_all_words(documents: list[list[list[str]]]) -> None:
    groups: dict[tuple[int, str], set[int]] = defaultdict(set)
    token = 0
    for number, document in enumerate(documents):
        for word in (word for sentence in document for word in sentence):
            if word[0].isupper() and len(document) > 1:
                groups[number, word.lower()].add(token)
            token += 1
    wanted = sorted((group for group in groups.values() if len(group) > 1), key=min)
    assert found(*documents) == wanted
