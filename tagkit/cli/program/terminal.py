"""Lines for a terminal: its width, wrapped lines, colours. Knows no rich, which is slow to import.

A file or a pipe has no width and no colours: its lines stay whole, so that a search finds them.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TextIO

from tagkit.wording import cells

DEFAULT_WIDTH = 80
_MIN_WIDTH = 20  # below it lines are not wrapped: a word on each line is no better
_MAX_INDENT = 16  # cells
# A quoted text is one word: a command or a path may have blanks in it.
_WORD = re.compile(r"( *)((?:(?<=[ (])|^)'[^']*'(?=[ ,.;:)]|$)[,.;:)]*|[^ ]+)")
# `model       name: ...` and `error:   ...` have their text in a second column.
_HEAD = re.compile(r" *[^ ]+(?: [^ ]+)? {2,}(?=[^ ])")
_BEFORE_COLON = re.compile(r"(error|warning): ")
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[33m", "best": "\x1b[1;32m"}
_RESET = "\x1b[0m"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; not where it is closed."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def width_of(stream: TextIO | None) -> int | None:
    """Cells in a line of a terminal; None where the stream is none, and lines stay whole."""
    if stream is None or not is_terminal(stream):
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):  # not a terminal of the system's
        return DEFAULT_WIDTH


def has_colours(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that may get colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and is_terminal(stream)


def wrapped(text: str, width: int | None) -> list[str]:
    """A line as lines of at most `width` cells, broken at blanks only; later ones are indented.

    A word or path that is longer than that is a line of its own.
    """
    if width is None or width < _MIN_WIDTH or cells(text) <= width:
        return [text]
    indent = " " * _indent(text)
    lines, line, used = [], "", 0
    for blanks, word in _words(text, width - len(indent)):
        taken = cells(word)
        if line.strip() and used + len(blanks) + taken > width:
            lines.append(line)
            line, used, blanks = indent, len(indent), ""
        line += blanks + word
        used += len(blanks) + taken
    return [*lines, line]


def _words(text: str, room: int) -> list[tuple[str, str]]:
    """The words of a line, each with the blanks before it."""
    found: list[tuple[str, str]] = []
    for blanks, word in _WORD.findall(text):
        if " " in word and cells(word) > room:  # a quotation that has to be broken
            first, *others = word.split(" ")
            found += [(blanks, first), *((" ", other) for other in others)]
        else:
            found.append((blanks, word))
    return found


def _indent(text: str) -> int:
    """Cells before the second line of a text: those of its first column, or two more than its."""
    head = _HEAD.match(text)
    if head and cells(head[0]) <= _MAX_INDENT:
        return cells(head[0])
    return min(len(text) - len(text.lstrip(" ")) + 2, _MAX_INDENT)


@dataclass(frozen=True, slots=True)
class Coloured:
    """The part of a line that has a colour.

    Attributes:
        end: number of its characters, from the beginning of the line.
        style: "error", "warning" or "best".
    """

    end: int
    style: str


def coloured(line: str, *, is_best: bool = False) -> Coloured | None:
    """What has a colour in a line: "error:" or "warning:" at its beginning, or a best row."""
    if is_best:
        return Coloured(len(line), "best")
    found = _BEFORE_COLON.match(line)
    return Coloured(len(found[1]) + 1, found[1]) if found else None


def for_terminal(text: str, stream: TextIO | None) -> str:
    """A line as this stream gets it: wrapped and coloured if it is a terminal, else unchanged."""
    first, *others = wrapped(text, width_of(stream))
    part = coloured(text) if has_colours(stream) else None
    if part:
        first = f"{_STYLES[part.style]}{first[: part.end]}{_RESET}{first[part.end :]}"
    return "\n".join([first, *others])


def short_paths(paths: Sequence[str]) -> dict[str, str]:
    """Each path by its last parts: as few as tell it apart from the others."""
    shown = {}
    for path in paths:
        others = [other for other in paths if other != path]
        parts = PurePath(path).parts
        count = 1
        while count < len(parts) and any(_tail(path, count) == _tail(o, count) for o in others):
            count += 1
        shown[path] = _tail(path, count) or path
    return shown


def _tail(path: str, count: int) -> str:
    return str(PurePath(*PurePath(path).parts[-count:]))


def shown_time(seconds: float) -> str:
    """A duration as 0:07, 12:30 or 1:02:03."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
