"""Inputs -> sentences; predictions -> offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.errors import DataError
from tagkit.models.answers.texts import Input, Text, as_tagged, as_text
from tagkit.text.records import Document, LabelScore, Prediction, Sentence, Span, TextSpan

TEXT = "Ada runs.  Ben sits.\nCleo hums."


def words_of(text: Text) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in text.sentences]


def test_a_raw_text_is_its_sentences_or_read_as_one() -> None:
    expected = [("Ada", "runs", "."), ("Ben", "sits", "."), ("Cleo", "hums", ".")]
    assert words_of(as_text(TEXT, "multilingual", whole=False)) == expected
    whole = as_text(TEXT, "multilingual", whole=True)
    assert words_of(whole) == [sum(expected, ())]
    assert whole.text == TEXT


def test_spans_that_a_text_has_already_do_not_change_how_it_is_read() -> None:
    # In a corpus to learn from no sentence ends inside a span.
    spans = (TextSpan("runs.  Ben", 4, 14, "X"), TextSpan("sits.\nCleo", 15, 25, "X"))
    assert as_text(Document(TEXT, spans=spans), "multilingual", whole=False) == as_text(
        TEXT, "multilingual", whole=False
    )


@given(st.text(max_size=60))
def test_words_of_a_raw_text_are_where_their_places_say(raw: str) -> None:
    text = as_text(raw, "multilingual", whole=False)
    assert text.text == raw
    for sentence, places in zip(text.sentences, text.places, strict=True):
        assert sentence.words == tuple(raw[start:end] for start, end in places)


@pytest.mark.parametrize(
    ("item", "text", "places"),
    [
        (["New York", "é"], "New York é", [(0, 8), (9, 10)]),
        (Sentence(("a", "bc")), "a bc", [(0, 1), (2, 4)]),
        (Sentence(("a", "bc"), text=" abc", places=((1, 2), (2, 4))), " abc", [(1, 2), (2, 4)]),
        (Document("x a, bc", tokens=((2, 3), (5, 7))), "x a, bc", [(2, 3), (5, 7)]),
    ],
)
def test_words_keep_the_text_that_they_come_from_or_are_joined_by_spaces(
    item: Input, text: str, places: list[tuple[int, int]]
) -> None:
    found = as_text(item, "multilingual", whole=False)
    assert found.text == text
    assert [list(each) for each in found.places] == [places]
    assert words_of(found) == [tuple(text[start:end] for start, end in places)]


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ([], "[]"),
        (["a", ""], "['a', '']"),
        (("",), "('',)"),
    ],
)
def test_a_sequence_without_words_or_with_an_empty_one_is_refused(item: Input, shown: str) -> None:
    with refuses(DataError, shown):
        as_text(item, "multilingual", whole=False)


def test_tags_and_spans_have_their_offsets_in_the_text() -> None:
    text = as_text("In New  York.\nAda!", "multilingual", whole=False)
    assert words_of(text) == [("In", "New", "York", "."), ("Ada", "!")]
    tagged = as_tagged(text, [
        Prediction(text.sentences[0].words, ("O", "B-LOC", "I-LOC", "O"), (Span(1, 3, "LOC", 0.5),),
                   probabilities=(0.9, 0.8, 0.7, 0.6)),
        Prediction(text.sentences[1].words, ("B-PER", "O"), (Span(0, 1, "PER"),)),
    ])  # fmt: skip
    assert tagged.spans == (
        TextSpan("New  York", 3, 12, "LOC", 0.5),
        TextSpan("Ada", 14, 17, "PER"),
    )
    assert [(t.text, t.start, t.end, t.tag, t.probability) for t in tagged.tokens][1:5] == [
        ("New", 3, 6, "B-LOC", 0.8),
        ("York", 8, 12, "I-LOC", 0.7),
        (".", 12, 13, "O", 0.6),
        ("Ada", 14, 17, "B-PER", None),
    ]


def test_a_text_that_is_one_sentence_has_its_classes_and_attention() -> None:
    text = as_text(["hello", "there"], "multilingual", whole=True)
    scores = (LabelScore("greet", 0.75), LabelScore("leave", 0.25))
    prediction = Prediction(("hello", "there"), (), labels=("greet",), scores=scores,
                            attention=(0.9, 0.1))  # fmt: skip
    tagged = as_tagged(text, [prediction])
    assert (tagged.labels, tagged.scores) == (("greet",), scores)
    assert [(token.tag, token.attention) for token in tagged.tokens] == [(None, 0.9), (None, 0.1)]


def test_a_sentence_whose_parts_do_not_fit_is_refused() -> None:
    with refuses(DataError, "input", "2", "0"):
        as_text(Sentence(("a", "b"), text="a b"), "multilingual", whole=False)


def test_no_answer_depends_on_the_tags_of_a_sentence() -> None:
    tags = (None, (), ("O",), ("O", "O"))
    found = [as_text(Sentence(("a", "b"), each), "multilingual", whole=False) for each in tags]
    assert [words_of(text) for text in found] == [[("a", "b")]] * 4
