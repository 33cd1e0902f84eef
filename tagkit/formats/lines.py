r"""Bytes -> lines, in pieces as they arrive.

Lines end with \n alone: a \r before it stays with its line (and is written back), and \x85, \x0b,
U+2028 and the like are characters as any other. str.splitlines and text mode would cut there.
"""

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError, FormatError

_PIECE = 1 << 17  # bytes read at once, at most
STDIN = "-"


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input for '-', to read bytes from.

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
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
    with file:
        yield cast(BinaryIO, file)


def source_name(path: str) -> str:
    """How messages name an input."""
    return "standard input" if path == STDIN else path


def read_lines(file: BinaryIO, source: str, encoding: str) -> Iterator[list[str]]:
    """Lines without their line feeds, as many at a time as one read brings.

    A reader that hands on each list before it asks for the next one never holds back a line that
    has arrived: what a pipe brings is at hand at once.

    Args:
        file: read with `read1` where it has that, so that a pipe is not waited for.
        source: name of the file in messages.
        encoding: of the text; a byte order mark before UTF-8 is passed over.

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
        except OSError as error:
            raise DataError(f"{source}: cannot be read: {error.strerror}") from None
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
        offset += len(piece)
        first, *others = text.split("\n")
        begun.append(first)
        if others:
            lines = ["".join(begun), *others]
            begun = [lines.pop()]
            number += len(lines)
            yield lines
        if not piece:
            if rest := "".join(begun):  # the last line of a file often lacks its end
                yield [rest]
            return
