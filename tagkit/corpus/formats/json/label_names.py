"""Names of labels that a record has as numbers: of tags, of a class, or 0 and 1 for each class.

They are those of `data.label_names`, else those of the features in a `dataset_info.json` beside the
file, as Hugging Face's datasets are saved with.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tagkit.corpus.formats.json.jsonl_keys import CLASSES, TAGS
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import STDIN, read_text
from tagkit.errors import DataError
from tagkit.wording import plural

_INFO = "dataset_info.json"


def label_names(path: str, reading: ReaderOptions) -> Mapping[str, Sequence[str]]:
    """The names of the labels under each key of the records of a file; none where nothing says."""
    if reading.data.label_names:
        return dict.fromkeys((*TAGS, *CLASSES), reading.data.label_names)
    beside = os.path.join(os.path.dirname(path), _INFO)
    if path == STDIN or not os.path.isfile(beside):
        return {}
    features: Any = None
    with suppress(DataError, ValueError, RecursionError):  # of another program
        info = json.loads(read_text(beside, "utf-8", digests=reading.digests))
        features = info.get("features") if isinstance(info, dict) else None
    found = {key: _names(value) for key, value in features.items()} if features else {}
    return {key: names for key, names in found.items() if names}


def _names(feature: Any) -> list[str]:
    """Those of a ClassLabel, or of a list of such."""
    while isinstance(feature, dict) and "names" not in feature:
        feature = feature.get("feature")
    while isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    names = feature.get("names") if isinstance(feature, dict) else None
    return names if isinstance(names, list) and all(isinstance(each, str) for each in names) else []


def with_names(values: dict[str, Any], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A record with names in place of the numbers under the keys that have names.

    Raises:
        ValueError: a number has no name.
    """
    found: dict[str, Any] = {}
    for key, known in names.items():
        value = values.get(key)
        if _are_numbers([value]):
            found[key] = named(key, [value], known)[0]
        elif isinstance(value, list) and value and _are_numbers(value):
            # As many as there are names, each 0 or 1: a vector, and not two or more numbers.
            if key in CLASSES and len(value) == len(known) and {*value} <= {0, 1}:
                found[key] = [name for name, each in zip(known, value, strict=True) if each]
            else:
                found[key] = named(key, value, known)
    return {**values, **found} if found else values


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(
        isinstance(each, int) or (isinstance(each, float) and each.is_integer()) for each in values
    )


def named(key: str, numbers: Sequence[Any], names: Sequence[str]) -> list[str]:
    """The names of numbers.

    Raises:
        ValueError: one has none.
    """
    for number in numbers:
        if not 0 <= number < len(names):
            count = plural(len(names), "name")
            raise ValueError(f"{key}: expected 0 to {len(names) - 1}, as labels have {count}, found"
                             f" {number}")  # fmt: skip
    return [names[int(number)] for number in numbers]
