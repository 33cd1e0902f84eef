"""Files that are complete or not there; standard output, devices and pipes are written directly.

The order in `_WholeFile.commit` is what makes a file safe: flush Python's buffer, fsync the data,
rename, fsync the folder. Without the first fsync a file system that delays allocation (ext4, XFS)
may put the rename on the disk before the data, and a power failure then leaves an empty file under
the final name. Without the second one the rename itself may be lost.
"""

import errno
import gzip
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError, TagkitError
from tagkit.storage.disk import flush_to_disk
from tagkit.storage.places import (
    EXISTS,
    own_descriptor,
    refusals,
    require_folder,
    require_replaceable,
    status,
)
from tagkit.storage.temporary import UNFINISHED, temporary_file
from tagkit.wording import LONE_SURROGATE

# Optional at the start of a file in UTF-8, as many programs of Windows write it.
BYTE_ORDER_MARK = "\ufeff"
PARTIAL = ".partial"  # ending of what was written before an error
_LONGEST_NAME = 255  # bytes that file systems allow
PACKED = ".gz"  # ending of the names of files that are written packed
# O_EXCL: a file or a link that somebody else put at the temporary name is never opened.
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def encoded(text: str, *, first: bool) -> bytes:
    """Part of a file in UTF-8, such that a reader gets back the same text.

    Args:
        text: what is written.
        first: whether the file begins with it.

    Raises:
        DataError: the text holds half of a surrogate pair, which is not a character.
    """
    try:
        # A reader strips one U+FEFF at the beginning of a file as the byte order mark. A text that
        # begins with U+FEFF of its own gets a second one, so that one is left after reading.
        doubled = BYTE_ORDER_MARK if first and text.startswith(BYTE_ORDER_MARK) else ""
        return f"{doubled}{text}".encode()
    except UnicodeEncodeError as error:
        odd = ord(text[error.start - (first and text.startswith(BYTE_ORDER_MARK))])
        raise DataError(
            f"cannot be written in UTF-8: half of a surrogate pair, U+{odd:04X}. Look at the "
            "input's encoding (data.encoding), and for file names that are not in UTF-8"
        ) from None


def replace_lone_surrogates(text: str) -> str:
    """The text with U+FFFD in place of each byte of a file name that is not UTF-8."""
    return LONE_SURROGATE.sub("\ufffd", text)


@contextmanager
def open_output(
    path: Path | None,
    *,
    replace: bool = True,
    on_partial: Callable[[Path], None] | None = None,
) -> Iterator[Callable[[str], None]]:
    """A function that writes text, in UTF-8, to a file or, for None, to standard output.

    A file whose name ends in .gz is compressed. Standard output is flushed after each call.

    Args:
        path: of the file, which appears there when the context ends without an error.
        replace: whether an existing file is replaced.
        on_partial: called with the path of a file with what was written, where the context ends
            with an error of the input (TagkitError) after something was: NAME.partial beside
            `path`, or another name where that is taken. Where it is None, nothing is kept.

    Raises:
        DataError: the file exists and must not be replaced, or it cannot be written.
        BrokenPipeError: the reader of standard output has closed it.
    """
    if path is None:
        if sys.stdout is None:
            raise DataError("standard output: cannot be written: it is closed")
        # Bytes, so that the terminal's encoding and line ends do not change the data.
        yield _Writer(sys.stdout.buffer, None)
        return
    with refusals(path):
        file = _WholeFile(path, replace=replace)
    stream = file.stream
    try:
        if path.suffix == PACKED:
            # Without the file's name and the time in the header (RFC 1952), equal data give equal
            # bytes, and a digest of the output can be compared.
            stream = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=stream, mtime=0))
        write = _Writer(stream, path)
        yield write
        with refusals(path):
            if stream is not file.stream:
                stream.close()  # writes gzip's trailer, CRC and length, before the fsync
            file.commit()
    except TagkitError:
        is_packed = stream is not file.stream
        # Of compressed data whose last part is lost nothing is kept: it could not be read.
        lost = is_packed and write.has_failed
        if on_partial is not None and not (write.is_empty or lost) and file.place is not None:
            with suppress(OSError):
                if is_packed:
                    stream.close()
                kept = file.keep_partial(file.place, write.size if write.has_failed else None)
                is_beside = kept.parent == Path(os.path.realpath(path.parent))
                on_partial(path.with_name(kept.name) if is_beside else kept)
        raise
    finally:
        # gzip, left open, would complain of a closed file later. A pipe must not get its trailer,
        # as if all of the output were there.
        if stream is not file.stream and file.place is not None:
            with suppress(OSError):
                stream.close()
        file.discard()


def write_whole(path: Path, content: bytes) -> None:
    """Create or replace a file with this content.

    The temporary file is `.NAME.writing`. Use it only in folders in which one process writes at a
    time, such as that of a training run: there the name alone identifies what a kill left behind.

    Raises:
        OSError: it cannot be written; the file that was there is unchanged.
    """
    file = _WholeFile(path, replace=True, beside=path.name)
    try:
        file.stream.write(content)
        file.commit()
    finally:
        file.discard()


