"""A text and its labels as pieces, and those as a line of JSON."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from kinds import CLASSES, answers_of

from tagkit.models.answers.kind import Style
from tagkit.models.answers.pieces import (
    Highlighted,
    TextPiece,
    from_line,
    span_pieces,
    token_pieces,
)
from tagkit.text.records import LabelScore, TaggedText, TaggedToken, TextSpan

TEXT = "Ada saw\tNew York."
TOKENS = ((("Ada", 0), ("saw", 4), ("New", 8), ("York", 12), (".", 16)), "NVNN.")


def tagged(*spans: TextSpan) -> TaggedText:
    words, tags = TOKENS
    tokens = tuple(
        TaggedToken(text, start, start + len(text), tag, 0.5)
        for (text, start), tag in zip(words, tags, strict=True)
    )
    return TaggedText(TEXT, (tokens[:2], tokens[2:]), spans)


def pieces(found: Iterator[TextPiece]) -> list[TextPiece]:
    return [piece for piece in found if piece.text]


def test_spans_and_the_text_between_them_are_the_whole_text() -> None:
    answer = tagged(TextSpan("Ada", 0, 3, "PER", 0.9), TextSpan("New York", 8, 16, "LOC"))
    found = pieces(span_pieces(answer))
    assert found == [
        TextPiece("Ada", "PER", 0.9),
        TextPiece(" saw\t"),
        TextPiece("New York", "LOC"),
        TextPiece("."),
    ]
    assert "".join(piece.text for piece in found) == TEXT
    assert pieces(span_pieces(tagged())) == [TextPiece(TEXT)]


def test_tokens_with_tags_are_parted_by_blanks() -> None:
    found = pieces(token_pieces(tagged()))
    assert found[:3] == [TextPiece("Ada", "N", 0.5), TextPiece(" "), TextPiece("saw", "V", 0.5)]
    assert found[-3:] == [TextPiece("York", "N", 0.5), TextPiece(" "), TextPiece(".", ".", 0.5)]
    assert found[3] == TextPiece("\t")  # what is there stays


def test_a_text_that_has_classes_alone_is_one_piece() -> None:
    answer = TaggedText("a b", ((TaggedToken("a", 0, 1, None),),), ())
    kind = answers_of(CLASSES, classes=("x",))
    assert kind.shown(answer, Style("show", kind)).pieces == (TextPiece("a b"),)


texts = st.text(st.characters())  # halves of surrogate pairs too
probabilities = st.none() | st.floats(0, 1)


@given(
    st.lists(st.builds(TextPiece, texts, st.none() | texts, probabilities), max_size=4),
    st.booleans(),
    st.none() | st.lists(st.builds(LabelScore, texts, st.floats(0, 1)), max_size=3).map(tuple),
)
def test_a_line_is_read_back(
    parts: list[TextPiece], spans: bool, classes: tuple[LabelScore, ...] | None
) -> None:
    shown = Highlighted(tuple(parts), spans, classes, True)
    line = shown.to_line()
    assert "\n" not in line
    assert from_line(line) == shown
