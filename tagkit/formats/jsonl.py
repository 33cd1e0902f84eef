"""Tagged texts -> JSON Lines: one object a text."""

import json
from dataclasses import asdict
from typing import Any

from tagkit.sentence import TaggedText, TaggedToken, TextSpan


def to_json(tagged: TaggedText, document: str, line: int) -> str:
    """One line of JSON: document, line, text, tokens, spans; without the line's end.

    Args:
        tagged: the text with its tokens and spans.
        document: the name of the file that it comes from.
        line: number of its first line in that file, from 1.
    """
    record = {
        "document": document,
        "line": line,
        "text": tagged.text,
        "tokens": [_without_none(token) for token in tagged.tokens],
        "spans": [_without_none(span) for span in tagged.spans],
    }
    return json.dumps(record, ensure_ascii=False)


def _without_none(part: TaggedToken | TextSpan) -> dict[str, Any]:
    """Its values; a probability only where there is one, to six places."""
    values = asdict(part)
    probability = values.pop("probability")
    return values if probability is None else {**values, "probability": round(probability, 6)}
