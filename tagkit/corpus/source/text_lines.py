"""Lines of plain text from files of any size: read in order or by number, never held in memory.

A line that is not blank is a line of the corpus; a blank one ends a document, and so does the end
of a file. Lines have neither their line feed nor the CR of files from Windows.
"""

import gzip
import os
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from tagkit.corpus.source.decoding import is_utf_8, read_lines
from tagkit.corpus.source.source import open_bytes, rereadable, source_name
from tagkit.errors import DataError, FormatError
from tagkit.limits import MAX_LINE_CHARS
from tagkit.storage import BYTE_ORDER_MARK, digest_of, digest_of_bytes
from tagkit.wording import listed, reason

_MARK = BYTE_ORDER_MARK.encode()


@dataclass
class _File:
    """One file of a corpus, or a copy of it in UTF-8.

    Attributes:
        name: for messages.
        digest: SHA-256 of the file as it lies on the disk.
        path: where its lines can be read as UTF-8.
        mark: size and time of the file when it was indexed; None of a copy.
        places: offset in bytes of each line that is not blank.
        starts: number of the first line of each document.
    """

    name: str
    digest: str
    path: str
    mark: tuple[int, int] | None = None
    places: "array[int]" = field(default_factory=lambda: array("q"))
    starts: "array[int]" = field(default_factory=lambda: array("q"))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes of its lines.

        Raises:
            DataError: it cannot be read, or is another file than before.
        """
        try:
            with Path(self.path).open("rb") as file:
                if self.mark is not None and self.mark != _mark(file):
                    raise self.altered()
                yield file
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read: {reason(error)}") from None

    def altered(self) -> DataError:
        """The error for a file that is not what it was when it was indexed."""
        return DataError(
            f"{self.name}: was altered while it was in use; do not write into a corpus that is "
            "being read"
        )


class TextLines:
    """Lines of one or several files; eight bytes of memory for each.

    Attributes:
        digest: SHA-256 of the file; of several that of their digests, one a line.
        documents: (documents,) number of the first line of each.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        encoding: str = "utf-8",
        max_line_chars: int = MAX_LINE_CHARS,
        problem_of: Callable[[str], str | None] | None = None,
        given: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> None:
        """Read all files once, to check them and to find their lines.

        What gzip has packed, a pipe, and text that is not UTF-8 are copied to a temporary file as
        UTF-8, as their lines cannot be found by an offset.

        Args:
            paths: of files; "-" is standard input.
            encoding: of all of them.
            max_line_chars: a longer line is refused.
            problem_of: what is wrong with a line, or None; None to accept all.
            given: lines by the paths that stand for them, in place of those of files.

        Raises:
            DataError: a file cannot be read, or no file has a line that is not blank.
            FormatError: bytes that are not of the encoding, a line that is too long, or one with a
                problem.
        """
        paths = [paths] if isinstance(paths, str) else list(paths)
        self._files = [
            self._copied(path, given[path], problem_of)
            if path in given
            else self._indexed(path, encoding, max_line_chars, problem_of)
            for path in paths
        ]
        digests = [file.digest for file in self._files]
        joined = "".join(f"{digest}\n" for digest in digests).encode()
        self.digest = digests[0] if len(digests) == 1 else digest_of_bytes(joined)
        # Number of the first line of each file, and of all lines.
        self._first = [0]
        self.documents = array("q")
        for file in self._files:
            self.documents.extend(self._first[-1] + start for start in file.starts)
            self._first.append(self._first[-1] + len(file.places))
        if not len(self):
            names = listed([file.name for file in self._files])
            raise DataError(f"{names}: expected lines of text, found none")

    def __len__(self) -> int:
        """Number of lines that are not blank."""
        return self._first[-1]

    def __iter__(self) -> Iterator[str]:
        """All lines, in order, in constant memory."""
        return self.lines(0, len(self))

    def __getitem__(self, number: int) -> str:
        """The line of this number, from 0."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"line {number} of {len(self)}")
        number %= len(self)
        return next(self.lines(number, number + 1))

    def files(self, start: int, end: int) -> list[tuple[int, int]]:
        """Of lines `start` to `end` (exclusive), those of each file: first line, and line after."""
        # A file without lines begins where the next one does.
        inner = dict.fromkeys(first for first in self._first if start < first < end)
        return list(pairwise([start, *inner, end])) if start < end else []

    def lines(self, start: int, end: int) -> Iterator[str]:
        """Lines `start` to `end` (exclusive), in constant memory.

        Raises:
            DataError: a file cannot be read any more, or has changed.
        """
        while start < end:
            at = bisect_right(self._first, start) - 1
            file, first = self._files[at], self._first[at]
            last = min(end, self._first[at + 1])
            with file.open() as read:
                read.seek(file.places[start - first])
                while start < last:
                    raw = read.readline()
                    if not raw:  # the file has become shorter since it was opened
                        raise file.altered()
                    # An empty line stands between two documents.
                    if line := _text(raw):
                        yield line
                        start += 1

    @cached_property
    def _copies(self) -> "tempfile._TemporaryFileWrapper[bytes]":
        """Copies of files whose lines no offset finds, one after another.

        They share a file, which is open as long as the lines are wanted: a file each would exceed
        the limit of open files (often 1,024).
        """
        file = tempfile.NamedTemporaryFile(prefix="tagkit-")
        # By itself it might be collected before its owner closes it, which Python warns of.
        weakref.finalize(self, file.close)
        return file

    def _indexed(
        self,
        path: str,
        encoding: str,
        max_line_chars: int,
        problem_of: Callable[[str], str | None] | None,
    ) -> _File:
        """A file with the places of its lines."""
        name = source_name(path)
        with rereadable(path) as local, open_bytes(local) as file:
            is_plain = local == path and is_utf_8(encoding) and not isinstance(file, gzip.GzipFile)
            copy = None if is_plain else self._copies
            digest = digest_of(Path(local)) or ""
            found = _File(name, digest, path if copy is None else copy.name)
            place = 0 if copy is None else copy.tell()
            if copy is None:
                found.mark = _mark(file)
                # A byte order mark is in the file, and in no line of it.
                place = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
                file.seek(0)
            pieces = read_lines(file, name, encoding, max_line_chars=max_line_chars)
            self._index(found, chain.from_iterable(pieces), place, problem_of)
        return found

    def _copied(
        self, path: str, lines: Iterable[str], problem_of: Callable[[str], str | None] | None
    ) -> _File:
        """Lines that no file holds, in a copy."""
        found = _File(path, "", self._copies.name)
        found.digest = self._index(found, lines, self._copies.tell(), problem_of)
        return found

    def _index(
        self,
        found: _File,
        lines: Iterable[str],
        place: int,
        problem_of: Callable[[str], str | None] | None,
    ) -> str:
        """Note where each line begins, the first one at `place`; the digest of all of them."""
        copy = self._copies if found.mark is None else None
        digest = sha256()
        begins = True  # whether the next line begins a document
        for number, line in enumerate(lines, 1):
            if problem_of and (problem := problem_of(line.removesuffix("\r"))):
                raise FormatError(found.name, number, problem)
            content = f"{line}\n".encode()
            is_blank = not line.strip()
            if not is_blank:
                if begins:
                    found.starts.append(len(found.places))
                found.places.append(place)
            begins = is_blank
            place += len(content)
            if copy is not None:
                copy.write(content)
                digest.update(content)
        if copy is not None:
            copy.flush()
        return digest.hexdigest()


def _text(line: bytes) -> str:
    """A line without its end; empty if it is blank."""
    text = line.decode().removesuffix("\n").removesuffix("\r")
    return text if text.strip() else ""


def _mark(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns
