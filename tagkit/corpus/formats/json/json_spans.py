"""Spans and tokens of a JSON record, in the shapes in which annotation tools write them.

Offsets count code points, as in Python. A tool written in JavaScript counts units of UTF-16, of
which an emoji has two, so that spans behind one are a place too far to the right. Most tools write
a copy of each span's text beside its place: where the two differ, the record is refused.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tagkit.corpus.formats.json.json_records import value_of_token
from tagkit.corpus.formats.json.jsonl_keys import first_of
from tagkit.text.records import TextSpan
from tagkit.wording import quoted

# Prodigy, spaCy and Label Studio say start and end, doccano start_offset and end_offset. Label
# Studio has a list of labels.
_START = ("start", "start_offset")
_END = ("end", "end_offset")
# What a record of tagkit has of them. Probabilities are read where they are wanted, and are no part
# of a corpus.
_OF_SPANS = frozenset((*_START, *_END, "text", "label", "labels"))
_OF_TOKENS = frozenset(("text", "start", "end", "tag", "tags"))


def span_of(text: str, span: Any, *, with_probability: bool = False) -> TextSpan:
    """A span of any of the known shapes.

    Args:
        text: of the record.
        span: an object, or a list of start, end and label.
        with_probability: whether its probability is wanted.

    Raises:
        ValueError: it is no span of the text; the message is the reason, in words.
    """
    copy = None
    if isinstance(span, dict):
        start, end, label = first_of(span, _START), first_of(span, _END), span.get("label")
        if label is None and isinstance(labels := span.get("labels"), list) and len(labels) == 1:
            label = labels[0]
        copy = span.get("text")
    elif isinstance(span, list) and len(span) == 3:
        start, end, label = span
    else:
        raise ValueError(f"expected a span with start, end and label, found {shown_json(span)}")
    # Python takes True for the number 1.
    whole = all(isinstance(at, int) and not isinstance(at, bool) for at in (start, end))
    if not whole or not isinstance(label, str) or not label:
        raise ValueError(f"expected a span with start, end and label, found {shown_json(span)}")
    if isinstance(copy, str) and copy != text[start:end]:
        _require_same(text, start, end, copy)
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"expected a span inside the text's {len(text):,} characters, found {shown_json(span)}"
        )
    probability = probability_of(span) if with_probability else None
    return TextSpan(text[start:end], start, end, label, probability)


def _require_same(text: str, start: int, end: int, copy: str) -> None:
    """Refuse a span whose place does not hold the text that it has a copy of.

    Raises:
        ValueError: they differ in more than white space, which tools cut off and change.
    """
    if text[start:end].split() == copy.split():
        return
    found = f"found {quoted(text[start:end])}" if 0 <= start < end <= len(text) else "found none"
    problem = f"expected {quoted(copy)} at {start:,} to {end:,}, as a span says, {found}"
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    if units and units == copy.encode("utf-16-le", "surrogatepass"):
        problem += ". Its offsets count units of UTF-16 (an emoji is two), not code points"
    raise ValueError(problem)


def probability_of(part: Any, column: str | None = None) -> float | None:
    """The probability of a span, or of a token's tag in a column; None where there is none."""
    found = value_of_token(part, "probability", "probabilities", column)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if found is not None and is_number and 0 <= found <= 1 else None


def places_of(text: str, tokens: Any) -> tuple[tuple[int, int], ...] | None:
    """The places of a text's tokens; None where it has none, and is to be divided into them.

    Their own texts are not compared with the text: those of word pieces (`##ing`) are others.

    Raises:
        ValueError: a token has no place in the text, or not behind the one before.
    """
    if not isinstance(tokens, list) or not tokens:
        return None
    places: list[tuple[int, int]] = []
    for token in tokens:
        found = (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
        start, end = found
        if not isinstance(start, int) or not isinstance(end, int):
            raise ValueError(f"tokens: expected start and end in each, found {shown_json(token)}")
        # In order and apart: tags are one a token, from left to right.
        if not (places[-1][1] if places else 0) <= start < end <= len(text):
            raise ValueError(
                f"tokens: expected places in the text, in order, found {shown_json(token)}"
            )
        places.append((start, end))
    return tuple(places)


def unread_keys(spans: Iterable[Any] | None, tokens: Any) -> Iterator[tuple[str, str]]:
    """The keys of spans and of tokens that no record of tagkit has a place for.

    Args:
        spans: those of a record.
        tokens: likewise; a list of objects, or of anything else.

    Returns:
        "spans" or "tokens", and the key.
    """
    for kind, parts, read in (
        ("spans", spans, _OF_SPANS),
        ("tokens", tokens if isinstance(tokens, list) else (), _OF_TOKENS),
    ):
        for part in parts or ():
            if isinstance(part, dict):
                yield from ((kind, key) for key in part if key not in read)


def shown_json(value: Any) -> str:
    """A value of JSON as a message shows it."""
    return quoted(json.dumps(value, ensure_ascii=False))[1:-1]
