"""The records of a JSON file, and what their keys say: in which of three formats each of them is.

A file has a record on each line (jsonlines.org), or all of them in one list. A record is an object,
or spaCy's pair of a text and an object. It is read by its keys:

| object | read as |
| --- | --- |
| `{"tokens": [...], "tags": [...]}`, or `words`, `ner_tags` | a sentence |
| `{"text": "...", "spans": [{"start", "end", "label"}]}`, as Prodigy has it | a document |
| the same with `entities` and `start_offset`, `end_offset`, or `label(s)`: [[start, end, "X"]] |
  a document, as doccano has it |
| `{"text": "...", "ents": [...], "tokens": [...]}`, as spaCy's Doc.to_json has it | a document |
| `{"text": "...", "label": [{"start", "end", "labels": ["X"]}]}`, Label Studio's JSON_MIN |
  a document |
| `{"text": "...", "label": "X"}`, or `labels`: ["X", "Y"] | a document with classes |
| `{"text": "...", "options": [...], "accept": ["X", "Y"]}`, as Prodigy has it | the same |
| `["...", {"entities": [[start, end, "X"]], "cats": {"Y": 1.0}}]`, as spaCy 2 has it | a document |
| `{"text": "...", "tokens": [{"text", "start", "end", "tag"}]}`, of `tagkit predict` | a sentence |
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from tagkit.corpus.formats.json.label_studio import flattened, row_record, spans_in_cells
from tagkit.corpus.formats.tables.csv_rows import csv_rows, first_rows
from tagkit.corpus.source.look import CERTAIN, FORM, TABLE, Beginning, Look, Sureness
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.text.json_text import is_writable
from tagkit.text.schemes import is_span_tag
from tagkit.wording import listed, quoted

# Keys under which tools and data sets have the same thing; the first that a record has is taken.
TOKENS = ("tokens", "words")  # Hugging Face datasets have "tokens"
TAGS = ("tags", "ner_tags", "pos_tags", "chunk_tags")
TEXT = ("text", "sentence", "content", "data")
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
_FIRST = 20  # lines that show whether a file holds objects
_QUOTES = ('"', "'")  # of the keys of an object, where it is broken the second too

Place = tuple[int, int]  # start and end, in code points
_BLANK = re.compile(r"[ \t\n\r]*")  # what JSON takes for white space
_SHOWN = 40  # characters of a list that a message quotes
_ELEMENT = json.JSONDecoder()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a record. Of a key that comes twice, Python would keep the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key, times = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"expected each key once, found {quoted(key)} {times} times")
    return found


# One for all records: to make a decoder takes as long as to read a short record.
_RECORD = json.JSONDecoder(object_pairs_hook=_object)


def parsed(text: str) -> dict[str, Any]:
    """The record of a text.

    Raises:
        ValueError: it is none; the message is the reason, in words.
    """
    found = ""
    try:
        value = _RECORD.decode(text)
    except json.JSONDecodeError as error:
        found = f"{quoted(text)}: {error.msg.removesuffix(' at')} at character {error.colno}"
        if error.pos >= len(text.rstrip()):
            said = "it does not end on its line (a record has one line, or all are one list)"
            found = f"{quoted(text)}: {said}"
    except ValueError as error:
        if "4300" not in str(error):
            raise
        found = f"{quoted(text)}: a number has over 4,300 digits"  # Python names its own function
    except RecursionError:  # json nests as deep as a hostile line says
        raise ValueError("is nested too deep") from None
    record = None if found else _as_record(value)  # raises what is wrong with it
    if record is None:
        raise ValueError(f"expected a JSON object, found {found or quoted(text)}")
    # JSON may spell half of a pair as \ud800, which no file in UTF-8 could hold. To look at all of
    # a record takes twice as long as to read it.
    if "\\u" in text and not is_writable(json.dumps(record, ensure_ascii=False)):
        raise ValueError("expected Unicode text, found half of a surrogate pair")
    return record


def _as_record(value: Any) -> dict[str, Any] | None:
    """A JSON value as a record, which spaCy's pairs become too; None where it is none."""
    if isinstance(value, dict):
        return flattened(value)
    if isinstance(value, list) and len(value) == 2:
        text, others = value
        if isinstance(text, str) and isinstance(others, dict):
            return {**others, "text": text}
    return None


