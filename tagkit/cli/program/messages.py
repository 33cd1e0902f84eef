"""Plain lines for people: reports, and errors and notes with the flags of the command that runs.

Whatever comes from a file, a name or a label is displayed as text: terminal control characters are
escaped (`tagkit.wording`). Data, such as predictions and JSON, is not written by this module.

In a terminal lines are wrapped and have colours; a file or a pipe has no width and no colours: its
lines stay whole, so that a search finds them. Knows no rich, which is slow to import.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TextIO

import typer

from tagkit.text.json_text import to_json
from tagkit.wording import cells, message_line, visible

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


# A quoted value, which is left as it is; or what may be an option: the dotted name of one of the
# configuration, or a parameter in Python's notation. A longer word, a path or the name of a file,
# such as data.format.conll, is neither.
_QUOTED_OR_OPTION = re.compile(
    r"""
    (?<!\w) (?: '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" ) (?!\w)
    | (?<![^\s(]) (?<!--set\ ) (?P<name> [a-z]\w* (?:\.[a-z]\w*)* )
      (?: (?P<alone> =\.\.\. | =True\b ) | (?P<valued> = ) (?=\S)
        | (?! \.?[\w/\\-] | :\d | [=?] ) )
    """,
    re.VERBOSE,
)
# Those of the command that runs, by the names that the library has for them.
_flags: Mapping[str, str] = {}


def use_flags(flags: Mapping[str, str]) -> None:
    """Have messages name these flags, which are those of the command that runs.

    Args:
        flags: by the name of an option of the configuration, or of a parameter.
    """
    global _flags  # a process runs one command, and its errors surface where that is not known
    _flags = flags


def flag_of(name: str) -> str:
    """The flag of an option of the configuration on this command line; its name without one."""
    return _flags.get(name, name)


def with_flags(text: str) -> str:
    """A message of the library, which names options, with the command's flags in their place.

    What a message quotes is never replaced.
    """
    return _QUOTED_OR_OPTION.sub(_as_typed, text) if _flags else text


def _as_typed(found: re.Match[str]) -> str:
    """An option as typed on this command line; as it is where the command does not have it."""
    name, is_alone, has_value = found["name"], found["alone"], found["valued"]
    # A word without any of these may be one of English: the path of a file, the top of a list.
    if name is None or not (is_alone or has_value or "." in name or "_" in name):
        return found[0]
    if (
        not (is_alone or has_value)
        and found.start()
        and found.string.startswith(" = ", found.end())
    ):
        return found[0]  # as it stands in a file
    if name in _flags:
        return f"{_flags[name]} " if has_value else _flags[name]
    if has_value and "." in name and "overrides" in _flags and _is_option(name):
        return f"{_flags['overrides']} {found[0]}"
    return found[0]


def _is_option(name: str) -> bool:
    from tagkit.config import Config, options_of  # slow to import, and seldom wanted

    return name in options_of(Config)


def for_people(text: str) -> str:
    """One line of an error or a note: with flags, safe to display, of bounded length."""
    return message_line(with_flags(text))


def show_result(result: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print what a command has found: as one JSON object, or `lines` for people."""
    if as_json:
        typer.echo(to_json(result.to_dict()))
    else:
        show_lines(lines)


def show_lines(lines: Iterable[str]) -> None:
    """Print lines for people to standard output; for a command whose result they are."""
    typer.echo("\n".join(for_terminal(visible(line), sys.stdout) for line in lines))
