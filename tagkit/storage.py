"""The one place that writes files and folders: each is whole or not there.

What is written stands beside its place, is forced to the disk, and is renamed into it: a crash, a
full disk or a loss of power leaves the old one or the new one. A file that is replaced keeps its
mode; a symbolic link stays, and its target is replaced; what is no regular file (a device, a named
pipe) is written through and stays what it is.
"""

import errno
import gzip
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import CheckpointError, DataError
from tagkit.places import (
    EXISTS,
    own_descriptor,
    refusals,
    require_folder,
    require_new_folder,
    require_replaceable,
    status,
)
from tagkit.temporary import UNFINISHED, temporary_file, temporary_folder
from tagkit.wording import reason

_BOM = "\ufeff"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_MANY_FILES = 64  # beyond which all that the system holds is forced to the disk at once


def encoded(text: str, *, first: bool) -> bytes:
    """A stretch of a file, in UTF-8, such that it is read as it is here.

    A reader takes a byte order mark at a file's beginning for the file's own: a text's own one
    needs a second.

    Args:
        text: to be written.
        first: whether the file begins with it.

    Raises:
        DataError: the text holds half of a surrogate pair, which is no character.
    """
    try:
        return (_BOM + text if first and text.startswith(_BOM) else text).encode()
    except UnicodeEncodeError as error:
        odd = ord(text[error.start - (first and text.startswith(_BOM))])
        raise DataError(
            f"cannot be written in UTF-8: half of a surrogate pair, U+{odd:04X}. Look at the "
            "input's --encoding, and for file names that are not in UTF-8"
        ) from None


def without_halves(text: str) -> str:
    """Text in which U+FFFD stands for each byte of a file's name that is not UTF-8."""
    return _HALF_PAIR.sub("\ufffd", text)


@contextmanager
def open_output(path: Path | None, *, replace: bool = True) -> Iterator[Callable[[str], None]]:
    """A function that writes text, in UTF-8, to a file or, for None, to standard output.

    A file whose name ends in .gz is packed. What goes to standard output is there at once.

    Args:
        path: of the file. It takes its place when the context ends without an error.
        replace: whether a file that is there is replaced.

    Raises:
        DataError: the file is there and not to be replaced, or cannot be written.
        BrokenPipeError: nobody reads standard output any more.
    """
    if path is None:
        if sys.stdout is None:
            raise DataError("standard output: cannot be written: it is closed")
        # Bytes, so that the terminal's encoding and line ends do not change the data.
        yield _writer(sys.stdout.buffer, None)
        return
    with refusals(path):
        file = _WholeFile(path, replace=replace)
    try:
        stream = file.stream
        if path.suffix == ".gz":
            # Neither name nor time, so that the same data are the same bytes.
            stream = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
        yield _writer(stream, path)
        with refusals(path):
            if stream is not file.stream:
                stream.close()
            file.commit()
    finally:
        file.discard()


