"""Outputs that take hours to write: under a name of their own until they are complete.

A command that is stopped in any way, also by SIGKILL, leaves NAME.partial beside its output, and
another one may go on with it. A lock shows whether the one that writes it is still alive.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tagkit.errors import DataError

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

if sys.platform != "win32":
    import fcntl

_LONGEST = 240  # bytes of a name that something is added to


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An output that an earlier command has begun, and that is to be gone on with.

    Attributes:
        path: of the file.
        size: number of its bytes that stay; what follows them is cut off.
        digest: SHA-256 of these.
    """

    path: Path
    size: int
    digest: str


def new_partial(place: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    """A new file that is kept if it is not completed, and its descriptor, which holds the lock.

    Raises:
        OSError: it cannot be created.
    """
    for path in partial_names(place):
        # A file that is there may be the only copy of what an earlier command has done.
        with suppress(FileExistsError):
            handle = make(path)
            lock(handle)
            return path, handle
    raise AssertionError  # there is no last name


def partial_names(place: Path) -> Iterator[Path]:
    """The names that an unfinished output may have, in the order in which they are taken."""
    # File systems allow names of 255 bytes, and a character may have four.
    name = place.name if len(os.fsencode(place.name)) <= _LONGEST else place.name[: _LONGEST // 4]
    return (place.with_name(f"{name}.partial{f'.{number}' * (number > 1)}") for number in count(1))


def reopened(unfinished: Unfinished, digest: "Hash") -> int:
    """The descriptor of an unfinished output, cut off at its size; `digest` gets its bytes.

    Raises:
        DataError: it has changed, or another process writes it.
    """
    handle = os.open(unfinished.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        lock(handle, waiting=False)
        with os.fdopen(os.dup(handle), "rb") as file:
            left = unfinished.size
            while left and (content := file.read(min(left, 1 << 20))):
                digest.update(content)
                left -= len(content)
        if digest.hexdigest() != unfinished.digest:
            raise DataError(
                f"{unfinished.path}: is not what the command that was stopped has written; remove "
                "it to begin again"
            )
        os.truncate(handle, unfinished.size)
        os.lseek(handle, 0, os.SEEK_END)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise DataError(f"{unfinished.path}: is being written by another process") from None
        raise
    return handle


def lock(handle: int, *, waiting: bool = True) -> None:
    """Lock a file as long as this process has it open, where the system can do that.

    Raises:
        BlockingIOError: another process has, and this one is not to wait.
    """
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if waiting else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        pass
