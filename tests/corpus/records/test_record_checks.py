"""Records of a program whose parts do not fit together are refused by their number."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from says import Says, refuses

import tagkit
from tagkit.corpus.records.answers import Answer, as_items
from tagkit.corpus.records.record_checks import RecordFacts, facts_of
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError
from tagkit.evaluation.scores.pairing import labelled_records
from tagkit.text.records import (
    Document,
    Prediction,
    Sentence,
    TaggedText,
    TaggedToken,
    TextSpan,
)

GOOD = [
    Sentence(("a", "b")),
    Sentence(("a", "b"), ("O", "B-X")),
    Sentence(("a", "b"), text="a b", places=((0, 1), (2, 3))),
    Document("abc", spans=(TextSpan("abc", 0, 3, "X"),)),
    Document("abc"),
    Document("abc", tokens=((0, 1), (1, 3))),
    Sentence(["a", "b"], ["O", "O"]),  # type: ignore[arg-type]
    # Words of one multiword token share a place.
    Sentence(("a", "b"), text="ab", places=((0, 2), (0, 2))),
]


def text_with(start: int, end: int) -> Document:
    return Document("abc", spans=(TextSpan("x", start, end, "X"),))


def answer_with(token: TaggedToken) -> TaggedText:
    return TaggedText("a b", ((token,),), ())


def test_records_that_fit_are_taken_as_they_are() -> None:
    assert list(as_items(GOOD, split=True)) == GOOD


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Sentence(("a", "b"), ("O",)), Says("tag", "2 words", "1")),
        (Sentence(("a",), ("O", "O")), Says("tag", "1 word", "2")),
        (Sentence(("a", "b"), text="a b"),
         Says("place", "2 words", "0")),
        (Sentence("To"), Says("words", "'To'")),  # type: ignore[arg-type]
        (Sentence(("a", "b"), "OO"), Says("tags", "'OO'")),  # type: ignore[arg-type]
        (Document("a b", labels="sport"),  # type: ignore[arg-type]
         Says("classes", "'sport'")),
        (Sentence(("a", "b"), text="a b", places=((0, 1), (2, 9))),
         Says("places", "3 characters", "2 to 9")),
        (Sentence(("a", "b"), text="a b", places=((2, 3), (0, 1))),
         Says("places", "order", "0 to 1")),
        (Document("a b", tokens=((0, 1), (2, 2))),
         Says("tokens", "3 characters", "2 to 2")),
        (Document("a b", tokens=((0, 2), (1, 3))),
         Says("tokens", "order", "1 to 3")),
        (text_with(5, 9), Says("spans", "3 characters", "5 to 9")),
        (text_with(1, 4), Says("spans", "3 characters", "1 to 4")),
        (text_with(2, 1), Says("spans", "3 characters", "2 to 1")),
        (text_with(1, 1), Says("spans", "3 characters", "1 to 1")),
        (Sentence(("a", "b"), features=(("x",),)),
         Says("feature", "2 words", "1")),
        (Sentence(("a", "b"), features=("xy",)),  # type: ignore[arg-type]
         Says("features", "'xy'")),
        (text_with(0, 1), Says("spans: ", "0 to 1", "'a'", "'x'")),
        (Prediction(("a", "b"), ("O",)), Says("tag", "2 words", "1")),
        (Prediction(("a", "b"), ("O", "O"), labels="x"),  # type: ignore[arg-type]
         Says("classes", "'x'")),
        (answer_with(TaggedToken("a", 0, 9, "O")),
         Says("tokens", "3 characters", "0 to 9")),
        (replace(answer_with(TaggedToken("a", 0, 1, "O")), spans=(TextSpan("b", 0, 1, "X"),)),
         Says("spans: ", "0 to 1", "'a'", "'b'")),
        (text_with(-1, 1), Says("spans", "3 characters", "-1 to 1")),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(record: Item | Answer, problem: Says) -> None:
    with refuses(DataError, "record 9: ", problem):
        list(as_items([*GOOD, record], split=True))
    with refuses(DataError, "gold: record 9: ", problem):
        labelled_records([*GOOD, record], "gold")


def test_spans_stand_in_the_order_of_the_text() -> None:
    spans = (TextSpan("c", 2, 3, "X"), TextSpan("a", 0, 1, "Y"))
    with refuses(DataError, "1", "record"):
        list(as_items([Document("abc", spans=spans)], split=True))
    (same,) = as_items([Document("abc", spans=spans[::-1])], split=True)
    assert isinstance(same, Document)
    assert same.spans == spans[::-1]


def test_a_sentence_without_words_is_not_written() -> None:
    with refuses(DataError, "1", "record"):
        list(as_items([Sentence(())], split=True))
    assert labelled_records([Sentence((), ())], "gold").items  # nothing to score, and no error


def test_numbers_and_arrays_of_numpy_are_taken(tmp_path: Path) -> None:
    zero, one, three = map(np.int64, (0, 1, 3))
    words: Any = np.array(["a", "b"])
    places: Any = ((zero, one), (np.int64(2), three))
    number: Any = np.int64(7)
    records = [
        Sentence(words, text="a b", places=places, document=number),
        Document("a b", spans=(TextSpan("a", zero, one, "X"),)),  # type: ignore[arg-type]
    ]
    sentence, document = as_items(records, split=False)
    assert sentence.words == ("a", "b")  # type: ignore[union-attr]
    assert document == Document("a b", spans=(TextSpan("a", 0, 1, "X"),))
    tagged: Any = np.array(["O", "B-X"])
    for name in ("a.conll", "a.jsonl"):
        assert tagkit.write([Sentence(words, tagged)], tmp_path / name) == 1
        (again,) = tagkit.read(tmp_path / name)
        assert isinstance(again, Sentence)
        assert (again.words, again.tags) == (("a", "b"), ("O", "B-X"))
    assert tagkit.write(records[1:], tmp_path / "b.jsonl") == 1
    (span,) = next(iter(tagkit.read(tmp_path / "b.jsonl"))).spans  # type: ignore[union-attr,misc]
    assert span == TextSpan("a", 0, 1, "X")


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
