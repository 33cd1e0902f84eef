"""SHA-256 of what is read of a corpus, made while it is read.

A path alone does not say what was read: its file may be replaced at any time, what a pipe held is
gone, a reader takes further files from beside it (seq.out beside seq.in), and of a folder it need
not take all.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tagkit.storage import digest_of_bytes


class _WatchedFile:
    """A file each of whose bytes is noted as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.hash = hashlib.sha256()
        self.has_ended = False

    def read(self, size: int = -1) -> bytes:
        return self._noted(self._file.read(size))

    def read1(self, size: int = -1) -> bytes:
        # A file in memory, as tests give it for standard input, need not have it.
        return self._noted(getattr(self._file, "read1", self._file.read)(size))

    def __getattr__(self, name: str) -> Any:  # peek, fileno, isatty and the like read nothing
        return getattr(self._file, name)

    def _noted(self, piece: bytes) -> bytes:
        self.hash.update(piece)
        self.has_ended = not piece
        return piece


class Digests:
    """The digests of all files that were read to their ends, by path."""

    def __init__(self) -> None:
        """Nothing has been read yet."""
        self._found: dict[str, str] = {}

    @contextmanager
    def watch(self, path: str, file: BinaryIO) -> Iterator[BinaryIO]:
        """The file, to be read in place of `file`; packed bytes count as they are.

        Args:
            path: of the file.
            file: opened, and not read yet.
        """
        watched = _WatchedFile(file)
        yield cast(BinaryIO, watched)
        if watched.has_ended:
            self.add(path, watched.hash.hexdigest())

    def add(self, path: str, digest: str) -> None:
        """Take note of a file that was read in another way."""
        self._found[path] = digest

    def of(self, path: str) -> str | None:
        """That of a corpus of this path; None where no file of it was read to its end.

        Of one file it is the file's own; of a folder, or of files beside each other, that of all
        their names and digests, as `digest_of` makes it of a folder.
        """
        if len(self._found) == 1 and not os.path.isdir(path):
            return next(iter(self._found.values()))
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        parts = [
            os.fsencode(Path(os.path.relpath(file, folder or ".")).as_posix())
            + f" {self._found[str(file)]}\n".encode()
            for file in sorted(map(Path, self._found))
        ]
        return digest_of_bytes(b"".join(parts)) if parts else None


class RunningDigest(Digests):
    """The digest of all that has been read so far, of all files with their paths."""

    def __init__(self) -> None:
        """Nothing has been read yet."""
        super().__init__()
        self._hash = hashlib.sha256()

    @contextmanager
    def watch(self, path: str, file: BinaryIO) -> Iterator[BinaryIO]:
        """As that of `Digests`; one file is read to its end before the next one."""
        self._hash.update(os.fsencode(path) + b"\0")
        watched = _WatchedFile(file)
        watched.hash = self._hash
        yield cast(BinaryIO, watched)

    def so_far(self) -> str:
        """SHA-256 in hexadecimal."""
        return self._hash.hexdigest()
