"""Keys of JSON Lines: in which of the three formats a record is, and what of it is read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tagkit.corpus.formats.json.json_records import (
    as_record,
    columns_of_tokens,
    tags_of_tokens,
    text_of_tokens,
    texts_of,
)
from tagkit.corpus.source.look import CERTAIN, FORM, Beginning, Look, Sureness
from tagkit.text.schemes import is_span_tag
from tagkit.wording import listed

# Keys under which tools and data sets have the same thing; the first that a record has is taken.
TOKENS = ("tokens", "words")  # Hugging Face datasets have "tokens"
TAGS = ("tags", "ner_tags", "pos_tags", "chunk_tags")
TEXT = ("text", "sentence", "content")
# "spans" is Prodigy's key, "entities" that of spaCy 2 and of doccano with relations, "ents" that of
# spaCy's Doc.to_json, "label" and "labels" those of plain doccano.
SPANS = ("spans", "entities", "ents", "label", "labels")
CLASSES = ("label", "labels", "class", "category", "intent")
# Prodigy's list of the options that its annotator chose, of a record that may have a label too. As
# other tools may have another meaning for the word, it counts as a list alone.
CHOSEN = "accept"
# Keys that may hold text or annotation. Of several of a kind one is read, and the others are kept:
# "intent" of {"label": "x", "intent": "y"}.
OWN_KEYS = frozenset((*TOKENS, *TAGS, *TEXT, *SPANS, *CLASSES, CHOSEN, "features"))
_UNMARKED = "unmarked"  # a text whose annotator found no span, as `kind_of_lines` keeps it apart
_FIRST = 20  # lines that show whether a file holds objects
_QUOTES = ('"', "'")  # of the keys of an object, where it is broken the second too


def any_of(keys: Sequence[str]) -> str:
    """Keys of one meaning, as a message names them: 'label (labels, class)'."""
    return f"{keys[0]} ({', '.join(keys[1:])})"


def kind_of(record: Mapping[str, Any]) -> str:
    """Which of the three JSONL formats a record is in.

    Raises:
        ValueError: none.
    """
    if first_of(record, TEXT) is None:
        if first_of(record, TOKENS) is not None:
            return "jsonl-tokens"
        raise ValueError(
            f"expected a {any_of(TEXT)}, or {any_of(TOKENS)}, found the keys "
            f"{listed([*record]) or 'of nothing'}"
        )
    key, spans = span_list(record)
    tags = first_of(record, TAGS)
    # Tokens of spaCy have tags of their parts of speech, whatever the spans.
    if not spans and tags is None and "ents" not in record:
        tags = tags_of_tokens(record)
        # Plain labels are no spans, so that a prediction of them has none; O and B-X are those of
        # a text in which no span was found.
        if tags is not None and not all(map(is_span_tag, tags)):
            return "jsonl-tokens"
    # "labels" may be a list of classes too, and "ents" names beside a class: the elements decide.
    if key == "ents":
        named = not any(each in record for each in (*CLASSES, "cats"))
    else:
        named = "spans" in record or "entities" in record
    if spans is not None and (named or _are_spans(key, spans)):
        return "jsonl-spans"
    # A text that comes with tokens and tags is a sentence whose text is only a comment.
    if tags is not None and "tokens" in record:
        return "jsonl-tokens"
    return "jsonl-spans" if _lacks_spans(record) else "jsonl-texts"


def _lacks_spans(record: Mapping[str, Any]) -> bool:
    """Whether Prodigy's annotator found no span in a text: then it may leave out the key."""
    tokens = record.get("tokens")
    has_tokens = isinstance(tokens, list) and any(isinstance(token, dict) for token in tokens)
    has_class = class_key(record, "jsonl-texts") is not None or "cats" in record
    return "answer" in record and has_tokens and not has_class and "spans" not in record


def look_at_jsonl(format: str) -> Look:
    """The look of one of the three formats: a file is in the one that its records are in."""

    def look(beginning: Beginning) -> Sureness | None:
        sure = beginning.once(_begin_as_records)
        may_be = sure.score or format in beginning.named
        return sure if may_be and beginning.once(kind_of_lines) == format else None

    return look


def _begin_as_records(lines: Sequence[str]) -> Sureness:
    """How sure it is that the first line that is not blank is a record, or a broken one."""
    filled = [line.strip() for line in lines if line.strip()]
    if filled and _is_record(next(texts_of(filled), "")):
        is_object = filled[0][0] == "{"
        why = (
            "its lines begin as JSON objects do"
            if is_object
            else "its records are JSON, in brackets"
        )
        return Sureness(CERTAIN, why)
    # A bracket may begin much else, and a brace a text or a token.
    if filled and filled[0][0] == "{":
        opening = "".join(filled[:2]) if filled[0] == "{" else filled[0]
        has_key = opening[1:].lstrip()[:1] in _QUOTES and ":" in opening
        if has_key or any(map(_is_record, filled[:_FIRST])):
            return Sureness(FORM, "its lines begin as JSON objects do")
    return Sureness(0, "its name; no text or tokens in its first record")


def _is_record(text: str) -> bool:
    """Whether a text is a record of one of the three formats."""
    try:
        record = as_record(json.loads(text))
        return record is not None and bool(kind_of(record))
    except (ValueError, RecursionError):
        return False