def _begins_list(lines: Iterable[str]) -> bool:
    """Whether a file is one list of records: it begins with `[{`, or with `[["` of a pair."""
    found = (char for line in lines for char in line if not char.isspace())
    return "".join(islice(found, 3)).startswith(("[{", '[["'))


def first_records(lines: Sequence[str]) -> Iterator[dict[str, Any] | None]:
    """The records in the beginning of a file; None in place of one that cannot be read."""
    texts: Iterable[str] = (line for line in lines if line.strip())
    if separator := spans_in_cells(lines):
        header, *rows = first_rows(lines, separator)
        yield from (dict(row_record(header, cells)) for cells in rows)
        return
    if _begins_list(lines):
        text = "\n".join(lines)
        texts = (text[begin:end] for _, begin, end in _elements(text, ""))
    with suppress(FileError):  # a list may be cut off
        for text in texts:
            try:
                yield _as_record(_ELEMENT.decode(text))
            except (ValueError, RecursionError):  # reported with its number when it is read
                yield None


def record_texts(source: Source, reading: ReaderOptions) -> Iterator[tuple[int, str, str]]:
    """The text of each record, with the number of its first line and, in a list, its own.

    Args:
        source: with the records.
        reading: how it is read.

    Yields:
        The line, the text, and "record 3: " or nothing.

    Raises:
        FileError: the file is one list, and breaks off or is no JSON; what follows cannot be
            read, as nothing shows where the next record begins.
    """
    if separator := spans_in_cells(source.beginning(waiting=False)):
        rows = csv_rows(source, reading, separator)
        _, header = next(rows)
        for line, cells in rows:
            yield line, json.dumps(dict(row_record(header, cells))), ""
        return
    # Looking for the first record is no reason to wait for more of a pipe than has come.
    if not _begins_list(source.beginning(waiting=False)):
        for line, text in source.numbered():
            yield line, text, ""
        return
    whole = "\n".join(chain.from_iterable(source.pieces()))
    # All has been read, so nobody need be answered before the next record is.
    source.drained = False
    for number, (line, begin, end) in enumerate(_elements(whole, source.name), 1):
        yield line, whole[begin:end], f"record {number:,}: "


def _elements(text: str, name: str) -> Iterator[tuple[int, int, int]]:
    """The elements of a list: the number of the first line, the start and the end of each.

    Raises:
        FileError: there is something else.
    """
    at = text.index("[") + 1
    line, done = 1, 0  # number of the line, and up to where lines are counted
    first = True
    while True:
        begin = _after_blanks(text, at)
        comma = text.startswith(",", begin)
        if comma and not first:
            begin = _after_blanks(text, begin + 1)
        line += text.count("\n", done, begin)
        done = begin
        try:
            if text.startswith("]", begin) and (first or not comma):
                if text[begin + 1 :].strip():
                    raise json.JSONDecodeError("Extra data after the list", text, begin)
                return
            if not (first or comma):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, begin)
            _, at = _ELEMENT.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "is nested too deep"
            rest = quoted(text[begin : begin + _SHOWN].strip())
            raise FileError(
                name, line, f"expected the next record of a JSON list, found {rest}: {why}"
            ) from None
        first = False
        yield line, begin, at


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


@dataclass(frozen=True, slots=True)
class _Keys:
    """Which keys of a record hold what, in the order of the tables; None of what none holds."""

    text: str | None
    tokens: str | None
    tags: tuple[str, ...]
    spans: tuple[str, ...]
    classes: tuple[str, ...]


