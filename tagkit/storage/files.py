"""Files and folders that are complete or not there; devices and pipes are written directly.

The order is what makes a file safe: flush Python's buffer, fsync the data, rename, fsync the
folder. Without the first fsync a file system that delays allocation (ext4, XFS) may put the rename
on the disk before the data, and a power failure then leaves an empty file under the final name.
Without the second one the rename itself may be lost.

Temporary files and folders lie beside their destination, because a rename is atomic within one file
system only: from /tmp, often a file system of its own, it would fail with EXDEV. Each is locked
(flock) as long as the process that fills it lives. The next writer to the same destination removes
those whose lock is free: they were left by a killed process. Only in the folder of a run, in which
one process writes at a time, is the temporary name `.NAME.writing`, which identifies what a kill
left behind by itself. What may take hours to write is NAME.partial meanwhile (`partial`).

rename(2) moves a folder onto another one only if that is empty, so replacing takes two renames: the
old folder is set aside as `.NAME.old`, then the new one takes the name. A kill between them leaves
no folder under the name, and both under others: `restore_set_aside` puts the old one back, and
`tagkit.models.folder.parts.find_bundle` reads it where it is. (Linux can exchange two names
at once, by renameat2 with RENAME_EXCHANGE; macOS, Windows, NFS and Python's os module cannot.)
"""

import errno
import gzip
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from tagkit.errors import DataError, TagkitError
from tagkit.storage.partial import Unfinished, lock, new_partial, reopened
from tagkit.storage.places import (
    EXISTS,
    cannot_write,
    destination,
    digest_of_bytes,
    flush_to_disk,
    own_descriptor,
    refusals,
    require_new_folder,
    status,
)
from tagkit.wording import LONE_SURROGATE

if sys.platform != "win32":
    import fcntl

# Optional at the start of a file in UTF-8, as many programs of Windows write it.
BYTE_ORDER_MARK = "\ufeff"
PACKED = ".gz"  # ending of the names of files that are written packed
_UNFINISHED = ".writing"  # ending of everything that is not complete
# O_EXCL: a file or a link that somebody else put at the temporary name is never opened.
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# Each fsync waits for the disk: with more files than this, one sync(2) of everything is faster.
_MANY_FILES = 64


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
    unfinished: Unfinished | None = None,
) -> Iterator["OutputWriter"]:
    """A function that writes text, in UTF-8, to a file or, for None, to standard output.

    A file whose name ends in .gz is compressed. Standard output is flushed after each call.

    Args:
        path: of the file, which appears there when the context ends without an error.
        replace: whether an existing file is replaced.
        on_partial: called with the path of a file with what was written, where the context ends
            with an error of the input (TagkitError) or a signal after something was. It has that
            name from the beginning: NAME.partial beside `path`, or another one where that is taken.
            Where it is None, nothing is kept.
        unfinished: what the output begins with; kept again whatever ends the context.

    Raises:
        DataError: the file must not be replaced, cannot be written, or is not what it was.
        BrokenPipeError: the reader of standard output has closed it.
    """
    if path is None:
        if sys.stdout is None:
            raise DataError("standard output: cannot be written: it is closed")
        # Bytes, so that the terminal's encoding and line ends do not change the data.
        yield OutputWriter(sys.stdout.buffer, None)
        return
    with refusals(path):
        file = _WholeFile(path, replace=replace, kept=on_partial is not None, unfinished=unfinished)
    packed: BinaryIO | None = None
    if path.suffix == PACKED:
        # Without the file's name and the time in the header (RFC 1952), equal data give equal
        # bytes, and a digest of the output can be compared.
        packed = cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    write = OutputWriter(packed or file, path)
    write.size, write.digest = file.size, file.digest
    if file.place and on_partial:
        is_beside = file.beside.parent == Path(os.path.realpath(path.parent))
        write.partial = path.with_name(file.beside.name) if is_beside else file.beside
    try:
        yield write
        with refusals(path):
            if packed:
                packed.close()  # writes gzip's trailer, CRC and length, before the fsync
            file.commit()
    except BaseException as error:
        if on_partial and (unfinished or _is_good(error, write, packed=packed is not None)):
            _keep(file, write, packed, on_partial)
        raise
    finally:
        # gzip, left open, would complain of a closed file later. A pipe must not get its trailer,
        # as if all of the output were there.
        if packed and file.place:
            with suppress(OSError):
                packed.close()
        file.discard()


