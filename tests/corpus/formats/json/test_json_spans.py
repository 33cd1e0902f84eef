"""Spans and tokens of JSON records: the copy of a span's text is what stands at its place."""

from typing import Any

import pytest

from tagkit.corpus.formats.json.json_spans import places_of, span_of, unread_keys
from tagkit.text.records import TextSpan

TEXT = "Hi 😀 Oslo  is far and Rome."


def place(word: str) -> dict[str, Any]:
    start = TEXT.index(word)
    return {"start": start, "end": start + len(word), "label": "LOC"}


def test_a_copy_of_the_spans_text_is_compared_with_what_stands_at_its_place() -> None:
    start = TEXT.index("Oslo")
    oslo = TextSpan("Oslo", start, start + 4, "LOC")
    assert span_of(TEXT, place("Oslo")) == oslo
    assert span_of(TEXT, {**place("Oslo"), "text": "Oslo"}) == oslo
    with pytest.raises(ValueError, match=r"^expected 'Oslo' at 22 to 26, as a span says, found 'R"):
        span_of(TEXT, {**place("Rome"), "text": "Oslo"})
    # Tools cut white space off, and write a line end as a blank.
    assert span_of(TEXT, {**place("Oslo  is"), "text": "Oslo is"}).text == "Oslo  is"
    assert span_of(TEXT, {**place("Oslo "), "text": "Oslo"}).text == "Oslo "
    for copy in (None, 3, ["Oslo"]):  # no copy of a text
        assert span_of(TEXT, {**place("Rome"), "text": copy}).text == "Rome"


def test_offsets_in_units_of_utf_16_are_recognised_by_the_copy() -> None:
    said = r"Its offsets count units of UTF-16 \(an emoji is two\), not code points$"
    moved = {"start": 6, "end": 10, "text": "Oslo", "labels": ["LOC"]}
    with pytest.raises(ValueError, match=rf"^expected 'Oslo' at 6 to 10, .* found 'slo '\. {said}"):
        span_of(TEXT, moved)
    with pytest.raises(ValueError, match=rf"found 'ome\.'\. {said}"):
        span_of(TEXT, {"start": 23, "end": 27, "text": "Rome", "label": "LOC"})
    with pytest.raises(ValueError, match=rf"^expected '\.' at 27 to 28, .* found none\. {said}"):
        span_of(TEXT, {"start": 27, "end": 28, "text": ".", "label": "X"})
    with pytest.raises(ValueError, match=r"found 'slo '$"):  # nor is it Rome by those units
        span_of(TEXT, {**moved, "text": "Rome"})


def test_texts_of_tokens_are_not_compared() -> None:
    tokens = [{"text": "Wald", "start": 0, "end": 4}, {"text": "##ing", "start": 4, "end": 7}]
    assert places_of("Walding", tokens) == ((0, 4), (4, 7))


def test_keys_that_no_record_has_a_place_for_are_named_with_what_has_them() -> None:
    spans = [
        {"start": 0, "end": 1, "label": "X", "kb_id": 1},
        [0, 1, "X"],
        {"score": 2, "text": ""},
    ]
    tokens = [{"text": "a", "start": 0, "end": 1, "tag": "O", "ws": True, "probability": 0.5}, "b"]
    assert [*unread_keys(spans, tokens)] == [
        ("spans", "kb_id"), ("spans", "score"), ("tokens", "ws"), ("tokens", "probability")
    ]  # fmt: skip
    assert not [*unread_keys(None, None)]
    assert not [*unread_keys([], "text")]