def write_whole(path: Path, content: bytes) -> None:
    """A file with this content, in place of one that may be there.

    Raises:
        OSError: it cannot be written; what stood there stands there still.
    """
    file = _WholeFile(path, replace=True)
    try:
        file.stream.write(content)
        file.commit()
    finally:
        file.discard()


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises:
        DataError: it cannot be made.
    """
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `path` at the end. Nothing is ever replaced.

    Raises:
        DataError: something other than an empty folder is there, or it cannot be written.
    """
    require_new_folder(path)
    with refusals(path):
        place = Path(os.path.realpath(path))
        beside, lock = temporary_folder(place)
    try:
        yield beside
        with refusals(path):
            _force_all(beside)
            if place.is_dir():
                beside.chmod(stat.S_IMODE(place.stat().st_mode))
            beside.rename(place)
            _force(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end.

    Raises:
        OSError: something cannot be written; what stood there stands there still.
    """
    folder = _behind_link(folder)
    old = status(folder)
    beside = folder.with_name(f".{folder.name}{UNFINISHED}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        if old:  # which may keep others out
            beside.chmod(0o700)
        yield beside
        if old:
            for file in beside.iterdir():
                if before := status(folder / file.name):
                    file.chmod(stat.S_IMODE(before.st_mode))
            beside.chmod(stat.S_IMODE(old.st_mode))
        for file in beside.iterdir():
            _force(file)
        _force(beside)
        _replace(beside, folder)
        _force(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def set_aside(folder: Path) -> Path:
    """Where the old folder is, should the program end while a new one takes its place."""
    if not folder.name:  # '.'
        folder = folder.absolute()
    folder = _behind_link(folder)
    return folder.with_name(f".{folder.name}.old")


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of all names and files of a folder, in hexadecimal; None of others.

    Raises:
        DataError: the file, or one in the folder, cannot be read.
    """
    if os.path.isdir(path):
        whole = hashlib.sha256()
        for file in sorted(file for file in path.rglob("*") if os.path.isfile(file)):
            name = os.fsencode(file.relative_to(path).as_posix())
            whole.update(name + f" {digest_of(file)}\n".encode())
        return whole.hexdigest()
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """A file system's refusal, with what to do."""
    return CheckpointError(
        f"{path}: cannot be written: {error.strerror or error}; when that is mended, --resume goes "
        "on"
    )


class _WholeFile:
    """A file on its way: complete at its place after `commit`, gone after `discard`."""

    def __init__(self, path: Path, *, replace: bool) -> None:
        self.place: Path | None = None  # None of what is written through
        self.replace = replace
        found = status(path)
        own = own_descriptor(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder, and the output is one file")
        if own is not None:
            self.stream = cast(BinaryIO, os.fdopen(os.dup(own), "wb"))
        elif found is not None and not stat.S_ISREG(found.st_mode):
            self.stream = cast(BinaryIO, path.open("wb"))
        else:
            require_folder(path)
            require_replaceable(path, found, replace=replace)
            self.place = Path(os.path.realpath(path))
            # Nobody is to read, even for a moment, what the old file kept from them.
            self.beside, handle = temporary_file(self.place, 0o600 if found else 0o666)
            try:
                if found:
                    _like(handle, self.place, found)
                self.stream = cast(BinaryIO, os.fdopen(handle, "wb"))
            except BaseException:
                self.beside.unlink(missing_ok=True)
                raise

    def commit(self) -> None:
        """Put the complete file into its place.

        Raises:
            OSError: it cannot be written.
        """
        self.stream.flush()
        if self.place is None:
            self.stream.close()
            return
        os.fsync(self.stream.fileno())
        if sys.platform == "win32":  # where an open file cannot be renamed
            self.stream.close()
        if self.replace:
            self.beside.replace(self.place)
        else:
            _rename_to_new(self.beside, self.place)
        _force(self.place.parent)

    def discard(self) -> None:
        """Remove what is left of the temporary file."""
        if self.place is not None:
            self.beside.unlink(missing_ok=True)
        with suppress(OSError):  # what could not be written cannot be when it is closed
            self.stream.close()


def _like(handle: int, place: Path, found: os.stat_result) -> None:
    """Give a new file the owner, access list and mode of the one that it is going to replace."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        os.fchown(handle, found.st_uid, found.st_gid)
    if sys.platform == "linux":
        for name in os.listxattr(place):
            with suppress(OSError):
                os.setxattr(handle, name, os.getxattr(place, name))
    os.fchmod(handle, stat.S_IMODE(found.st_mode) & 0o777)


def _rename_to_new(beside: Path, place: Path) -> None:
    """Put a file where none is.

    Raises:
        FileExistsError: there is one by now.
    """
    try:
        os.link(beside, place)  # which refuses what a rename would replace
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, EXISTS) from None
    except OSError:  # a file system without links
        if place.exists():
            raise FileExistsError(errno.EEXIST, EXISTS) from None
        beside.rename(place)


def _behind_link(folder: Path) -> Path:
    """What a symbolic link leads to; other paths as they are."""
    return Path(os.path.realpath(folder)) if folder.is_symlink() else folder


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


def _force_all(folder: Path) -> None:
    """Have the system write what it holds of a folder and of all that is in it."""
    inside = list(folder.rglob("*"))
    if len(inside) > _MANY_FILES and hasattr(os, "sync"):
        os.sync()
        return
    for path in (*inside, folder):
        _force(path)


def _force(path: Path) -> None:
    """Have the system write what it holds of a file or a folder."""
    if os.name == "nt" and path.is_dir():  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _writer(file: BinaryIO, path: Path | None) -> Callable[[str], None]:
    first = True

    def write(text: str) -> None:
        nonlocal first
        with refusals(path):
            file.write(encoded(text, first=first))
            file.flush()
        first = first and not text

    return write