class _WholeFile:
    """A file being written: complete at its destination after `commit`, gone after `discard`."""

    def __init__(self, path: Path, *, replace: bool, beside: str = "") -> None:
        """`beside`: the temporary file is `.BESIDE.writing`; if empty, it gets a random name.

        Raises:
            OSError: nothing can be written there.
        """
        self.place: Path | None = None  # stays None for what is written to directly
        self.replace = replace
        found = status(path)
        own = own_descriptor(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder, and the output is one file")
        if own is not None:
            # /dev/stdout and /proc/self/fd/N: a duplicate shares the offset with the descriptor, so
            # output is appended. Opening the path again would start at 0 and overwrite it.
            self.stream = cast(BinaryIO, os.fdopen(os.dup(own), "wb"))
        elif found is not None and not stat.S_ISREG(found.st_mode):
            self.stream = cast(BinaryIO, path.open("wb"))
        else:
            require_folder(path)
            require_replaceable(path, found, replace=replace)
            self.place = Path(os.path.realpath(path))
            # The temporary file must not be readable, even for a moment, by users who could not
            # read the old one: it is created private, and gets the old mode before any content.
            mode = 0o600 if found else 0o666
            if beside:
                self.beside = self.place.with_name(f".{beside}{UNFINISHED}")
                self.beside.unlink(missing_ok=True)  # left by a killed process
                handle = os.open(self.beside, _NEW_FILE, mode)
            else:
                self.beside, handle = temporary_file(self.place, mode)
            try:
                if found:
                    _copy_permissions(handle, self.place, found)
                self.stream = cast(BinaryIO, os.fdopen(handle, "wb"))
            except BaseException:
                self.beside.unlink(missing_ok=True)
                raise

    def commit(self) -> None:
        """Move the complete file to its destination.

        Raises:
            OSError: it cannot be written.
        """
        self.stream.flush()
        if self.place is None:
            self.stream.close()
            return
        # A full disk or quota may be reported only here (ENOSPC of delayed allocation, EDQUOT), so
        # this comes before the rename, while the old file is still there.
        os.fsync(self.stream.fileno())
        if sys.platform == "win32":  # where an open file cannot be renamed
            self.stream.close()
        if self.replace:
            self.beside.replace(self.place)
        else:
            _rename_if_absent(self.beside, self.place)
        flush_to_disk(self.place.parent)

    def keep_partial(self, place: Path, size: int | None) -> Path:
        """Give the temporary file a name of its own beside its destination, `place`.

        Args:
            place: the destination.
            size: number of bytes to keep where a write has failed, of which a part may be in the
                file; None to keep all.

        Raises:
            OSError: it cannot be completed or renamed.
        """
        if size is None:
            self.stream.flush()
        else:
            os.truncate(self.stream.fileno(), size)
        os.fsync(self.stream.fileno())
        if size is not None:
            # What the stream still holds of the write that failed must not follow on `close`.
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.stream.fileno())
        if sys.platform == "win32":  # where an open file cannot be renamed
            self.stream.close()
        number = 1
        while True:
            kept = _partial_name(place, number)
            try:
                # A file that is there may be the only copy of what an earlier command has done.
                _rename_if_absent(self.beside, kept)
            except FileExistsError:
                number += 1
                continue
            flush_to_disk(place.parent)
            return kept

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        # First the name, then the descriptor: closing releases the lock, and another writer would
        # take the file for one that a killed process left.
        if self.place is not None:
            self.beside.unlink(missing_ok=True)
        with suppress(OSError):  # close(2) repeats the error of a write that has failed already
            self.stream.close()


def _partial_name(place: Path, number: int) -> Path:
    """NAME.partial, NAME.partial.2 and so on; with as many characters of a long name as fit."""
    ending = PARTIAL if number == 1 else f"{PARTIAL}.{number}"
    name = place.name
    while name and len(os.fsencode(name)) > _LONGEST_NAME - len(ending):
        name = name[:-1]
    return place.with_name(f"{name}{ending}")


def _copy_permissions(handle: int, place: Path, found: os.stat_result) -> None:
    """Give a new file the owner, access list and mode of the one that it will replace."""
    if sys.platform == "win32":
        return
    # Order matters: chown(2) clears the set-user-ID bits, and an access list sets the group bits of
    # the mode (its mask), so the mode comes last.
    with suppress(OSError):  # only root may give a file to another user
        os.fchown(handle, found.st_uid, found.st_gid)
    if sys.platform == "linux":
        names: list[str] = []
        with suppress(OSError):  # there are file systems without such attributes
            names = os.listxattr(place)  # POSIX access lists are system.posix_acl_access
        for name in names:
            with suppress(OSError):
                os.setxattr(handle, name, os.getxattr(place, name))
    # Without set-user-ID and set-group-ID: new content must not run with the old one's rights.
    os.fchmod(handle, stat.S_IMODE(found.st_mode) & 0o777)


def _rename_if_absent(beside: Path, place: Path) -> None:
    """Move a file to a path where there is none.

    Raises:
        FileExistsError: a file has appeared there in the meantime.
    """
    try:
        # rename(2) replaces silently; link(2) fails with EEXIST, atomically. `discard` removes the
        # temporary name afterwards.
        os.link(beside, place)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, EXISTS) from None
    except OSError:  # no hard links, as on FAT: between check and rename a file could be replaced
        if place.exists():
            raise FileExistsError(errno.EEXIST, EXISTS) from None
        beside.rename(place)


class _Writer:
    """Writes text, in UTF-8."""

    def __init__(self, file: BinaryIO, path: Path | None) -> None:
        """`path` names the file in messages; None is standard output."""
        self.size = 0  # bytes of all calls but one that has failed
        self.has_failed = False
        self._file = file
        self._path = path

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written."""
        return not self.size

    def __call__(self, text: str) -> None:
        """Append a text."""
        with refusals(self._path):
            content = encoded(text, first=self.is_empty)
            self.has_failed = True  # unless both of these succeed
            self._file.write(content)
            self._file.flush()  # a reader of a pipe gets each piece while the input still comes
            self.has_failed = False
            self.size += len(content)