@lru_cache(maxsize=16)
def _keys_among(names: tuple[str, ...]) -> _Keys:
    # Most records of a file have the same keys: for each of them none is looked for that is absent.
    there = {*names}
    text, tokens = (next((key for key in known if key in there), None) for known in (TEXT, TOKENS))
    tags, spans, classes = (
        tuple(key for key in known if key in there) for known in (TAGS, SPANS, (CHOSEN, *CLASSES))
    )
    return _Keys(text, tokens, tags, spans, classes)


class JsonRecord:
    """A record, and what its keys say of it.

    Attributes:
        values: the record.
        text: what is under the first key of a text; None where there is none.
        tokens: likewise.
        tags: likewise.
    """

    __slots__ = ("_keys", "tags", "text", "tokens", "values")

    def __init__(self, values: dict[str, Any]) -> None:
        """Look up the values; none of them has been checked."""
        self.values = values
        self._keys = keys = _keys_among(tuple(values))
        self.text = values[keys.text] if keys.text else None
        self.tokens = values[keys.tokens] if keys.tokens else None
        self.tags = next((values[key] for key in keys.tags if values[key]), None)
        if self.tags is None and keys.tags:
            self.tags = values[keys.tags[0]]
        if keys.text == "data" and not isinstance(self.text, str):  # doccano's; of others it is all
            self.text = None
        if isinstance(self.text, str) and self.tokens is None and self.tags:
            # A sentence with a tag of spans for each word: others may be key words of the text.
            words = [word for word in self.text.split(" ") if word]
            tags = self.tags.split() if isinstance(self.tags, str) else self.tags
            is_tagged = isinstance(tags, list) and len(words) == len(tags)
            if is_tagged and all(isinstance(tag, str) and is_span_tag(tag) for tag in tags):
                self.text, self.tokens, self.tags = None, words, tags

    def kind(self) -> str:
        """Which of the three formats it is in.

        Raises:
            ValueError: none.
        """
        if self.text is None:
            if self.tokens is not None:
                return "jsonl-tokens"
            raise ValueError(
                f"expected a {any_of(TEXT)}, or {any_of(TOKENS)}, found the keys {self.listed()}"
            )
        key, spans = self.spans()
        tags: Any = self.tags
        # Tokens of spaCy have tags of their parts of speech, whatever the spans.
        if not spans and tags is None and "ents" not in self.values:
            tags = self.tags_of_tokens()
            # Plain labels are no spans, so that a prediction of them has none; O and B-X are those
            # of a text in which no span was found.
            if tags is not None and not all(map(is_span_tag, tags)):
                return "jsonl-tokens"
        # "labels" may be a list of classes too, and "ents" names beside a class: the elements
        # decide.
        is_named = key in ("spans", "entities")
        if key == "ents":
            is_named = not (self._keys.classes or "cats" in self.values)
        if spans is not None and (is_named or _are_spans(key, spans)):
            return "jsonl-spans"
        # A text that comes with tokens and tags is a sentence whose text is only a comment.
        if tags is not None and "tokens" in self.values:
            return "jsonl-tokens"
        return "jsonl-spans" if self.lacks_spans() else "jsonl-texts"

    def lacks_spans(self) -> bool:
        """Whether Prodigy's annotator found no span in it: then it may leave out the key."""
        if "answer" not in self.values or "spans" in self.values or "cats" in self.values:
            return False
        tokens = self.values.get("tokens")
        has_tokens = isinstance(tokens, list) and any(isinstance(token, dict) for token in tokens)
        return has_tokens and self.classes("jsonl-texts")[0] is None

    def spans(self) -> tuple[str, list[Any] | None]:
        """The key of its spans, and these; ("", None) where it has none."""
        found = [key for key in self._keys.spans if isinstance(self.values[key], list)]
        # An empty list says less than another one, and "ents" may be something else than spans.
        if len(found) > 1 and (not self.values[found[0]] or found[0] == "ents"):
            found.sort(key=lambda key: not _are_spans(key, self.values[key]))
        return (found[0], self.values[found[0]]) if found else ("", None)

    def twice(self, kind: str) -> Iterator[tuple[str, Any]]:
        """The keys that hold spans or tags, and these; several of a record that has them twice."""
        if kind == "jsonl-tokens":  # those of parts of speech are others
            yield from ((key, self.values[key]) for key in self._keys.tags[:2]
                        if key in TAGS[:2] and self.values[key])  # fmt: skip
            return
        for key in self._keys.spans:
            value = self.values[key]
            if isinstance(value, list) and _are_spans(key, value):
                yield key, value

    def classes(self, kind: str) -> tuple[str | None, tuple[str, ...]]:
        """The key of its classes, of which [] names none, and these; None where there is no key.

        Args:
            kind: which of the three formats it is read as.
        """
        found = [
            (key, classes_of(self.values[key]))
            for key in self._keys.classes
            if key != CHOSEN or isinstance(self.values[key], list)
        ]
        found = [(key, classes) for key, classes in found if classes or self.values[key] == []]
        # doccano has spans under "labels", of which a text may have none. Elsewhere [] is none of
        # several classes, which no other key can add to.
        if kind == "jsonl-spans":
            found.sort(key=lambda each: not each[1])
        return found[0] if found else (None, ())

    def keys_read(self, kind: str) -> frozenset[str]:
        """The keys that hold its text and annotation; all others are kept as they are.

        Where such a key has no value (null) there is nothing to keep.

        Args:
            kind: which of the three formats it is read as.
        """
        found: set[str | None] = {
            key for key, value in self.values.items() if value is None and key in OWN_KEYS
        }
        if not isinstance(self.values.get("cats"), dict):
            found.add(self.classes(kind)[0])
        if kind == "jsonl-tokens":
            tags = (key for key in self._keys.tags if self.values[key] is self.tags)
            found |= {self._keys.tokens, next(tags, next(iter(self._keys.tags), None)), "features"}
            if self.text is None and self._keys.tokens is None:
                found |= {self._keys.text, *self._keys.tags[:1]}
            # Without the place of each token the text is only a comment.
            found |= {"text"} if self.text_of_tokens()[0] is not None else set()
        else:
            found.add(self._keys.text)
            found |= {self.spans()[0]} if kind == "jsonl-spans" else set()
            found |= {"tokens"} if isinstance(self.values.get("tokens"), list) else set()
        return frozenset(key for key in found if key is not None)

    def tag_columns(self) -> list[str]:
        """The names of the tag columns of tokens with tags of several; else none."""
        tokens = self.values.get("tokens")
        first = tokens[0] if isinstance(tokens, list) and tokens else None
        tags = first.get("tags") if isinstance(first, dict) else None
        return [*tags] if isinstance(tags, dict) else []

    def tags_of_tokens(self, column: str | None = None) -> list[str] | None:
        """The tags of tokens that are objects with one, as `tagkit predict` writes them.

        Args:
            column: whose tags are wanted of tokens with tags of several columns; None for the
                first.

        Raises:
            ValueError: the tokens have tags of several columns, and none of this name.
        """
        tokens = self.values.get("tokens")
        if not isinstance(tokens, list) or not tokens:
            return None
        names = self.tag_columns()
        if column is not None and names and column not in names:
            raise ValueError(f"tokens: expected tags of {quoted(column)}, found {listed(names)}")
        tags = [value_of_token(token, "tag", "tags", column if names else None) for token in tokens]
        found = [tag for tag in tags if isinstance(tag, str) and tag]
        return found if len(found) == len(tags) else None

    def text_of_tokens(self) -> tuple[str | None, tuple[Place, ...]]:
        """The text that tokens come from and their places in it, where all of them name theirs."""
        text, tokens = self.values.get("text"), self.values.get("tokens")
        if not (isinstance(text, str) and isinstance(tokens, list)):
            return None, ()
        try:
            places = tuple(map(place_of, tokens))
        except ValueError:
            return None, ()
        # Words of a multiword token share its place.
        fit = all(0 <= start < end <= len(text) for start, end in places)
        return (text, places) if fit and places == tuple(sorted(places)) else (None, ())

    def listed(self) -> str:
        """Its keys, as a message names them."""
        return listed([*self.values]) or "of nothing"


