"""The one place that writes files: each is whole or not there.

What is written stands beside its place, is forced to the disk, and is renamed into it: a crash, a
full disk or a loss of power leaves the old one or the new one.
"""

import gzip
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import CheckpointError, DataError

_BOM = "\ufeff"


def encoded(text: str, *, first: bool) -> bytes:
    """A stretch of a file, in UTF-8, such that it is read as it is here.

    A reader takes a byte order mark at a file's beginning for the file's own: a text's own one
    needs a second.

    Args:
        text: to be written.
        first: whether the file begins with it.
    """
    return (_BOM + text if first and text.startswith(_BOM) else text).encode()


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
    with refusals(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with refusals(path), os.fdopen(handle, "wb") as file:
            if path.suffix == ".gz":
                # Neither name nor time, so that the same data are the same bytes.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield _writer(cast(BinaryIO, packed))
            else:
                yield _writer(cast(BinaryIO, file))
        with refusals(path):
            beside.chmod(0o644)  # mkstemp lets nobody else read
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises:
        DataError: it cannot be made.
    """
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end.

    Raises:
        OSError: something cannot be written; what stood there stands there still.
    """
    beside = folder.with_name(f".{folder.name}.writing")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for file in beside.iterdir():
            _force(file)
        _force(beside)
        _replace(beside, folder)
        _force(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """A file with this content, in place of one that may be there.

    Raises:
        OSError: it cannot be written; what stood there stands there still.
    """
    beside = path.with_name(f".{path.name}.writing")
    try:
        beside.write_bytes(content)
        _force(beside)
        os.replace(beside, path)
        _force(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def set_aside(folder: Path) -> Path:
    """Where the old folder is, should the program end while a new one takes its place."""
    if not folder.name:  # '.'
        folder = folder.absolute()
    return folder.with_name(f".{folder.name}.old")


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """A file system's refusal, with what to do."""
    return CheckpointError(
        f"{path}: cannot be written: {error.strerror or error}; when that is mended, --resume goes "
        "on"
    )


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of all names and files of a folder, in hexadecimal; None of others."""
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(file for file in path.rglob("*") if file.is_file()):
            whole.update(f"{file.relative_to(path).as_posix()} {digest_of(file)}\n".encode())
        return whole.hexdigest()
    if not path.is_file():
        return None
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _replace(new: Path, folder: Path) -> None:
    """Put a complete folder in another's place. A folder cannot be renamed over a full one."""
    old = set_aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        if old.exists():
            os.rename(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _force(path: Path) -> None:
    """Have the system write what it holds of a file or a folder."""
    if os.name == "nt" and path.is_dir():  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def refusals(path: Path) -> Iterator[None]:
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
