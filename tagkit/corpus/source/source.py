"""A file, a folder or standard input to read from: opened once, and unpacked.

A pipe gives its content once, so nothing here opens a source a second time: what a format is
recognised by, and what only the bytes show, are kept from the one reading.
"""

import gzip
import hashlib
import os
import select
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from tagkit.corpus.source.decoding import LINE_REMEDY, ByteFacts, read_lines, readable
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.rows import LONGEST_START, TABLES, lines_of_table
from tagkit.errors import DataError, FileError
from tagkit.limits import MAX_LINE_CHARS
from tagkit.storage import PACKED
from tagkit.wording import reason

_GZIP = b"\x1f\x8b"  # how every gzip file begins (RFC 1952), whatever its name
# How files begin that others pack; each with what unpacks it.
_PACKED = {b"\x28\xb5\x2f\xfd": "zstd -d", b"\xfd7zXZ\0": "xz -d", b"BZh": "bzip2 -d",
           b"PK\x03\x04": "unzip"}  # fmt: skip
STDIN = "-"
# Characters by which a format is recognised, where there are as many: hundreds of sentences.
_BEGINNING = 1 << 16
# Standard input that has been read; weak, so that tests can put another one in its place.
_opened_stdin: weakref.ref[BinaryIO] | None = None


class Source:
    """A file, or standard input for '-', whose beginning can be looked at before it is read."""

    def __init__(
        self,
        path: str,
        encoding: str,
        max_line_chars: int = MAX_LINE_CHARS,
        digests: Digests | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            path: of a file or folder, or '-'.
            encoding: of the text.
            max_line_chars: a longer line is refused before it is held in memory.
            digests: which take note of what is read; None where nobody asks for it.
        """
        self.path = path
        self.name = source_name(path)
        self.encoding = encoding
        self.max_line_chars = max_line_chars
        self.digests = digests
        self.drained = True  # whether the next line of `numbered` has yet to be read
        self.facts = ByteFacts(encoding)  # complete once all lines have been read
        self.bytes_read = 0  # of a regular file, packed as it is; by `pieces` alone
        self._pieces: Iterator[list[str]] | None = None

    def is_folder(self) -> bool:
        """Whether it is a folder rather than a file."""
        return self.path != STDIN and os.path.isdir(self.path)

    def beginning(self, *, waiting: bool = True, enough: int = 1) -> list[str]:
        """The first lines, enough to recognise a format by; empty for an empty file.

        They are kept for `pieces`: nothing is read twice. Where the file cannot be read further,
        it is `pieces` that raises the error, after them.

        Args:
            waiting: whether to wait for more of a pipe than its first read brings.
            enough: lines; with fewer of them before an error that is raised here.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        pieces = self.pieces()
        kept: list[list[str]] = []
        size = 0
        try:
            for lines in pieces:
                kept.append(lines)
                size += sum(map(len, lines)) + len(lines)
                # A person who types into a pipe expects an answer to the first line.
                if size >= _BEGINNING or not (waiting or is_regular(self.path)):
                    break
        except DataError as error:
            if sum(map(len, kept)) < enough:
                raise
            pieces = _raising(error)
        self._pieces = chain(kept, pieces)
        return list(chain.from_iterable(kept))

    def pieces(self) -> Iterator[list[str]]:
        """Lines without their line feeds, as many at a time as one read brings; once alone.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        if self._pieces is None:
            self._pieces = self._read()
        return self._pieces

    def watch(self, see: Callable[[list[str]], None]) -> None:
        """Show all lines to `see` too, as they are read; to be called before any are taken."""

        def watched(pieces: Iterator[list[str]]) -> Iterator[list[str]]:
            for lines in pieces:
                see(lines)
                yield lines

        self._pieces = watched(self.pieces())

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
                # Set before the line is handed out: whoever takes it may ask whether to wait.
                self.drained = number == len(lines)
                yield done + number, line.removesuffix("\r")
            done += len(lines)

    def _read(self) -> Iterator[list[str]]:
        with open_bytes(self.path, self.digests) as file:
            for lines in read_lines(
                file,
                self.name,
                self.encoding,
                max_line_chars=self.max_line_chars,
                facts=self.facts,
            ):
                self.bytes_read = _place_in(file)
                yield lines


def _raising(error: DataError) -> Iterator[list[str]]:
    """Iterator that raises `error`."""
    yield from ()
    raise error


def _place_in(file: BinaryIO) -> int:
    """How many bytes the system has read of a file; 0 of a pipe."""
    try:
        # Not `tell`, which of a packed file counts unpacked bytes.
        return os.lseek(file.fileno(), 0, os.SEEK_CUR)
    except (OSError, ValueError):
        return 0


@contextmanager
def open_bytes(path: str, digests: Digests | None = None) -> Iterator[BinaryIO]:
    """A file, or standard input for '-', to read bytes from; what gzip has packed is unpacked.

    Args:
        path: of the file, or '-'.
        digests: which take note of what is read.

    Raises:
        DataError: it cannot be opened, or it is standard input and has been read before.
    """
    if path == STDIN:
        with _content(path, _standard_input(), digests) as content:
            yield content
        return
    if not path:  # as of a shell's variable that is not set
        raise DataError("expected the name of an input, found an empty one")
    try:
        file = Path(path).open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{shown_path(path)}: cannot be opened: {reason(error)}") from None
    with file, _content(path, cast(BinaryIO, file), digests) as content:
        yield content


@contextmanager
def _content(path: str, file: BinaryIO, digests: Digests | None) -> Iterator[BinaryIO]:
    """What a file holds: its bytes, what gzip has packed, or the rows of a table as JSON Lines.

    Raises:
        DataError: it cannot be read; with the file's name.
    """
    name = source_name(path)
    # By its bytes, as a packed file may have lost its ending, and a plain one may be named .gz. Of
    # a pipe this waits for its first bytes, which the next read gives at once.
    peek: Callable[[int], bytes] | None = getattr(file, "peek", None)
    with readable(name):
        longest = max(LONGEST_START, *map(len, _PACKED))
        start = None if peek is None else peek(longest)  # None of one in memory
    packed = next((_PACKED[each] for each in _PACKED if start and start.startswith(each)), "")
    if packed:
        raise DataError(f"{name}: is compressed: unpack it with `{packed}`, or use gzip")
    if start and start.startswith(TABLES):
        # It is read in any order, in which no digest can be made on the way.
        table = file if file.seekable() else BytesIO(file.read())
        if digests is not None:
            digests.add(path, hashlib.file_digest(cast(Any, table), "sha256").hexdigest())
            table.seek(0)
        yield lines_of_table(table, name)
        return
    watch = digests.watch if digests is not None else _unwatched
    with watch(path, file) as stream:
        if start == b"" and file.isatty():  # not asked again: it would wait for a second Ctrl-D
            yield BytesIO()
        elif start and start.startswith(_GZIP):
            with gzip.open(stream) as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield stream


@contextmanager
def _unwatched(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """The file itself."""
    yield file


def _standard_input() -> BinaryIO:
    global _opened_stdin
    if sys.stdin is None or sys.stdin.closed:  # as in a program without a console
        raise DataError("standard input: is closed; name a file")
    file = sys.stdin.buffer
    # A second reading would find an empty corpus, and say so, which helps nobody.
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


def read_text(
    path: str,
    encoding: str,
    max_chars: int = MAX_LINE_CHARS,
    facts: ByteFacts | None = None,
    digests: Digests | None = None,
) -> str:
    """The whole of a file, its line ends as they are; without a byte order mark.

    Args:
        path: of the file.
        encoding: of its text.
        max_chars: a longer text is refused.
        facts: where what the bytes show is kept.
        digests: which take note of what is read.

    Raises:
        DataError: the file cannot be read.
        FormatError: bytes that are not of this encoding, or more than `max_chars` characters.
    """
    with open_bytes(path, digests) as file:
        kept: list[str] = []
        size = 0
        for lines in read_lines(
            file,
            source_name(path),
            encoding,
            keep_ends=True,
            max_line_chars=max_chars,
            facts=facts,
        ):
            kept.append("".join(lines))
            size += len(kept[-1])
            if size > max_chars:
                problem = f"expected a text of at most {max_chars:,} characters, found a longer one"
                raise FileError(source_name(path), 1, f"{problem}. {LINE_REMEDY}")
        return "".join(kept)


def unpacked_name(name: str) -> str:
    """The name of a file as it would be if it were not packed: a.conll of a.conll.gz."""
    # The name alone: whether a file is packed shows in its first bytes.
    return name.removesuffix(PACKED)


def source_name(path: str) -> str:
    """How messages name an input."""
    return "standard input" if path == STDIN else path
