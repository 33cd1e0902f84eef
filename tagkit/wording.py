"""How values from outside appear in sentences: safe to display, of bounded length, counted.

A sentence names an option by its dotted name, data.format, with a value as data.format=columns; and
a parameter of a function as Python writes it, force=True, or sizes=... without a value. On the
command line the flags of the command take their place (`tagkit.cli.program.messages`).
"""

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

_LONGEST = 80  # characters of a quoted value
LONGEST_LINE = 4000  # characters of one line of a message, whatever it quotes
# Control characters (C0, DEL, C1), line and paragraph separators, lone surrogates.
_UNSAFE = frozenset(("Cc", "Zl", "Zp", "Cs"))
# Marks and overrides of the direction of text. Other characters of formatting (Cf), such as the
# joiners of Indic scripts and of emoji, belong to words.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Half of a surrogate pair, which is no character and cannot be written in UTF-8. Python has one for
# each byte of a file name that is not UTF-8 (PEP 383).
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""`text` on one line, with nothing in it that a terminal would obey: ESC becomes \x1b.

    Text without such characters stays as it is; a text that was made visible stays so too.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _is_unsafe(char) else char for char in text)


def _is_unsafe(char: str) -> bool:
    return unicodedata.category(char) in _UNSAFE or char in _DIRECTIONS


def _escape(char: str) -> str:
    code = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clipped(text: str, limit: int = _LONGEST) -> str:
    """`text`, cut in the middle where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}...{text[-limit // 4 :]}"


def shown_name(text: str) -> str:
    """A name without quotes for a message: on one line, safe to display, of bounded length."""
    return visible(clipped(text))


def quoted(text: str, limit: int = _LONGEST) -> str:
    """`text` in quotes, cut in the middle where it is longer than `limit` characters.

    For messages: a file may hold a line of many megabytes.
    """
    return repr(clipped(text, limit))


def message_line(text: str) -> str:
    """One line of a message as a person sees it: safe to display, and of bounded length."""
    return visible(clipped(text, LONGEST_LINE))


def reason(error: OSError | ValueError) -> str:
    """Why the system refuses a path, in its words: 'Permission denied'."""
    if not isinstance(error, OSError):  # what Python says of a path that no system could have
        return "a file's name cannot hold NUL"
    return error.strerror or str(error)


def plural(count: int, unit: str) -> str:
    """'1 sentence', '1,200 sentences', '2 classes', '3 entities'."""
    return f"{count:,} {unit if count == 1 else plural_of(unit)}"


def plural_of(unit: str) -> str:
    """'sentences' for 'sentence', 'classes' for 'class', 'labels of column 1' for one of them."""
    if unit.count(" of "):
        first, column = unit.split(" of ", 1)
        return f"{plural_of(first)} of {column}"
    if unit.endswith("s"):
        return f"{unit}es"
    if unit.endswith("y") and unit[-2:-1] not in "aeiou":
        return f"{unit[:-1]}ies"
    return f"{unit}s"


def label_of(column: str) -> str:
    """'UPOS label', or 'label of column 1' where a tag column has a number for a name."""
    is_number = column.removeprefix("-").isdecimal()
    return f"label of column {column}" if is_number else f"{column} label"


def as_argument(value: object) -> str:
    """A value as one types it in a shell: in quotes where it needs them."""
    text = str(value)
    if not any(map(_is_unsafe, text)):
        return shlex.quote(text)
    # What a terminal would obey can be copied as escapes alone, which bash, zsh and ksh read within
    # $'...'. Of other characters than ASCII, and of names that are no text, those of the bytes.
    return f"$'{''.join(map(_shell_escape, text))}'"


def _shell_escape(char: str) -> str:
    if _is_unsafe(char):
        short = _ESCAPES.get(char)
        return short or "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
    return f"\\{char}" if char in "\\'" else char


def as_path_argument(path: Path) -> str:
    """A path as one types it in a shell in the place of an argument without a flag."""
    text = str(path)  # which has no "./" at its beginning, even where it was typed
    return as_argument(f".{os.sep}{text}" if text.startswith("-") else text)


def joined(names: Sequence[str], word: str = "or") -> str:
    """'a, b or c': all of at least one thing, as they are shown, with a word before the last."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def listed(names: Sequence[str], most: int = 10) -> str:
    """'a, b and 3 more': at most `most` names, each safe to display and of bounded length."""
    return first_of([shown_name(name) for name in names[:most]], len(names))


def first_of(shown: Sequence[str], count: int) -> str:
    """'a, b and 3 more': the first of `count` things, as they are shown."""
    more = f" and {count - len(shown):,} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def once(note: Callable[[str], None]) -> Callable[[str], None]:
    """A `note` that reports each sentence once."""
    noted: set[str] = set()

    def note_once(text: str) -> None:
        if text not in noted:
            noted.add(text)
            note(text)

    return note_once


ANOTHER_FOLDER = "name another folder (output.dir)"
ANOTHER_OR_FORCE = f"{ANOTHER_FOLDER}, or replace it with force=True"


def shortened(text: str, limit: int) -> str:
    """A text of at most `limit` cells of a terminal, without its middle where it is longer."""
    if cells(text) <= limit:
        return text
    end = max(0, limit - 3) // 3
    last = _beginning(text[::-1], end)[::-1]
    return _beginning(text, max(0, limit - 3 - end)) + "..." + last


def _beginning(text: str, limit: int) -> str:
    """As much of a text as so many cells hold."""
    used = 0
    for place, char in enumerate(text):
        used += cells(char)
        if used > limit:
            return text[:place]
    return text


def cells(text: str) -> int:
    """Columns of a terminal that a text takes: two for a wide character, none for a combining."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, width: int, *, right: bool = False) -> str:
    """A cell of a table: a text with blanks behind it, or before it, up to so many cells."""
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks
