"""What is learnt of several tag columns: the labels of each, as the vocabulary holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tagkit.text.json_text import checked_strings, kind_of
from tagkit.wording import quoted


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """What is learnt of one of several tag columns.

    Attributes:
        name: of the column, as the configuration has it.
        codec: name of what turns its values into labels and back.
        scheme: of its values in the training corpus; `PLAIN` where they are no tags of spans.
        learnt: scheme of its labels; `PLAIN` likewise.
        parts: the labels of each part of a value, in the order of their ids, by the part's name. A
            tag has one part without a name; of FEATS each attribute is a part.
    """

    name: str
    codec: str
    scheme: str
    learnt: str
    parts: Mapping[str, tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def read_columns(found: Any) -> tuple[ColumnLabels, ...]:
    """The columns that `to_dict` gave.

    Raises:
        KeyError: a part is missing.
        TypeError: a part has the wrong type.
        ValueError: a label is there twice, or a part has none.
    """
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise TypeError(f"columns: expected a list of objects, found {kind_of(found)}")
    return tuple(_read(each) for each in found)


def _read(found: dict[str, Any]) -> ColumnLabels:
    texts = [found[key] for key in ("name", "codec", "scheme", "learnt")]
    name, codec, scheme, learnt = checked_strings(texts, "columns")
    parts = found["parts"]
    if not isinstance(parts, dict):
        raise TypeError(f"columns: expected an object of lists, found {kind_of(parts)}")
    labels = {part: checked_strings(strings, "columns") for part, strings in parts.items()}
    for part, strings in labels.items():
        if not strings or len(set(strings)) < len(strings):
            raise ValueError(
                f"columns, {quoted(name)} {quoted(part)}: expected one label or more, each once"
            )
    return ColumnLabels(name, codec, scheme, learnt, labels)