def _is_good(error: BaseException, write: "OutputWriter", *, packed: bool) -> bool:
    """Whether what was written before an error is worth keeping."""
    # A signal is no Exception. After a mistake of the program nobody knows what is in the file. Of
    # compressed data whose last part is lost nothing is kept: it could not be read.
    known = isinstance(error, TagkitError) or not isinstance(error, Exception)
    return known and bool(write.size) and not (packed and write.has_failed)


def _keep(
    file: "_WholeFile",
    write: "OutputWriter",
    packed: BinaryIO | None,
    on_partial: Callable[[Path], None],
) -> None:
    """Leave what was written beside the place of the output."""
    if write.partial and file.beside.exists():
        with suppress(OSError):
            if packed:
                packed.close()
            file.keep(None if packed else write.size)
            on_partial(write.partial)


def write_whole(path: Path, content: bytes) -> None:
    """Create or replace a file in a folder in which one process writes at a time.

    Raises:
        OSError: it cannot be written; the file that was there is unchanged.
    """
    file = _WholeFile(path, replace=True, beside=path.with_name(f".{path.name}{_UNFINISHED}"))
    try:
        file.write(content)
        file.commit()
    finally:
        file.discard()


def write_of_run(path: Path, content: bytes) -> None:
    """Create or replace a file in the folder of a run, as `write_whole` does.

    Raises:
        CheckpointError: it cannot be written; the message says how the run is resumed.
    """
    try:
        write_whole(path, content)
    except OSError as error:
        raise cannot_write(path, error) from None


class _WholeFile:
    """A file being written: complete at its destination after `commit`, gone after `discard`."""

    def __init__(
        self,
        path: Path,
        *,
        replace: bool,
        beside: Path | None = None,
        kept: bool = False,
        unfinished: Unfinished | None = None,
    ) -> None:
        """Nothing is written yet.

        Args:
            path: of the file.
            replace: whether an existing file is replaced.
            beside: the temporary file; None for one with a name that no other writer has.
            kept: whether that is NAME.partial, as it may be kept.
            unfinished: what is to be gone on with.

        Raises:
            OSError: nothing can be written there.
            DataError: what is unfinished is not what it was.
        """
        self.replace = replace
        self.size, self.digest = 0, hashlib.sha256()
        self._is_kept = False
        self.place = destination(path, replace=replace)  # None for what is written to directly
        if self.place is None:
            # /dev/stdout and /proc/self/fd/N: a duplicate shares the offset with the descriptor, so
            # output is appended. Opening the path again would start at 0 and overwrite it.
            own = own_descriptor(path)
            handle = os.open(path, os.O_WRONLY) if own is None else os.dup(own)
        else:
            found = status(path)
            # The temporary file must not be readable, even for a moment, by users who could not
            # read the old one: it is created private, and gets the old mode before any content.
            mode = 0o600 if found else 0o666
            if beside:
                self.beside = self.place.with_name(beside.name)
                self.beside.unlink(missing_ok=True)  # left by a killed process
                handle = os.open(self.beside, _NEW_FILE, mode)
            elif unfinished:
                self.beside, self.size = unfinished.path, unfinished.size
                handle = reopened(unfinished, self.digest)
            else:
                self.beside, handle = (new_partial if kept else _temporary)(
                    self.place, lambda path: os.open(path, _NEW_FILE, mode)
                )
            if found:
                _copy_permissions(self.place, self.beside, found)
        # Without a buffer, which after a failed write would be written once more on closing.
        self._stream = os.fdopen(handle, "wb", buffering=0)

    def write(self, content: bytes) -> None:
        """Append all of it.

        Raises:
            OSError: there is no room, say; a part of it may be written.
        """
        left = memoryview(content)
        while left:  # write(2) writes what fits, and fails the next time
            left = left[self._stream.write(left) :]

    def flush(self) -> None:
        """Nothing: there is no buffer."""

    def commit(self) -> None:
        """Move the complete file to its destination.

        Raises:
            OSError: it cannot be written.
        """
        if self.place is None:
            self._stream.close()
            return
        # A full disk or quota may be reported only here (ENOSPC of delayed allocation, EDQUOT), so
        # this comes before the rename, while the old file is still there.
        os.fsync(self._stream.fileno())
        if sys.platform == "win32":  # where an open file cannot be renamed
            self._stream.close()
        if self.replace:
            self.beside.replace(self.place)
        else:
            _rename_if_absent(self.beside, self.place)
        flush_to_disk(self.place.parent)

    def keep(self, size: int | None) -> None:
        """Leave the temporary file where it is.

        Args:
            size: number of bytes to keep, without a part of a write that has failed; None for all.

        Raises:
            OSError: it cannot be completed.
        """
        assert self.place
        self._is_kept = True  # first: a second signal may come
        if size is not None:
            os.truncate(self._stream.fileno(), size)
        os.fsync(self._stream.fileno())
        flush_to_disk(self.place.parent)

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        # First the name, then the descriptor: closing releases the lock, and another writer would
        # take the file for one that a killed process left.
        if self.place and not self._is_kept:
            self.beside.unlink(missing_ok=True)
        with suppress(OSError):  # close(2) repeats the error of a write that has failed already
            self._stream.close()


