"""Tagged texts -> JSON Lines."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tagkit.formats.jsonl import to_json
from tagkit.sentence import TaggedText, TaggedToken, TextSpan

TEXT = "Åse saw\tOslo"


def tagged(probability: float | None = None) -> TaggedText:
    return TaggedText(
        text=TEXT,
        sentences=(
            (TaggedToken("Åse", 0, 3, "B-PER", probability),),
            (TaggedToken("saw", 4, 7, "O", probability), TaggedToken("Oslo", 8, 12, "B-LOC")),
        ),
        spans=(TextSpan("Åse", 0, 3, "PER", probability), TextSpan("Oslo", 8, 12, "LOC")),
    )


def test_a_line_holds_the_place_the_text_its_tokens_and_its_spans() -> None:
    assert to_json(tagged(), "in.txt", 7) == (
        '{"document": "in.txt", "line": 7, "text": "Åse saw\\tOslo", "tokens": ['
        '{"text": "Åse", "start": 0, "end": 3, "tag": "B-PER"}, '
        '{"text": "saw", "start": 4, "end": 7, "tag": "O"}, '
        '{"text": "Oslo", "start": 8, "end": 12, "tag": "B-LOC"}], "spans": ['
        '{"text": "Åse", "start": 0, "end": 3, "label": "PER"}, '
        '{"text": "Oslo", "start": 8, "end": 12, "label": "LOC"}]}'
    )


def test_a_probability_is_written_where_there_is_one_to_six_places() -> None:
    record = json.loads(to_json(tagged(0.123456789), "in.txt", 1))
    assert record["tokens"][0] == {
        "text": "Åse", "start": 0, "end": 3, "tag": "B-PER", "probability": 0.123457,
    }  # fmt: skip
    assert "probability" not in record["tokens"][2]
    assert record["spans"][0]["probability"] == 0.123457
    assert "probability" not in record["spans"][1]
    assert json.loads(to_json(tagged(0.0), "in.txt", 1))["spans"][0]["probability"] == 0.0


def test_a_text_without_words_has_empty_lists() -> None:
    assert to_json(TaggedText("", (), ()), "-", 1) == (
        '{"document": "-", "line": 1, "text": "", "tokens": [], "spans": []}'
    )


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_stays_on_one_line_and_is_read_back(text: str, label: str) -> None:
    token, span = TaggedToken(text, 0, len(text), label), TextSpan(text, 0, len(text), label)
    line = to_json(TaggedText(text, ((token,),), (span,)), text, 1)
    assert "\n" not in line
    assert "\r" not in line
    record = json.loads(line)
    assert record["text"] == record["document"] == text
    assert record["tokens"] == [{"text": text, "start": 0, "end": len(text), "tag": label}]
    assert record["spans"] == [{"text": text, "start": 0, "end": len(text), "label": label}]
