"""Files that are whole or not there; standard output, devices and pipes are written through."""

import errno
import gzip
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError
from tagkit.storage.disk import force
from tagkit.storage.places import (
    EXISTS,
    own_descriptor,
    refusals,
    require_folder,
    require_replaceable,
    status,
)
from tagkit.storage.temporary import UNFINISHED, temporary_file
from tagkit.wording import Message, Setting

# Optional at the start of a file in UTF-8, as many programs of Windows write it.
BYTE_ORDER_MARK = "\ufeff"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


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
        doubled = BYTE_ORDER_MARK if first and text.startswith(BYTE_ORDER_MARK) else ""
        return f"{doubled}{text}".encode()
    except UnicodeEncodeError as error:
        odd = ord(text[error.start - (first and text.startswith(BYTE_ORDER_MARK))])
        raise DataError(
            Message(
                f"cannot be written in UTF-8: half of a surrogate pair, U+{odd:04X}. Look at the "
                "input's encoding (",
                Setting("data.encoding"),
                "), and for file names that are not in UTF-8",
            )
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

    The temporary file is `.NAME.writing`: this is for folders in which one process writes at a
    time, such as that of a training run, where what a kill leaves is known by its name.

    Raises:
        OSError: it cannot be written; what stood there stands there still.
    """
    file = _WholeFile(path, replace=True, beside=path.name)
    try:
        file.stream.write(content)
        file.commit()
    finally:
        file.discard()


class _WholeFile:
    """A file on its way: complete at its place after `commit`, gone after `discard`."""

    def __init__(self, path: Path, *, replace: bool, beside: str = "") -> None:
        """`beside`: the temporary file is `.BESIDE.writing`; any name if it is empty.

        Raises:
            OSError: nothing can be written there.
        """
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
            mode = 0o600 if found else 0o666
            if beside:
                self.beside = self.place.with_name(f".{beside}{UNFINISHED}")
                self.beside.unlink(missing_ok=True)  # a kill left it
                handle = os.open(self.beside, _NEW_FILE, mode)
            else:
                self.beside, handle = temporary_file(self.place, mode)
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
        force(self.place.parent)

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


def _writer(file: BinaryIO, path: Path | None) -> Callable[[str], None]:
    first = True

    def write(text: str) -> None:
        nonlocal first
        with refusals(path):
            file.write(encoded(text, first=first))
            file.flush()
        first = first and not text

    return write
