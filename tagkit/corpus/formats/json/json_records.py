"""The records of a JSON file: one on each line, or all of them in one list.

Of either kind, a record is an object, or spaCy's pair of a text and an object:

    ["To Oslo", {"entities": [[3, 7, "LOC"]], "cats": {"travel": 1.0}}]
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.text.json_text import is_writable
from tagkit.wording import quoted

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
    record = None if found else as_record(value)
    if record is None:
        raise ValueError(f"expected a JSON object, found {found or quoted(text)}")
    # JSON may spell half of a pair as \ud800, which no file in UTF-8 could hold. To look at all of
    # a record takes twice as long as to read it.
    if "\\u" in text and not is_writable(json.dumps(record, ensure_ascii=False)):
        raise ValueError("expected Unicode text, found half of a surrogate pair")
    return record


def as_record(value: Any) -> dict[str, Any] | None:
    """A JSON value as a record, which spaCy's pairs become too; None where it is none."""
    if isinstance(value, dict):
        return value
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
    if _begins_list(lines):
        text = "\n".join(lines)
        texts = (text[begin:end] for _, begin, end in _elements(text, ""))
    with suppress(FileError):  # a list may be cut off
        for text in texts:
            try:
                yield as_record(_ELEMENT.decode(text))
            except (ValueError, RecursionError):  # reported with its number when it is read
                yield None


def record_texts(source: Source) -> Iterator[tuple[int, str, str]]:
    """The text of each record, with the number of its first line and, in a list, its own.

    Yields:
        The line, the text, and "record 3: " or nothing.

    Raises:
        FileError: the file is one list, and breaks off or is no JSON; what follows cannot be
            read, as nothing shows where the next record begins.
    """
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
