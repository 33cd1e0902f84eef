"""Plain lines for people: reports, and errors and notes with the flags of the command that runs.

Whatever comes from a file, a name or a label is displayed as text: terminal control characters are
escaped (`tagkit.wording`). Data, such as predictions and JSON, is not written by this module.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import typer

from tagkit.cli.program.terminal import for_terminal
from tagkit.text.json_text import to_json
from tagkit.wording import message_line, visible

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
