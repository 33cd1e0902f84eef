"""Sentences and documents -> JSON Lines, with the keys that `jsonl` reads first.

What a record has beside its text and annotation, such as its id, stands around them: the id at the
beginning, the rest at the end.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tagkit.corpus.formats.json.jsonl import reads_alike
from tagkit.corpus.formats.json.jsonl_keys import OWN_KEYS
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, one_file
from tagkit.storage import replace_lone_surrogates
from tagkit.text.json_text import to_json
from tagkit.text.records import Document, Extra, Sentence, TextSpan
from tagkit.wording import quoted


def write_jsonl_tokens(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """`{"tokens", "tags"}` of each sentence, with its features and label where it has some."""
    return one_file(
        _line(_tokens_record(item, writing), item, writing) for item in _all_readable(items)
    )


def _all_readable(items: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, none of which lacks what the others are read for.

    Raises:
        FormatError: one has neither tags nor a class, and others have tags.
    """
    # Read again, a file with one tagged sentence needs tags in all of them.
    bare: Sentence | None = None
    tagged = False
    for item in items:
        tagged = tagged or item.tags is not None
        if item.tags is None and not item.labels:
            bare = item
        if tagged and bare is not None:
            raise cannot_hold(bare, "jsonl-tokens", "tags in some sentences alone")
        yield item


def _tokens_record(item: Sentence, writing: Writing) -> dict[str, Any]:
    if any("" in column for column in (item.words, item.tags or (), *item.features)):
        raise cannot_hold(item, "jsonl-tokens", "a word, a tag or a feature that is empty")
    record: dict[str, Any] = {"tokens": item.words}
    if item.tags is not None:
        record["tags"] = item.tags
    if item.features:
        record["features"] = item.features
    # A classifier may find no class likely enough; without the key there would be no labels at all.
    if item.tags is None and not item.labels and (writing.blank_labels or writing.several_classes):
        record["labels"] = []
    return {**record, **_classes(item, "jsonl-tokens")}


def write_jsonl_spans(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """`{"text", "spans"}` of each document, with its tokens and label where it has some."""
    return one_file(_line(_spans_record(item), item, writing) for item in items)


def _spans_record(item: Document) -> dict[str, Any]:
    if not item.text.strip():
        raise cannot_hold(item, "jsonl-spans", "a blank text")
    # The name of a file may hold bytes that are no text; JSON cannot.
    record: dict[str, Any] = {"id": replace_lone_surrogates(item.name)} if item.name else {}
    record["text"] = item.text
    if item.tokens is not None:
        record["tokens"] = [
            {"text": item.text[start:end], "start": start, "end": end} for start, end in item.tokens
        ]
    if any(not span.label or span.start >= span.end for span in item.spans or ()):
        raise cannot_hold(item, "jsonl-spans", "a span without a label or a character")
    record["spans"] = [_span_record(span) for span in item.spans or ()]
    return {**record, **_classes(item, "jsonl-spans")}


def write_jsonl_texts(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """`{"text", "label"}` of each document; `labels` where there are several or none of them."""
    return one_file(_line(_text_record(item, writing), item, writing) for item in items)


def _text_record(item: Document, writing: Writing) -> dict[str, Any]:
    if item.spans:
        writing.note("jsonl-texts holds classes of texts: spans are left out")
    if not (item.labels or writing.several_classes) or not item.text.strip():
        raise cannot_hold(item, "jsonl-texts", "a text without a class, or a blank one")
    # An empty list says that a text is known to have none of several classes.
    return {"text": item.text, **(_classes(item, "jsonl-texts") or {"labels": []})}


def _line(record: dict[str, Any], item: Item, writing: Writing) -> str:
    return to_json(with_extra(record, item.extra, writing.note))


def with_extra(
    record: dict[str, Any], extra: Extra, note: Callable[[str], None] = silent
) -> dict[str, Any]:
    """A record with the other names and values that its source has; its own ones are kept.

    Args:
        record: text and annotation.
        extra: the other names and values.
        note: called with a sentence on a value that is left out.
    """
    if not extra:
        return record
    others: dict[str, Any] = {}
    for key, value in extra:
        if value is None and key in OWN_KEYS:  # it says nothing, as when it is not there
            continue
        if key in others:
            note(f"JSON Lines hold one value of a name: of {quoted(key)} the last one is kept")
        # A column of a table may be named "category": without a "label", it would be the class.
        if key not in OWN_KEYS or _is_passed_over(key, value, {**record, **others}):
            others[key] = value
        elif key not in record or record[key] != value:
            note(f"JSON Lines have no place for the values of {quoted(key)}, which would be read "
                 "as text or annotation: they are left out")  # fmt: skip
    first = {"id": others["id"]} if "id" in others else {}
    # `others` first, whose values give way to those of the record; `record` decides on the order.
    return {**first, **record, **others, **record, **first}


def _is_passed_over(key: str, value: Any, record: dict[str, Any]) -> bool:
    """Whether a record with one more key is read as it is without."""
    if key in record:
        return False
    plain = json.loads(to_json(record))
    return reads_alike(plain, {**plain, key: value})


def _classes(item: Item, format: str) -> dict[str, Any]:
    labels = item.labels
    if not labels:
        return {}
    if "" in labels:
        raise cannot_hold(item, format, "an empty class")
    # doccano and Prodigy have "label" for one class; a list of one would be read as several.
    return {"label": labels[0]} if len(labels) == 1 else {"labels": labels}


def _span_record(span: TextSpan) -> dict[str, Any]:
    return {"text": span.text, "start": span.start, "end": span.end, "label": span.label}
