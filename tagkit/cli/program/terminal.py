"""Lines for a terminal: its width, wrapped lines, colours. Knows no rich, which is slow to import.

A file or a pipe has no width and no colours: its lines stay whole, so that a search finds them.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TextIO

from tagkit.wording import cells

DEFAULT_WIDTH = 80
_MIN_WIDTH = 20  # below it lines are not wrapped: a word on each line is no better
_MAX_INDENT = 16  # cells
# A quoted text is one word, if it is short: a command or a path may have blanks in it.
_WORD = re.compile(r" *(?:(?:(?<=[ (])|^)'[^']{,60}'(?=[ ,.;:)]|$)[,.;:)]*|[^ ]+)")
# `model       name: ...` and `error:   ...` have their text in a second column.
_HEAD = re.compile(r" *[^ ]+(?: [^ ]+)? {2,}(?=[^ ])")
_COLOURED = re.compile(r"^(error|warning):(?=\s)")
_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[33m", "best": "\x1b[1;32m"}


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
    head = _HEAD.match(text)
    # Below the second column, or two more than its own.
    column = cells(head[0]) if head else len(text) - len(text.lstrip(" ")) + 2
    indent = " " * min(column, _MAX_INDENT)
    found = filled(text, width, len(indent), _WORD)
    return [(indent if begin else "") + text[begin:end] for begin, end in found]


def filled(text: str, width: int, indent: int, word: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where each line of a text begins and ends, if as many words stand on it as fit.

    Args:
        text: without line ends.
        width: cells of a line; a longer word is a line of its own.
        indent: cells before each line but the first.
        word: matches a word with the blanks before it.
    """
    begin = end = 0
    for found in word.finditer(text):
        used = cells(text[begin : found.end()]) + (indent if begin else 0)
        if text[begin:end].strip(" ") and used > width:
            yield begin, end
            begin = found.end() - len(found[0].lstrip(" "))
        end = found.end()
    yield begin, end


def for_terminal(text: str, stream: TextIO | None, *, is_best: bool = False) -> str:
    """A line as this stream gets it: wrapped and coloured if it is a terminal, else unchanged.

    Of an error or a warning the word has a colour, of a best row the line.
    """
    shown = "\n".join(wrapped(text, width_of(stream)))
    if not has_colours(stream):
        return shown
    if is_best:
        return f"{_COLOURS['best']}{shown}\x1b[0m"
    return _COLOURED.sub(lambda found: f"{_COLOURS[found[1]]}{found[0]}\x1b[0m", shown, count=1)


def short_paths(paths: Sequence[str]) -> dict[str, str]:
    """Each path by its last part, or whole where others end in the same."""
    names = Counter(PurePath(path).name for path in set(paths))
    shown = {path: PurePath(path).name for path in paths}
    return {path: name if name and names[name] == 1 else path for path, name in shown.items()}


def shown_time(seconds: float) -> str:
    """A duration as 0:07, 12:30 or 1:02:03."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
