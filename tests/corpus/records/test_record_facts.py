"""The facts of all records are those that a look at each by itself finds."""

from collections import Counter

import pytest

from tagkit.corpus.records.record_facts import RecordFacts, facts_of
from tagkit.text.records import Document, Sentence, TextSpan


def test_of_no_record_nothing_is_known() -> None:
    assert facts_of([]) == RecordFacts()


def test_tags_and_their_steps_are_those_of_tagged_sentences() -> None:
    facts = facts_of(
        [Sentence(("a", "b"), ("B-X", "O")), Sentence(("c",)), Sentence(("d",), ("B-X",))]
    )
    assert facts.tags == {"B-X", "O"}
    assert facts.steps == Counter(
        {("O", "B-X"): 2, ("B-X", "O"): 2, ("O", "O"): 1}
    )  # both edges of a sentence count as O
    assert (facts.count, facts.has_sentences, facts.has_documents) == (3, True, False)


def test_the_first_records_without_labels_are_kept() -> None:
    items = [
        Document("a", labels=("x",)),
        Document("b", ()),
        Document("c"),
        Document("d", labels=("y", "z")),
        Document("e"),
    ]
    facts = facts_of(items)
    assert facts.without_class is items[1]
    assert facts.without_labels is items[2]
    assert facts.classes == {"x", "y", "z"}
    assert facts.has_several_classes
    assert not facts_of(items[:3]).has_several_classes


def test_names_are_those_of_the_first_record_and_then_new_ones() -> None:
    facts = facts_of(
        [
            Document("a", name="a", extra=(("n", 1), ("n", 2))),
            Document("b", name="b", extra=(("id", 1), ("n", 3), ("m", 4), ("m", 5))),
        ]
    )
    assert facts.names == ["n", "n", "id", "m"]
    assert (facts.has_ids, facts.ids_are_names) == (True, True)
    assert not facts_of([Document("b", extra=(("id", 1),))]).ids_are_names
    assert not facts_of([Sentence(("b",), extra=(("id", 1),))]).ids_are_names


def test_marks_features_and_texts_of_sentences_are_noticed() -> None:
    plain = facts_of([Sentence(("a",), document=-1)])
    assert (plain.has_marks, plain.has_features, plain.has_texts) == (False, False, False)
    rich = facts_of([Sentence(("a",), features=(("b",),), text="a", places=((0, 1),), document=3)])
    assert (rich.has_marks, rich.has_features, rich.has_texts) == (True, True, True)


@pytest.mark.parametrize(("places", "may"), [(((0, 1), (1, 2)), False), (((0, 2), (0, 2)), True)])
def test_spans_may_overlap_where_they_do_or_words_share_a_place(
    places: tuple[tuple[int, int], ...], may: bool
) -> None:
    assert facts_of([Sentence(("a", "b"), text="ab", places=places)]).may_overlap == may
    spans = tuple(TextSpan("ab"[start:end], start, end, "X") for start, end in places)
    assert facts_of([Document("ab", spans)]).may_overlap == may
