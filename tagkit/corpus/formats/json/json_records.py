"""The records of a JSON file: one on each line, or all of them in one list.

Of either kind, a record is an object, or spaCy's pair of a text and an object:

    ["To Oslo", {"entities": [[3, 7, "LOC"]], "cats": {"travel": 1.0}}]
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.wording import listed, quoted

_BLANK = re.compile(r"[ \t\n\r]*")  # what JSON takes for white space
_SHOWN = 40  # characters of a list that a message quotes
_DECODER = json.JSONDecoder()

Place = tuple[int, int]  # start and end, in code points


def as_record(value: Any) -> dict[str, Any] | None:
    """A JSON value as a record, which spaCy's pairs become too; None where it is none."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and len(value) == 2:
        text, others = value
        if isinstance(text, str) and isinstance(others, dict):
            return {**others, "text": text}
    return None


def begins_list(lines: Iterable[str]) -> bool:
    """Whether a file is one list of records: it begins with `[{`, or with `[["` of a pair."""
    found = (char for line in lines for char in line if not char.isspace())
    return "".join(islice(found, 3)).startswith(("[{", '[["'))


def texts_of(lines: Sequence[str]) -> Iterator[str]:
    """The text of each record in the beginning of a file, up to one that is broken or cut off."""
    if not begins_list(lines):
        yield from lines
        return
    try:
        text = "\n".join(lines)
        for _, begin, end in _elements(text, ""):
            yield text[begin:end]
    except FileError:
        return


class RecordTexts:
    """The text of each record of a file, with the number of its first line."""

    def __init__(self, source: Source) -> None:
        """Read nothing yet."""
        self._source = source
        self._list = ""  # the whole text of a file that is one list
        # Number of the record of a list that was last read, whether the one before begins on the
        # same line, and its start and end.
        self._last: tuple[int, bool, int, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Read the file, once.

        Raises:
            FileError: the file is one list, and breaks off or is no JSON; what follows cannot be
                read, as nothing shows where the next record begins.
        """
        # Looking for the first record is no reason to wait for more of a pipe than has come.
        if not begins_list(self._source.beginning(waiting=False)):
            yield from self._source.numbered()
            return
        self._list = text = "\n".join(chain.from_iterable(self._source.pieces()))
        # All has been read, so nobody need be answered before the next record is.
        self._source.drained = False
        before = 0  # line of the record before
        for number, (line, begin, end) in enumerate(_elements(text, self._source.name), 1):
            self._last = number, line == before, begin, end
            yield line, text[begin:end]
            before = line

    def number_on_line(self) -> int | None:
        """The number of the record last read, from 1; None where no other begins on its line."""
        # Asked for where a record cannot be read: of each record it would take a sixth of the time.
        if self._last is None:
            return None
        number, follows, begin, end = self._last
        return number if follows or _has_next_on_line(self._list, begin, end) else None


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
            _, at = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "is nested too deep"
            rest = quoted(text[begin : begin + _SHOWN].strip())
            raise FileError(
                name, line, f"expected the next record of a JSON list, found {rest}: {why}"
            ) from None
        first = False
        yield line, begin, at


def _has_next_on_line(text: str, begin: int, end: int) -> bool:
    """Whether a further element begins on the line on which the one from `begin` to `end` does."""
    comma = _after_blanks(text, end)
    following = _after_blanks(text, comma + 1)
    return text.startswith(",", comma) and "\n" not in text[begin:following]


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def tags_of_tokens(record: Mapping[str, Any], column: str | None = None) -> list[str] | None:
    """The tags of tokens that are objects with one, as `tagkit predict` writes them.

    Args:
        record: with the tokens.
        column: whose tags are wanted of tokens with tags of several columns; None for the first.

    Raises:
        ValueError: the tokens have tags of several columns, and none of this name.
    """
    tokens = record.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        return None
    names = columns_of_tokens(record)
    if column is not None and names and column not in names:
        raise ValueError(f"tokens: expected tags of {quoted(column)}, found {listed(names)}")
    tags = [value_of_token(token, "tag", "tags", column if names else None) for token in tokens]
    found = [tag for tag in tags if isinstance(tag, str) and tag]
    return found if len(found) == len(tags) else None


def columns_of_tokens(record: Mapping[str, Any]) -> list[str]:
    """The names of the tag columns of tokens with tags of several; else none."""
    tokens = record.get("tokens")
    first = tokens[0] if isinstance(tokens, list) and tokens else None
    tags = first.get("tags") if isinstance(first, dict) else None
    return [*tags] if isinstance(tags, dict) else []


def value_of_token(token: Any, key: str, by_column: str, column: str | None) -> Any:
    """What a token has under `key`, or, of a column, under its name in `by_column`."""
    if not isinstance(token, dict):
        return None
    if column is None:
        return token.get(key)
    values = token.get(by_column)
    return values.get(column) if isinstance(values, dict) else None


def text_of_tokens(record: Mapping[str, Any]) -> tuple[str | None, tuple[Place, ...]]:
    """The text that tokens come from and their places in it, where all of them name theirs."""
    text, tokens = record.get("text"), record.get("tokens")
    if not (isinstance(text, str) and isinstance(tokens, list)):
        return None, ()
    found = (
        (token.get("start"), token.get("end")) if isinstance(token, dict) else (None, None)
        for token in tokens
    )
    places = tuple((a, b) for a, b in found if type(a) is int and type(b) is int)
    # Words of a multiword token share its place.
    fit = all(0 <= start < end <= len(text) for start, end in places)
    if not fit or len(places) != len(tokens) or places != tuple(sorted(places)):
        return None, ()
    return text, places