def any_of(keys: Sequence[str]) -> str:
    """Keys of one meaning, as a message names them: 'label (labels, class)'."""
    return f"{keys[0]} ({', '.join(keys[1:])})"


def place_of(token: Any) -> Place:
    """Start and end of a token.

    Raises:
        ValueError: it does not say them.
    """
    start, end = (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
    if type(start) is not int or type(end) is not int:  # True is an int
        raise ValueError("expected start and end in each")
    return start, end


def value_of_token(token: Any, key: str, by_column: str, column: str | None) -> Any:
    """What a token has under `key`, or, of a column, under its name in `by_column`."""
    if not isinstance(token, dict):
        return None
    if column is None:
        return token.get(key)
    values = token.get(by_column)
    return values.get(column) if isinstance(values, dict) else None


def classes_of(value: Any) -> tuple[str, ...]:
    """The classes that a value names, each once; none where it is something else."""
    if isinstance(value, list):
        names = [*map(_class_name, value)]
        return tuple(dict.fromkeys(names)) if all(names) else ()
    name = _class_name(value)
    return (name,) if name else ()


def _class_name(value: Any) -> str:
    """What a class is called; an empty text where the value is none."""
    # A class that is a number becomes its name: 1 and "1" are one class, true and "true" too.
    if isinstance(value, bool):
        return "true" if value else "false"
    # What pandas writes of a column of whole numbers with gaps: 1.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) else ""


def _are_spans(key: str, values: list[Any]) -> bool:
    # spaCy writes objects; lists under "ents" may be anything.
    kinds = dict if key == "ents" else (list, dict)
    return any(isinstance(value, kinds) for value in values)


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
    if spans_in_cells(lines):
        return Sureness(TABLE, "a table with spans as JSON in a cell")
    if filled and _is_record(next(first_records(filled), None)):
        of_objects = filled[0][0] == "{"
        why = "lines begin as JSON objects do" if of_objects else "records are JSON, in brackets"
        return Sureness(CERTAIN, f"its {why}")
    # A bracket may begin much else, and a brace a text or a token.
    if filled and filled[0][0] == "{":
        opening = "".join(filled[:2]) if filled[0] == "{" else filled[0]
        has_key = opening[1:].lstrip()[:1] in _QUOTES and ":" in opening
        if has_key or any(map(_is_record, islice(first_records(filled), _FIRST))):
            return Sureness(FORM, "its lines begin as JSON objects do")
    return Sureness(0, "its name; no text or tokens in its first record")


def _is_record(values: dict[str, Any] | None) -> bool:
    """Whether it is a record of one of the three formats."""
    with suppress(ValueError):
        return values is not None and bool(JsonRecord(values).kind())
    return False


def kind_of_lines(lines: Sequence[str]) -> str:
    """Which of the three JSONL formats a file is in, by the records of its beginning."""
    kinds: set[str] = set()
    for values in first_records(lines):
        with suppress(ValueError):
            if values is not None:
                record = JsonRecord(values)
                kind = record.kind()
                # A text whose annotator found no span: beside texts with classes it lacks its
                # class.
                unmarked = kind == "jsonl-spans" and record.lacks_spans()
                kinds.add("unmarked" if unmarked else kind)
    if kinds == {"unmarked"}:
        return "jsonl-spans"
    # A text without spans may look as if it had no class.
    return next((kind for kind in ("jsonl-spans", "jsonl-tokens") if kind in kinds), "jsonl-texts")


def columns_of_lines(lines: Sequence[str]) -> list[str]:
    """The names of the tag columns of a file's tokens, by its first record that can be read."""
    found = (JsonRecord(values).tag_columns() for values in first_records(lines) if values)
    return next(found, [])
