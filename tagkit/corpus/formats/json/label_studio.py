"""Label Studio's exports -> records: its complete JSON, and its CSV with spans as JSON in a cell.

The JSON has a task in each element of a list: its text under `data`, and `annotations`, each with a
list `result` of spans and choices (labelstud.io/guide/export). A task may be annotated twice.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from tagkit.corpus.formats.tables.csv_rows import first_rows
from tagkit.corpus.formats.tables.text_columns import TEXT_NAMES, plain_name
from tagkit.wording import plural

_ANNOTATIONS = ("annotations", "completions")  # the second before version 1.0


def flattened(values: dict[str, Any]) -> dict[str, Any]:
    """A task as a record with a text, and spans or classes; any other record as it is.

    Raises:
        ValueError: it has several annotations that differ.
    """
    data = values.get("data")
    key = next((key for key in _ANNOTATIONS if isinstance(values.get(key), list)), None)
    if key is None or not isinstance(data, dict):
        return values
    texts = [name for name, value in data.items() if isinstance(value, str)]
    text = next((name for name in (*TEXT_NAMES, *texts) if name in texts), None)
    if text is None:
        return values
    others = {name: value for name, value in data.items() if name != text}
    record = {**others, **{key: values[key] for key in ("id",) if key in values}}
    record["text"] = data[text]
    done = [
        each for each in values[key] if isinstance(each, dict) and not each.get("was_cancelled")
    ]
    found = [_annotation(each.get("result")) for each in done]
    if any(each != found[0] for each in found):
        count = plural(len(found), "annotation")
        raise ValueError(f"{key}: expected one of each text, found {count} that differ")
    return {**record, **found[0]} if found else record


def _annotation(result: Any) -> dict[str, Any]:
    """Spans, classes or both, under the keys of a record."""
    values = [each.get("value") for each in result or () if isinstance(each, dict)]
    parts = [value for value in values if isinstance(value, dict)]
    spans = [part for part in parts if "start" in part and "labels" in part]
    chosen = [name for part in parts for name in part.get("choices") or ()]
    found: dict[str, Any] = {"spans": spans} if spans or not chosen else {}
    if chosen:
        found |= {"label": chosen[0]} if len(chosen) == 1 else {"labels": chosen}
    return found


def spans_in_cells(lines: Sequence[str]) -> str:
    """What separates the cells of a table with texts, and spans as JSON; empty of any other."""
    first = lines[0].lower() if lines else ""
    if not any(name in first for name in TEXT_NAMES) or "[{" not in "".join(lines):
        return ""
    for separator in ",\t;":
        rows = first_rows(lines, separator)
        names = {*map(plain_name, rows[0])} if rows else set()
        if (
            len(names) > 1
            and names & {*TEXT_NAMES}
            and any(map(_spans, chain.from_iterable(rows[1:])))
        ):
            return separator
    return ""


def _spans(cell: str) -> list[Any]:
    """The spans in a cell; none of another one."""
    if not cell.startswith("[{"):
        return []
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return []
    return found if all("start" in each and "end" in each for each in found) else []


def row_record(names: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys and values of a row."""
    has_spans = False
    for name, cell in zip(names, cells, strict=False):
        if spans := _spans(cell):
            has_spans = True
            yield "spans", spans
        elif name:
            yield (plain_name(name) if plain_name(name) in TEXT_NAMES else name), cell
    if not has_spans:
        yield "spans", []