def kind_of_lines(lines: Sequence[str]) -> str:
    """Which of the three JSONL formats a file is in, by the records of its beginning."""
    kinds: set[str] = set()
    # Broken lines are reported when they are read, with their numbers.
    for text in texts_of(lines):
        try:
            record = as_record(json.loads(text))
            if record is not None:
                kind = kind_of(record)
                kinds.add(_UNMARKED if kind == "jsonl-spans" and _lacks_spans(record) else kind)
        except (ValueError, RecursionError):
            continue
    if kinds == {_UNMARKED}:  # beside texts with classes it rather lacks its class
        return "jsonl-spans"
    # A text without spans may look as if it had no class.
    return next((kind for kind in ("jsonl-spans", "jsonl-tokens") if kind in kinds), "jsonl-texts")


def columns_of_lines(lines: Sequence[str]) -> list[str]:
    """The names of the tag columns of a file's tokens, by its first record that can be read."""
    for text in texts_of(lines):
        try:
            record = as_record(json.loads(text))
        except (ValueError, RecursionError):
            continue
        if record is not None:
            return columns_of_tokens(record)
    return []


def first_of(record: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The value of the first of the keys that a record has; None where it has none."""
    return next((record[key] for key in keys if key in record), None)


def span_list(record: Mapping[str, Any]) -> tuple[str, list[Any] | None]:
    """The key of a text's spans, and these; ("", None) where it has none."""
    found = [key for key in SPANS if isinstance(record.get(key), list)]
    # Beside doccano's spans, "ents" may be something else.
    if found[:1] == ["ents"]:
        found.sort(key=lambda key: not _are_spans(key, record[key]))
    return next(((key, record[key]) for key in found), ("", None))


def classes_of(value: Any) -> tuple[str, ...]:
    """The classes that a value names, each once; none where it is something else."""
    values = value if isinstance(value, list) else [value]
    names = [_class_name(each) for each in values]
    return tuple(dict.fromkeys(names)) if all(names) else ()


def _class_name(value: Any) -> str:
    """What a class is called; an empty text where the value is none."""
    # A class that is a number becomes its name: 1 and "1" are one class, true and "true" too.
    if isinstance(value, bool):
        return "true" if value else "false"
    # What pandas writes of a column of whole numbers with gaps: 1.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) else ""


def class_key(record: Mapping[str, Any], kind: str) -> str | None:
    """The key of a record's classes, of which [] names none; None where it has no such key.

    Args:
        record: the record.
        kind: which of the three formats it is read as.
    """
    keys = (CHOSEN, *CLASSES) if isinstance(record.get(CHOSEN), list) else CLASSES
    there = [key for key in keys if classes_of(record.get(key)) or record.get(key) == []]
    # doccano has spans under "labels", of which a text may have none. Elsewhere [] is none of
    # several classes, which no other key can add to.
    if kind == "jsonl-spans":
        there.sort(key=lambda key: record[key] == [])
    return next(iter(there), None)


def other_than_classes(record: Mapping[str, Any], key: str) -> str:
    """What a list under a key of classes holds in their place, in words; empty for classes."""
    values = record[key]
    if not isinstance(values, list) or len({*map(str, values)}) == len(values):
        return ""  # each class once
    if all(isinstance(each, int | float) and each in (0, 1) for each in values):
        return "a number for each class (write the names of those that are 1)"
    tokens = first_of(record, TOKENS)
    is_as_long = isinstance(tokens, list) and len(tokens) == len(values)
    are_tags = all(isinstance(each, str) and (each == "O" or is_span_tag(each)) for each in values)
    if is_as_long or are_tags:
        return "a tag for each token (write them under tags, beside tokens)"
    return ""


def has_other_classes(record: Mapping[str, Any], kind: str) -> bool:
    """Whether `labels` names other classes than `label`, which is read."""
    if not ("label" in record and "labels" in record) or isinstance(record.get("cats"), dict):
        return False
    read, others = ({*classes_of(record[key])} for key in ("label", "labels"))
    return class_key(record, kind) == "label" and bool(read and others) and read != others


def keys_read(record: Mapping[str, Any], kind: str) -> frozenset[str]:
    """The keys that hold a record's text and annotation; all others are kept as they are.

    Where such a key has no value (null) there is nothing to keep.

    Args:
        record: the record.
        kind: which of the three formats it is read as.
    """
    found = {key for key in OWN_KEYS if key in record and record[key] is None}
    if not isinstance(record.get("cats"), dict) and (key := class_key(record, kind)):
        found.add(key)
    if kind == "jsonl-tokens":
        found |= {*_first_key(record, TOKENS), *_first_key(record, TAGS), "features"}
        # Without the place of each token the text is only a comment.
        return frozenset(found | {"text"} if text_of_tokens(record)[0] is not None else found)
    found |= {*_first_key(record, TEXT)}
    if kind == "jsonl-spans":
        found.add(span_list(record)[0])
    if isinstance(record.get("tokens"), list):
        found.add("tokens")
    return frozenset(found)


def _first_key(record: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    yield from [key for key in keys if key in record][:1]


def _are_spans(key: str, values: list[Any]) -> bool:
    # spaCy writes objects; lists under "ents" may be anything.
    kinds = dict if key == "ents" else (list, dict)
    return any(isinstance(value, kinds) for value in values)
