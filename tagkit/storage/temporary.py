"""Temporary files and folders beside the place that they are going to take.

Each is locked as long as the process that fills it lives. Whoever writes to the same place next
removes those whose lock is free: a killed process left them. Their names are short, so that
whatever name a file system takes can be written, and hold a digest of the name of the place.
"""

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

if sys.platform != "win32":
    import fcntl

UNFINISHED = ".writing"  # ending of the name of what is not complete
_NAME = re.compile(r"\.tagkit-[0-9a-f]{8}-[0-9a-f]{8}\.writing")


def temporary_file(place: Path, mode: int) -> tuple[Path, int]:
    """An empty file beside `place`, and its descriptor, which holds the lock.

    Args:
        place: that the file is going to take.
        mode: of which the umask takes its part.

    Raises:
        OSError: it cannot be made.
    """

    def make(path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)

    return _locked(place, make)


def temporary_folder(place: Path) -> tuple[Path, int]:
    """An empty folder beside `place`, and a descriptor that holds its lock; -1 on Windows.

    Raises:
        OSError: it cannot be made.
    """

    def make(path: Path) -> int:
        path.mkdir()
        return -1 if sys.platform == "win32" else os.open(path, os.O_RDONLY)

    return _locked(place, make)


def _locked(place: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """What `make` makes, with its lock."""
    _remove_abandoned(place)
    while True:
        path = place.with_name(f"{_prefix(place)}{secrets.token_hex(4)}{UNFINISHED}")
        handle = make(path)
        if sys.platform == "win32":
            return path, handle
        with suppress(OSError):  # a file system without locks: nothing is ever removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Another process may have found it without a lock, and removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return path, handle
        os.close(handle)


def _remove_abandoned(place: Path) -> None:
    """Remove the temporary files of this place that no living process holds."""
    if sys.platform == "win32":
        return
    for path in place.parent.glob(f"{_prefix(place)}*{UNFINISHED}"):
        with suppress(OSError):  # it has gone, is another user's, or is locked by its process
            found = path.lstat()
            ours = found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode)
            if not ours or not _NAME.fullmatch(path.name):
                continue
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
    return f".tagkit-{sha256(os.fsencode(place.name)).hexdigest()[:8]}-"
