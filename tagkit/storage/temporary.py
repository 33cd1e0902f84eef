"""Temporary files and folders beside their destination.

They lie in the same folder, because a rename is atomic within one file system only: from /tmp,
often a file system of its own, it would fail with EXDEV. Each is locked (flock) as long as the
process that fills it lives. The next writer to the same destination removes those whose lock is
free: they were left by a killed process. A name holds a digest of the destination's name rather
than the name itself, which may already have the 255 bytes that file systems allow.
"""

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tagkit.storage.disk import digest_of_bytes

if sys.platform != "win32":
    import fcntl

UNFINISHED = ".writing"  # suffix of everything that is not complete
_NAME = re.compile(r"\.tagkit-[0-9a-f]{8}-[0-9a-f]{8}\.writing")


def temporary_file(place: Path, mode: int) -> tuple[Path, int]:
    """An empty file beside `place`, and its descriptor, which holds the lock.

    Args:
        place: the destination.
        mode: permission bits, from which the umask is subtracted.

    Raises:
        OSError: it cannot be created.
    """

    def make(path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)

    return _locked(place, make)


def temporary_folder(place: Path, mode: int) -> tuple[Path, int]:
    """An empty folder beside `place`, and a descriptor that holds its lock; -1 on Windows.

    Args:
        place: the destination.
        mode: permission bits, from which the umask is subtracted.

    Raises:
        OSError: it cannot be created.
    """

    def make(path: Path) -> int:
        path.mkdir(mode)
        return -1 if sys.platform == "win32" else os.open(path, os.O_RDONLY)

    return _locked(place, make)


def _locked(place: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """A new file or folder with its lock."""
    _remove_abandoned(place)
    while True:
        path = place.with_name(f"{_prefix(place)}{secrets.token_hex(4)}{UNFINISHED}")
        handle = make(path)
        if sys.platform == "win32":
            return path, handle
        # flock(2) rather than fcntl(2) locks: those are lost when the process closes any other
        # descriptor of the file. On a file system without locks nothing is ever removed.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Between creation and lock another process may have found the file unlocked and removed
        # it. Then the name is gone or stands for another file (inode): try again.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return path, handle
        os.close(handle)


def _remove_abandoned(place: Path) -> None:
    """Remove the temporary files of this destination that no living process has locked."""
    if sys.platform == "win32":  # no flock, so no way to know whether the writer is alive
        return
    for path in place.parent.glob(f"{_prefix(place)}*{UNFINISHED}"):
        with suppress(OSError):  # it is gone, belongs to another user, or is locked
            found = path.lstat()
            # Names can be forged in a shared folder such as /tmp: only our own files, never links.
            ours = found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode)
            if not ours or not _NAME.fullmatch(path.name):
                continue
            # O_NOFOLLOW: it may have become a link since lstat. O_NONBLOCK: opening a named pipe
            # would wait for a writer.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISDIR(found.st_mode):
                    shutil.rmtree(path)
                elif stat.S_ISREG(found.st_mode):
                    path.unlink()
            finally:
                os.close(handle)


def _prefix(place: Path) -> str:
    # 32 bits distinguish the outputs of one folder. A collision would do no harm: an abandoned file
    # of either name may be removed.
    return f".tagkit-{digest_of_bytes(os.fsencode(place.name))[:8]}-"
