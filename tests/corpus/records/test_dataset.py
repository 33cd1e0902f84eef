"""Holding out a dev corpus."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.corpus.records.dataset import Split, draw, hold_out
from tagkit.errors import DataError
from tagkit.text.records import Sentence

LABELS = st.lists(st.lists(st.sampled_from("abc"), max_size=2, unique=True), min_size=2)


def split(labels: list[list[str]]) -> Split:
    sentences = tuple(
        Sentence((f"w{number}",), labels=tuple(names)) for number, names in enumerate(labels)
    )
    return Split("train.tsv", sentences, None)


@given(LABELS, st.floats(0.01, 0.99), st.integers(0, 5))
def test_each_class_has_its_share_of_what_is_held_out(
    labels: list[list[str]], fraction: float, seed: int
) -> None:
    whole = split(labels)
    kept, held = hold_out(whole, fraction, seed)
    assert sorted((*kept.sentences, *held.sentences), key=lambda s: int(s.words[0][1:])) == list(
        whole.sentences
    )
    total = len(labels)
    count = min(max(1, round(total * fraction)), total - 1)
    assert len(held.sentences) == count
    found = Counter(sentence.labels for sentence in held.sentences)
    for group, size in Counter(sentence.labels for sentence in whole.sentences).items():
        assert abs(found[group] - size * count / total) <= 1
    assert hold_out(whole, fraction, seed) == (kept, held)


def held_out(labels: str, seed: int) -> str:
    """The classes of a tenth of texts, each of which has the class that its letter names."""
    texts = hold_out(split([[label] for label in labels]), 0.1, seed)[1].sentences
    return "".join(label for text in texts for label in text.labels)


@pytest.mark.parametrize("seed", range(9))
def test_a_rare_class_has_a_text_in_what_is_held_out(seed: int) -> None:
    assert held_out("a" * 95 + "b" * 5, seed) == "a" * 9 + "b"
    assert held_out("a" * 98 + "b" * 2, seed) == "a" * 9 + "b"
    assert held_out("a" * 99 + "b", seed) == "a" * 10  # the only one is for learning
    # Of eleven classes, each within one text of its share: a has 8.
    several = held_out("a" * 80 + "bbccddeeffgghhiijjkk", seed)
    assert several.count("a") == 7
    assert len({*several}) == 4


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(0, 9))
def test_of_tags_some_that_are_not_o_are_held_out_and_some_are_kept(
    tagged: list[bool], seed: int
) -> None:
    sentences = tuple(
        Sentence((f"w{number}",), ("B-X" if is_tagged else "O",))
        for number, is_tagged in enumerate(tagged)
    )
    parts = hold_out(Split("train.conll", sentences, None), 0.1, seed)
    assert sum(len(part.sentences) for part in parts) == len(tagged)
    if sum(tagged) > 1:
        kept, held = (sum(each.tags != ("O",) for each in part.sentences) for part in parts)
        assert held >= 1
        assert kept >= 1


@given(st.lists(st.sampled_from("abc"), min_size=2), st.floats(0.01, 0.99), st.integers(0, 5))
def test_a_class_is_missing_in_what_is_held_out_only_where_no_place_is_left(
    labels: list[str], fraction: float, seed: int
) -> None:
    kept, held = hold_out(split([[label] for label in labels]), fraction, seed)
    found = held.classes()
    if any(count > 1 for label, count in kept.classes().items() if label not in found):
        share = len(held.sentences) / len(labels)
        assert all(n == 1 or n < share * labels.count(label) for label, n in found.items())


def test_a_class_of_several_is_held_out_with_a_text_that_train_can_spare() -> None:
    # Of b there are two texts, one of which is the only one of c.
    labels = [["a"]] * 18 + [["b", "c"], ["b"]]
    for seed in range(9):
        kept, held = hold_out(split(labels), 0.1, seed)
        assert (kept.classes(), held.classes()) == ({"a": 17, "b": 1, "c": 1}, {"a": 1, "b": 1})


def test_what_is_held_out_of_frequent_classes_is_that_of_earlier_versions() -> None:
    held = hold_out(split([["a"]] * 14 + [["b"]] * 6), 0.2, 3)[1]
    assert [text.words[0] for text in held.sentences] == ["w3", "w6", "w8", "w15"]


def test_the_seed_chooses_what_is_held_out() -> None:
    whole = split([["a"], ["b"]] * 50)
    chosen = {hold_out(whole, 0.1, seed)[1].sentences for seed in range(5)}
    assert len(chosen) == 5


@given(LABELS, st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_what_is_drawn_has_each_class_and_is_part_of_what_is_drawn_of_more(
    labels: list[list[str]], share: float, of_that: float, seed: int
) -> None:
    whole = split(labels)
    count = max(1, round(share * len(labels)))
    larger = draw(whole, count, seed).sentences
    smaller = draw(whole, max(1, round(of_that * count)), seed).sentences
    assert len(larger) == count
    assert {*smaller} <= {*larger}
    assert [s for s in whole.sentences if s in larger] == list(larger)  # in their order
    found = Counter(sentence.labels for sentence in larger)
    for group, size in Counter(sentence.labels for sentence in whole.sentences).items():
        assert abs(found[group] - size * count / len(labels)) <= 1


def test_sentences_are_drawn_by_the_seed_and_not_from_the_beginning() -> None:
    whole = split([[]] * 100)
    drawn = {draw(whole, 10, seed).sentences for seed in range(5)}
    assert len(drawn) == 5
    assert whole.sentences[:10] not in drawn
    assert draw(whole, 100, 1) == whole


def test_parts_of_one_seed_lie_within_each_other() -> None:
    whole = split([["a"], ["b"], []] * 40)
    parts = [{*draw(whole, count, 3).sentences} for count in (7, 15, 30, 60, 120)]
    assert all(smaller < larger for smaller, larger in pairwise(parts))


def test_no_more_can_be_drawn_than_there_are() -> None:
    with pytest.raises(DataError) as raised:
        draw(split([["a"], ["b"]]), 3, 1)
    assert str(raised.value) == "data.train_sentences=3: train.tsv has 2 to train on"


def test_one_text_cannot_be_split() -> None:
    with refuses(DataError, "train.tsv", "enough"):
        hold_out(split([["a"]]), 0.5, 1)


def test_a_split_counts_its_classes() -> None:
    assert split([["a"], ["a", "b"], []]).classes() == {"a": 2, "b": 1}
    assert split([["a"]]).scheme is None
    assert list(split([["a"]]).entities()) == []


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=5), st.floats(0.01, 0.99), st.integers(0, 9)
)
def test_of_several_documents_at_least_one_is_held_out_and_one_kept(
    sizes: list[int], fraction: float, seed: int
) -> None:
    sentences = [
        Sentence((f"w{place}",), document=number)
        for number, size in enumerate(sizes)
        for place in range(size)
    ]
    parts = hold_out(Split("train.conll", tuple(sentences), None), fraction, seed, by_document=True)
    kept, held = ({sentence.document for sentence in part.sentences} for part in parts)
    assert kept
    assert held
    assert not kept & held
    assert sum(len(part.sentences) for part in parts) == len(sentences)
