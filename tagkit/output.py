"""Where data goes: standard output, or files and folders that are whole or not there.

What is written stands beside its place and is renamed into it at the end; what goes wrong before
that leaves it as it was.
"""

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError
from tagkit.formats.writing import Piece, encoded

_OPEN_FILES = 16  # of a folder that is being written


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that writes text, in UTF-8, to a file or, for None, to standard output.

    A file whose name ends in .gz is packed. What goes to standard output is there at once.

    Raises:
        DataError: the file cannot be written.
    """
    if path is None:
        # Bytes, so that the terminal's encoding and line ends do not change the data.
        yield _writer(sys.stdout.buffer)
        return
    with _refusals(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with _refusals(path), os.fdopen(handle, "wb") as file:
            if path.suffix == ".gz":
                # Neither name nor time, so that the same data are the same bytes.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield _writer(cast(BinaryIO, packed))
            else:
                yield _writer(cast(BinaryIO, file))
        with _refusals(path):
            beside.chmod(0o644)  # mkstemp lets nobody else read
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_pair(path: Path, pieces: Iterable[Piece]) -> None:
    """Files that differ in their endings alone: a piece's `file` takes the place of the path's.

    Raises:
        DataError: a file cannot be written.
    """
    with _refusals(path), tempfile.TemporaryDirectory(prefix=".tagkit-", dir=path.parent) as name:
        _fill(Path(name), pieces)
        for file in sorted(Path(name).iterdir()):
            file.replace(path.with_suffix(file.name))


def write_folder(path: Path, pieces: Iterable[Piece]) -> None:
    """A folder with the files of the pieces.

    Raises:
        DataError: it is there already, or cannot be written.
    """
    if path.exists():
        raise DataError(f"{path}: is there already. Remove it, or name another folder")
    with _refusals(path):
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with _refusals(path):
            _fill(beside, pieces)
            beside.chmod(0o755)  # mkdtemp lets nobody else in
            beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises:
        DataError: it cannot be made.
    """
    with _refusals(path):
        path.mkdir(parents=True, exist_ok=True)


def _fill(folder: Path, pieces: Iterable[Piece]) -> None:
    """Append each piece to its file; the few that were written last stay open."""
    files: dict[str, BinaryIO] = {}
    try:
        for piece in pieces:
            if piece.file not in files:
                if len(files) == _OPEN_FILES:
                    files.pop(next(iter(files))).close()
                place = folder / piece.file
                place.parent.mkdir(parents=True, exist_ok=True)
                files[piece.file] = place.open("ab")
            file = files[piece.file]
            file.write(encoded(piece.text, first=file.tell() == 0))
    finally:
        for file in files.values():
            file.close()


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """An error of the file system, as one that a person can read."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def _writer(file: BinaryIO) -> Callable[[str], None]:
    first = True

    def write(text: str) -> None:
        nonlocal first
        file.write(encoded(text, first=first))
        file.flush()
        first = first and not text

    return write