def _copy_permissions(old: Path, new: Path, found: os.stat_result) -> None:
    """Give a new file the owner, access list and mode of the one that it will replace."""
    if sys.platform == "win32":
        return
    # chown(2) clears the set-user-ID bits: the mode comes after it, and without these bits, as new
    # content must not run with the old one's rights.
    with suppress(OSError):  # only root may give a file to another user
        os.chown(new, found.st_uid, found.st_gid)
    with suppress(OSError):  # there are file systems without access lists
        shutil.copystat(old, new)
        os.utime(new)  # which it has copied too
    new.chmod(stat.S_IMODE(found.st_mode) & 0o777)


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


class OutputWriter:
    """Writes text, in UTF-8.

    Attributes:
        size: bytes of all calls but one that has failed.
        has_failed: whether the last call has.
        partial: the file in which they are until all is written, where that is kept.
        digest: SHA-256 of the bytes, where they are kept.
    """

    def __init__(self, file: "BinaryIO | _WholeFile", path: Path | None) -> None:
        """`path` names the file in messages; None is standard output."""
        self.size = 0
        self.has_failed = False
        self.partial: Path | None = None
        self.digest = hashlib.sha256()
        self._file = file
        self._path = path

    def __call__(self, text: str) -> None:
        """Append a text."""
        with refusals(self._path):
            content = encoded(text, first=not self.size)
            self.has_failed = True  # unless both of these succeed
            self._file.write(content)
            self._file.flush()  # a reader of a pipe gets each piece while the input still comes
            self.has_failed = False
            self.size += len(content)
            if self.partial:
                self.digest.update(content)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, unless they exist.

    Raises:
        DataError: it cannot be created.
    """
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `path` when the context ends. It replaces nothing.

    Raises:
        DataError: something other than an empty folder is there, or it cannot be written.
    """
    require_new_folder(path)
    place = Path(os.path.realpath(path))
    with _temporary_folder(path, place, 0o777) as beside:
        yield beside
        with refusals(path):
            _flush_all(beside)
            if place.is_dir():  # an empty folder that the user made, perhaps with special rights
                beside.chmod(stat.S_IMODE(place.stat().st_mode))
            # Onto an empty folder a rename succeeds; if somebody has put a file there since the
            # check, it fails with ENOTEMPTY, and nothing is lost.
            beside.rename(place)
            flush_to_disk(place.parent)


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """An empty folder among the system's temporary files, which is removed when the context ends.

    Those of the same name that killed processes of this user left are removed before. Nobody else
    can read it.

    Raises:
        DataError: it cannot be created.
    """
    with refusals(Path("TMPDIR")):  # Python tries to write where it looks for a place
        place = Path(tempfile.gettempdir(), name)
    with _temporary_folder(place, place, 0o700) as folder:
        yield folder


