"""Records and values -> what JSON gives back equal."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.text.json_text import Record, plain
from tagkit.text.records import Sentence, Span


@dataclass(frozen=True, slots=True)
class Pair(Record):
    left: Any
    right: Any


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=8,
)  # fmt: skip


@given(VALUES)
def test_json_gives_plain_values_back_equal(value: Any) -> None:
    found = plain(value)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_record_has_a_key_for_each_field() -> None:
    sentence = Sentence(("Ada", "left"), ("B-PER", "O"), lines=range(3, 5))
    assert sentence.to_dict() == {
        "words": ["Ada", "left"], "tags": ["B-PER", "O"], "features": [], "labels": [],
        "text": None, "places": [], "columns": [], "lines": [3, 4], "extra": [],
        "targets": [], "tree": None, "vectors": [],
    }  # fmt: skip
    assert plain({"span": Span(0, 1, "PER", math.nan), 3: Path("a") / "b"}) == {
        "span": {"start": 0, "end": 1, "label": "PER", "probability": None}, "3": str(Path("a/b")),
    }  # fmt: skip
    assert not hasattr(sentence, "__dict__")  # a base class without slots would bring one


@pytest.mark.parametrize("value", [b"bytes", object()])
def test_what_json_has_no_name_for_is_refused(value: object) -> None:
    with refuses(TypeError, type(value).__name__, "JSON"):
        plain(value)
