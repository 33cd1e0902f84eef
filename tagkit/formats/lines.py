r"""Bytes -> lines, in pieces as they arrive.

Lines end with \n alone: a \r before it stays with its line (and is written back), and \x85, \x0b,
U+2028 and the like are characters as any other. str.splitlines and text mode would cut there.
"""

import codecs
import gzip
import os
import select
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError, FormatError
from tagkit.wording import reason

_PIECE = 1 << 17  # bytes read at once, at most
_GZIP = b"\x1f\x8b"  # how every gzip file begins (RFC 1952), whatever its name
STDIN = "-"


class Source:
    """A file, or standard input for '-', whose beginning can be looked at before it is read."""

    def __init__(self, path: str, encoding: str) -> None:
        """Nothing is opened yet; `encoding` is that of the text."""
        self.path = path
        self.name = source_name(path)
        self.encoding = encoding
        self.drained = True  # whether the next line of `numbered` has yet to be read
        self._pieces: Iterator[list[str]] | None = None

    def is_folder(self) -> bool:
        """Whether it is a folder rather than a file."""
        return self.path != STDIN and os.path.isdir(self.path)

    def beginning(self) -> list[str]:
        """What the first read brings, at least one line; empty for an empty file.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        pieces = self.pieces()
        first = next(pieces, [])
        self._pieces = chain([first], pieces)
        return first

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
            yield from read_lines(file, self.name, self.encoding)


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input for '-', to read bytes from; what gzip has packed is unpacked.

    Raises:
        DataError: it cannot be opened.
    """
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be opened: {reason(error)}") from None
    with file:
        if file.peek(len(_GZIP)).startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield cast(BinaryIO, file)


def has_mark(path: str) -> bool:
    """Whether a file that can be read begins with the byte order mark of UTF-8."""
    with open_bytes(path) as file:
        try:
            return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        except (OSError, zlib.error, EOFError):  # whoever reads on will say so
            return False


def read_text(path: str, encoding: str) -> str:
    """The whole of a file, its line ends as they are; without a byte order mark.

    Raises:
        DataError: the file cannot be read.
        FormatError: bytes that are not of this encoding.
    """
    with open_bytes(path) as file:
        pieces = read_lines(file, source_name(path), encoding, keep_ends=True)
        return "".join(line for lines in pieces for line in lines)


def source_name(path: str) -> str:
    """How messages name an input."""
    return "standard input" if path == STDIN else path


def read_lines(
    file: BinaryIO, source: str, encoding: str, *, keep_ends: bool = False
) -> Iterator[list[str]]:
    """Lines without their line feeds, as many at a time as one read brings.

    A reader that hands on each list before it asks for the next one never holds back a line that
    has arrived: what a pipe brings is at hand at once.

    Args:
        file: read with `read1` where it has that, so that a pipe is not waited for.
        source: name of the file in messages.
        encoding: of the text; a byte order mark before UTF-8 is passed over.
        keep_ends: whether lines keep their line feeds.

    Raises:
        FormatError: bytes that are not of this encoding.
    """
    name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    decoder = codecs.getincrementaldecoder(name)()
    read = getattr(file, "read1", file.read)
    begun: list[str] = []  # pieces of a line whose end has not come; one join, however many
    number, offset = 1, 0
    while True:
        try:
            piece: bytes = read(_PIECE)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise DataError(f"{source}: is damaged or cut off: {error}") from None
        except OSError as error:
            raise DataError(f"{source}: cannot be read: {reason(error)}") from None
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            # error.object begins with bytes that an earlier piece left undecided.
            at = offset + len(piece) - len(error.object) + error.start
            number += error.object[: error.start].count(b"\n")
            raise FormatError(
                source,
                number,
                f"byte {at:,} is not {encoding} ({error.reason}). Name the file's encoding with "
                "--encoding, latin-1 for one",
            ) from None
        except UnicodeError as error:  # UTF-16 without its mark has no byte that is to blame
            problem = f"is not {encoding} ({error}). Name the file's encoding with --encoding"
            raise FormatError(source, number, problem) from None
        offset += len(piece)
        first, *others = text.split("\n")
        begun.append(first)
        if others:
            lines = ["".join(begun), *others]
            begun = [lines.pop()]
            number += len(lines)
            yield [f"{line}\n" for line in lines] if keep_ends else lines
        if not piece:
            if rest := "".join(begun):  # the last line of a file often lacks its end
                yield [rest]
            return