@contextmanager
def _temporary_folder(named: Path, place: Path, mode: int) -> Iterator[Path]:
    """An empty folder beside `place`, which is removed, if it is still there, when this ends.

    `named` is the place in messages; the umask is subtracted from `mode`.

    Raises:
        DataError: it cannot be created.
    """

    def make(path: Path) -> int:
        path.mkdir(mode)
        return -1 if sys.platform == "win32" else os.open(path, os.O_RDONLY)

    with refusals(named):
        folder, lock = _temporary(place, make)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which replaces `folder` when the context ends without an error.

    Raises:
        OSError: something cannot be written; the folder that was there is unchanged.
    """
    folder = _link_target(folder)
    old = status(folder)
    beside = folder.with_name(f".{folder.name}{_UNFINISHED}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        if old:  # it may have been closed to other users: so is the new one while it is filled
            beside.chmod(0o700)
        yield beside
        if old:  # users who could read the old files can read the new ones
            for file in beside.iterdir():
                if before := status(folder / file.name):
                    file.chmod(stat.S_IMODE(before.st_mode))
            beside.chmod(stat.S_IMODE(old.st_mode))
        # Content first, names second: once the rename is on the disk, all of the folder is.
        _flush_all(beside)
        _replace(beside, folder)
        flush_to_disk(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def set_aside(folder: Path) -> Path:
    """Where the old folder is if the process ends between the two renames of a replacement."""
    if not folder.name:  # '.' has no name that could be changed
        folder = folder.absolute()
    folder = _link_target(folder)
    if not folder.name:  # the root of the file system, which nothing replaces
        return folder / ".old"
    return folder.with_name(f".{folder.name}.old")


def _link_target(folder: Path) -> Path:
    """The path that a symbolic link finally leads to; any other path unchanged."""
    # Only for links: realpath would make every other path absolute, and messages quote the path as
    # the user typed it. realpath, unlike Path.resolve, does not raise where links form a loop.
    return Path(os.path.realpath(folder)) if folder.is_symlink() else folder


def restore_set_aside(folder: Path) -> None:
    """Undo the first rename of a replacement whose second one never happened.

    Raises:
        OSError: the old folder cannot be renamed.
    """
    old = set_aside(folder)
    if old.is_dir() and not folder.exists():
        os.rename(old, folder)


def _replace(new: Path, folder: Path) -> None:
    """Put a complete folder in place of another."""
    old = set_aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)  # left by a kill after both renames
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        if old.exists():
            os.rename(old, folder)
        raise
    _remove_replaced(old, folder)


def _remove_replaced(old: Path, folder: Path) -> None:
    """Remove a folder that was replaced, after moving what the new one lacks into the new one.

    Such files are not ours: somebody put them there while the run was at work. What cannot be moved
    stays in the old folder.
    """
    try:
        for path in list(old.iterdir()) if old.is_dir() else []:
            if not os.path.lexists(folder / path.name):
                os.rename(path, folder / path.name)
    except OSError:
        return
    shutil.rmtree(old, ignore_errors=True)


def _flush_all(folder: Path) -> None:
    """Wait until a folder, and everything in it, is on the disk."""
    inside = list(folder.rglob("*"))
    if len(inside) > _MANY_FILES and hasattr(os, "sync"):
        os.sync()  # on Linux it waits until the data are written; POSIX only asks to begin
        return
    for path in (*inside, folder):  # the folder last: its entries then point to complete files
        flush_to_disk(path)


def _temporary(place: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """A temporary file or folder beside `place`, and its descriptor, which holds the lock.

    Raises:
        OSError: it cannot be created.
    """
    # A digest, as the name of the place may have the 255 bytes that file systems allow. 32 bits
    # distinguish the outputs of one folder. A collision would do no harm: an abandoned file of
    # either name may be removed.
    prefix = f".tagkit-{digest_of_bytes(os.fsencode(place.name))[:8]}-"
    for abandoned in place.parent.glob(f"{prefix}????????{_UNFINISHED}"):
        with suppress(OSError):  # it is gone, belongs to another user, or is locked
            _remove_abandoned(abandoned)
    while True:
        path = place.with_name(f"{prefix}{secrets.token_hex(4)}{_UNFINISHED}")
        handle = make(path)
        if sys.platform == "win32":
            return path, handle
        # flock(2) rather than fcntl(2) locks: those are lost when the process closes any other
        # descriptor of the file. On a file system without locks nothing is ever removed.
        lock(handle)
        # Between creation and lock another process may have found the file unlocked and removed
        # it. Then the name is gone or stands for another file (inode): try again.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return path, handle
        os.close(handle)


def _remove_abandoned(path: Path) -> None:
    """Remove a temporary file that no living process has locked.

    Raises:
        OSError: one has, or it cannot be removed.
    """
    if sys.platform == "win32":  # no flock, so no way to know whether the writer is alive
        return
    # Names can be forged in a shared folder such as /tmp: only our own files, and never links.
    # O_NONBLOCK: opening a named pipe would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        if found.st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(path)
            elif stat.S_ISREG(found.st_mode):
                path.unlink()
    finally:
        os.close(handle)
