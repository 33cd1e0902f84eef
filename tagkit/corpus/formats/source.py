r"""Bytes -> lines, in pieces as they arrive.

Lines end with \n alone: a \r before it stays with its line (and is written back), and \x85, \x0b,
U+2028 and the like are characters as any other. str.splitlines and text mode would cut there.
"""

import codecs
import gzip
import os
import re
import select
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.corpus.formats.decoding import decoder_of
from tagkit.errors import DataError, FormatError, shorten
from tagkit.limits import MAX_LINE_CHARS
from tagkit.wording import Message, Setting, reason

_PIECE = 1 << 17  # bytes read at once, at most
_GZIP = b"\x1f\x8b"  # how every gzip file begins (RFC 1952), whatever its name
STDIN = "-"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_BEGINNING = 1 << 16  # characters by which a format is recognised, where there are as many
_opened_stdin: weakref.ref[BinaryIO] | None = None  # what comes through it comes once


class Source:
    """A file, or standard input for '-', whose beginning can be looked at before it is read."""

    def __init__(self, path: str, encoding: str, max_line_chars: int = MAX_LINE_CHARS) -> None:
        """Nothing is opened yet.

        Args:
            path: of a file or folder, or '-'.
            encoding: of the text.
            max_line_chars: a longer line is refused before it is held in memory.
        """
        self.path = path
        self.name = source_name(path)
        self.encoding = encoding
        self.max_line_chars = max_line_chars
        self.drained = True  # whether the next line of `numbered` has yet to be read
        self._pieces: Iterator[list[str]] | None = None

    def is_folder(self) -> bool:
        """Whether it is a folder rather than a file."""
        return self.path != STDIN and os.path.isdir(self.path)

    def beginning(self, *, waiting: bool = True) -> list[str]:
        """The first lines, enough to recognise a format by; empty for an empty file.

        They are kept for `pieces`: nothing is read twice.

        Args:
            waiting: whether to wait for more of a pipe than its first read brings.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        pieces = self.pieces()
        kept: list[list[str]] = []
        size = 0
        for lines in pieces:
            kept.append(lines)
            size += sum(map(len, lines)) + len(lines)
            if size >= _BEGINNING or not (waiting or is_regular(self.path)):
                break
        self._pieces = chain(kept, pieces)
        return [line for lines in kept for line in lines]

    def pieces(self) -> Iterator[list[str]]:
        """Lines without their line feeds, as many at a time as one read brings; once alone.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        if self._pieces is None:
            self._pieces = self._read()
        return self._pieces

    def waits(self) -> bool:
        """Whether the next read may have to wait for somebody else: a pipe that is empty."""
        if self.path != STDIN:
            return False
        try:
            return not select.select([sys.stdin.buffer], [], [], 0)[0]
        except (OSError, ValueError):  # it is no file that could be asked
            return False

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, from 1, and without the CR of files from Windows."""
        done = 0
        for lines in self.pieces():
            for number, line in enumerate(lines, 1):
                self.drained = number == len(lines)
                yield done + number, line.removesuffix("\r")
            done += len(lines)

    def _read(self) -> Iterator[list[str]]:
        with open_bytes(self.path) as file:
            yield from read_lines(
                file, self.name, self.encoding, max_line_chars=self.max_line_chars
            )


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input for '-', to read bytes from; what gzip has packed is unpacked.

    Raises:
        DataError: it cannot be opened, or it is standard input and has been read before.
    """
    if path == STDIN:
        yield _standard_input()
        return
    if not path:  # as of a shell's variable that is not set
        raise DataError("expected the name of an input, found an empty one")
    try:
        file = Path(path).open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{shown_path(path)}: cannot be opened: {reason(error)}") from None
    with file:
        if file.peek(len(_GZIP)).startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield cast(BinaryIO, file)


def _standard_input() -> BinaryIO:
    global _opened_stdin
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("standard input: is closed; name a file")
    file = sys.stdin.buffer
    if _opened_stdin is not None and _opened_stdin() is file:
        raise DataError(
            "standard input: can be read once, and one input has been read from it already; name "
            "a file for the other"
        )
    _opened_stdin = weakref.ref(file)
    return file


def shown_path(path: str) -> str:
    """A path for messages, without what a terminal would not show."""
    return path if path.isprintable() else repr(path)[1:-1]


