"""Lines of column files as they are on disk: ends, blanks, byte order marks; a wrong encoding."""

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO

from tagkit.corpus.formats.columns.layout import BLANK
from tagkit.corpus.formats.source import Source, has_mark, open_bytes, readable
from tagkit.corpus.lint.reading import ReadFile, can_be_read_again
from tagkit.corpus.lint.report import Finding, Severity
from tagkit.errors import TagkitError
from tagkit.wording import plural

_PIECE = 1 << 17  # bytes read at once
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")

# Kind, severity, what is told of such lines, whether a line is one.
_ODD: tuple[tuple[str, Severity, str, Callable[[str], bool]], ...] = (
    ("crlf", "note", "with the line end of Windows (CRLF)",
     lambda line: line.endswith("\r")),
    ("cr-inside", "warning", "with a carriage return inside (the line end of an old Mac?)",
     lambda line: "\r" in line.rstrip("\r")),
    ("blank-separator", "note", "between sentences with nothing but blanks or tabs",
     lambda line: not line.strip(BLANK) and bool(line.strip("\r"))),
    ("trailing-blank", "note", "with blanks or tabs at the end",
     lambda line: line.rstrip("\r").endswith((" ", "\t")) and bool(line.strip(BLANK))),
)  # fmt: skip


def check_lines(read: ReadFile, encoding: str) -> Iterator[Finding]:
    """Line ends, blanks and the byte order mark of a column file."""
    if read.format.name not in ("columns", "conllu") or not can_be_read_again(read.path):
        return
    try:
        mark = has_mark(read.path)
        lines, last = _odd_lines(read.path, encoding)
        is_ended = last == 0 or ends_its_last_line(read.path, encoding)
    except TagkitError:  # which is told of elsewhere
        return
    if mark:
        message = "begins with a byte order mark"
        yield Finding("note", "byte-order-mark", read.path, message, 1, (1,))
    for kind, severity, told, _ in _ODD:
        if found := lines.get(kind):
            message = f"{plural(len(found), 'line')} {told}"
            yield Finding(severity, kind, read.path, message, len(found), tuple(found))
    if not is_ended:
        message = "the last line has no line end"
        yield Finding("note", "last-line", read.path, message, 1, (last,))


def _odd_lines(path: str, encoding: str) -> tuple[dict[str, list[int]], int]:
    """Numbers of lines by kind, and that of the last line."""
    lines: dict[str, list[int]] = {}
    number = 0
    for piece in Source(path, encoding).pieces():
        for number, line in enumerate(piece, number + 1):  # noqa: B020 - it goes on counting
            if line and (line[-1] in BLANK or "\r" in line):
                for kind, _, _, holds in _ODD:
                    if holds(line):
                        lines.setdefault(kind, []).append(number)
    return lines, number


def ends_its_last_line(path: str, encoding: str) -> bool:
    """Whether the last line of a file that is not empty ends in a line feed.

    Raises:
        DataError: the file cannot be read.
    """
    tail = b""
    with open_bytes(path) as file:
        while piece := _read(file, path):
            tail = (tail + piece)[-4:]
    # The line feed of UTF-16 and UTF-32 has zeros behind it, or before it.
    name = codecs.lookup(encoding).name
    return (tail.rstrip(b"\0") if name.startswith(("utf-16", "utf-32")) else tail).endswith(b"\n")


def _read(file: BinaryIO, path: str) -> bytes:
    with readable(path):
        return file.read(_PIECE)


def is_utf_8(encoding: str) -> bool:
    """Whether text in an encoding is UTF-8 as well."""
    return codecs.lookup(encoding).name in _UTF_8


def check_encoding(read: ReadFile, encoding: str) -> Iterator[Finding]:
    """Whether a file that is read in another encoding is UTF-8, which hardly happens by chance."""
    if is_utf_8(encoding) or not read.sentences or not can_be_read_again(read.path):
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_ascii = True
    try:
        with open_bytes(read.path) as file:
            while piece := _read(file, read.path):
                is_ascii = is_ascii and piece.isascii()
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except (UnicodeDecodeError, TagkitError):  # a file that cannot be read is told of elsewhere
        return
    if not is_ascii:
        message = f"it is read in {encoding}, and all of it is UTF-8 too: is that its encoding?"
        yield Finding("warning", "encoding", read.path, message)
