"""Texts of two files that are compared by their characters."""

from collections.abc import Sequence

import pytest
from says import Says, refuses

from tagkit.errors import FormatError
from tagkit.evaluation.compare.characters import characters_of_both
from tagkit.evaluation.scores.pairing import Labelled
from tagkit.text.records import Document, Sentence, TextSpan
from tagkit.text.schemes import SpanTuple


def spans_of(tags: Sequence[str]) -> list[SpanTuple]:
    return [(at, at + 1, tag[2:]) for at, tag in enumerate(tags) if tag != "O"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("New York City y z", Says("p:7", "'x z'", "5", "'y z'")),
        ("New York City x y", Says("p:7", "'z'", "6", "'y'")),
        ("New York Town x z", Says("p:7", "'City x z'", "4", "'Town x z'")),
        ("New York City x", Says("p:7", "'z'", "6")),
    ],
)
def test_the_word_that_differs_is_named_where_words_hold_blanks(text: str, message: str) -> None:
    gold = Sentence(("New York City", "x", "z"), ("B-LOC", "O", "O"), lines=(4, 5, 6))
    predicted = Document(text, spans=(), line=7)
    sides = Labelled("g", [gold]), Labelled("p", [predicted])
    with pytest.raises(FormatError) as caught:
        characters_of_both(*sides, "blanks", spans_of, whole=False)
    assert str(caught.value) == message


def test_spans_of_two_words_in_one_place_are_compared_as_words() -> None:
    words, places = ("de", "le", "Oslo"), ((0, 2), (0, 2), (3, 7))
    gold = Labelled("g", [
        Sentence(words, ("B-X", "B-Y", "B-LOC"), text="du Oslo", places=places, lines=(2, 3, 4))
    ])  # fmt: skip
    text = Labelled("p", [Document("du Oslo", spans=(TextSpan("Oslo", 3, 7, "LOC"),), line=1)])
    for sides in ((gold, text), (text, gold)):
        with refuses(FormatError, "'de le Oslo'"):
            characters_of_both(*sides, "blanks", spans_of, whole=False)
    other = Labelled("p", [Document("de le Oslo", spans=(TextSpan("Oslo", 6, 10, "LOC"),), line=1)])
    ours, theirs = characters_of_both(gold, other, "blanks", spans_of, whole=False)
    assert ours.spans == [(0, 2, "X"), (2, 4, "Y"), (4, 8, "LOC")]
    assert theirs.spans == [(4, 8, "LOC")]