def is_regular(path: str) -> bool:
    """Whether it is a file that can be read again, and not a pipe, a device or standard input."""
    try:
        return path != STDIN and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_pipe(path: str) -> bool:
    """Whether it is standard input, or something else that gives its content once."""
    if path == STDIN:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def rereadable(path: str) -> Iterator[str]:
    """A path that can be read several times: itself, or of a copy of what a pipe holds.

    Raises:
        DataError: it cannot be read.
    """
    if not is_pipe(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / ("standard-input" if path == STDIN else Path(path).name)
        with open_bytes(path) as file, copy.open("wb") as to:
            shutil.copyfileobj(file, to)
        yield str(copy)


@contextmanager
def readable(source: str) -> Iterator[None]:
    """What reading bytes fails with, in words.

    Raises:
        DataError: the file `source` cannot be read, or gzip's data are damaged.
    """
    try:
        yield
    except EOFError:
        raise DataError(f"{source}: the gzip file is cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise DataError(f"{source}: the gzip file is damaged") from None
    except OSError as error:
        raise DataError(f"{source}: cannot be read: {reason(error)}") from None


def has_mark(path: str) -> bool:
    """Whether a file that can be read begins with the byte order mark of UTF-8."""
    with open_bytes(path) as file:
        try:
            return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        except (OSError, zlib.error, EOFError):  # whoever reads on will say so
            return False


def read_text(path: str, encoding: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """The whole of a file, its line ends as they are; without a byte order mark.

    Raises:
        DataError: the file cannot be read, or is longer than `max_chars`.
        FormatError: bytes that are not of this encoding.
    """
    with open_bytes(path) as file:
        kept: list[str] = []
        size = 0
        for lines in read_lines(
            file, source_name(path), encoding, keep_ends=True, max_line_chars=max_chars
        ):
            kept.append("".join(lines))
            size += len(kept[-1])
            if size > max_chars:
                raise DataError(
                    f"{path}: expected a text of at most {max_chars:,} characters, found a longer "
                    f"one. {_LINE_REMEDY}"
                )
        return "".join(kept)


_ENCODING = Setting("data.encoding")
_NAME_IT = "Name the file's encoding with"
_LINE_REMEDY = "Divide it into shorter ones, or raise data.max_line_chars"


def source_name(path: str) -> str:
    """How messages name an input."""
    return "standard input" if path == STDIN else path


def read_lines(
    file: BinaryIO,
    source: str,
    encoding: str,
    *,
    keep_ends: bool = False,
    max_line_chars: int = MAX_LINE_CHARS,
) -> Iterator[list[str]]:
    """Lines without their line feeds, as many at a time as one read brings.

    A reader that hands on each list before it asks for the next one never holds back a line that
    has arrived: what a pipe brings is at hand at once.

    Args:
        file: read with `read1` where it has that, so that a pipe is not waited for.
        source: name of the file in messages.
        encoding: of the text; a byte order mark before UTF-8 is passed over.
        keep_ends: whether lines keep their line feeds.
        max_line_chars: a line that is longer is refused as soon as so much of it has been read: a
            few packed bytes may unpack to gigabytes.

    Raises:
        FormatError: bytes that are not of this encoding, or a line that is too long.
    """
    name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    decode = decoder_of(name)
    may_be_half = not name.startswith("utf-8")  # UTF-7 and unicode_escape let halves through
    read = getattr(file, "read1", file.read)
    begun: list[str] = []  # pieces of a line whose end has not come; one join, however many
    length = 0  # of that line, in characters
    number, offset = 1, 0
    while True:
        with readable(source):
            piece: bytes = read(_PIECE)
        try:
            text = decode(piece, not piece)
        except UnicodeDecodeError as error:
            # error.object begins with bytes that an earlier piece left undecided.
            at = offset + len(piece) - len(error.object) + error.start
            number += error.object[: error.start].count(b"\n")
            raise FormatError(
                source,
                number,
                Message(f"byte {at:,} is not {encoding} ({error.reason}). {_NAME_IT} ", _ENCODING,
                        ", latin-1 for one"),
            ) from None  # fmt: skip
        except UnicodeError:  # no byte is to blame, as where UTF-16 lacks its mark
            raise FormatError(source, number, _not_in(encoding)) from None
        if odd := may_be_half and _HALF_PAIR.search(text):
            at_line = number + text.count("\n", 0, odd.start())
            problem = f"expected characters, found half of a surrogate pair, U+{ord(odd[0]):04X}"
            wrong = Setting("data.encoding", shorten(encoding)[1:-1])
            raise FormatError(source, at_line, Message(f"{problem}. Look at ", wrong))
        offset += len(piece)
        first, *others = text.split("\n")
        begun.append(first)
        length += len(first)
        if length > max_line_chars:
            raise _too_long(source, number, max_line_chars)
        if others:
            lines = ["".join(begun), *others]
            if len(text) > max_line_chars:  # a low limit, which lines of this piece may exceed
                for at, line in enumerate(lines, number):
                    if len(line) > max_line_chars:
                        raise _too_long(source, at, max_line_chars)
            begun = [lines.pop()]
            length = len(begun[0])
            number += len(lines)
            yield [f"{line}\n" for line in lines] if keep_ends else lines
        if not piece:
            if rest := "".join(begun):  # the last line of a file often lacks its end
                yield [rest]
            return


def _not_in(encoding: str) -> str:
    """Why a text as a whole is not in an encoding."""
    kind = codecs.lookup(encoding).name
    if kind in ("utf-16", "utf-32"):
        problem = f"expected a byte order mark, with which {encoding} begins, found none"
        others = f": {kind}-le and {kind}-be have no mark"
        return Message(f"{problem}. {_NAME_IT} ", _ENCODING, others)
    return Message(f"is not {encoding}. {_NAME_IT} ", _ENCODING)


def _too_long(source: str, number: int, limit: int) -> FormatError:
    return FormatError(
        source,
        number,
        f"expected a line of at most {limit:,} characters, found a longer one. {_LINE_REMEDY}",
    )
