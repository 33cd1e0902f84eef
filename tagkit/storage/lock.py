"""A lock on the folder of a run, so that two commands never write into it at the same time.

The lock is an operating system's lock on a file in the folder (flock on Unix, LockFileEx on
Windows, through `filelock`), so it ends with the process that holds it, however that ends, and
a file that a killed process left behind locks nothing. Over NFS it holds between machines. A forked
child closes its copy at once and cannot keep the lock after its parent's death. Where a file system
has no locks the run goes on without one, with a note.

The file holds the process id, its start and its machine for the message to the second command. It
is removed when the lock is released.
"""

import errno
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from tagkit.errors import CheckpointError, shorten
from tagkit.wording import ANOTHER_FOLDER, Message

LOCK = ".tagkit-run.lock"
_ATTEMPTS = 5  # a lock file may be removed by its last holder between our opening and locking it
_LIMIT = 4096  # bytes of an owner's record
# Windows locks the first byte of the file against reading: the record begins after it.
_START = 1
_UNSUPPORTED = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP}


@contextmanager
def locked(folder: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is not there and removed if it stays empty.

    Args:
        folder: of a run.
        note: called where the file system has no locks.

    Raises:
        CheckpointError: another process holds the lock, or the folder cannot be written.
    """
    path, process = folder / LOCK, os.getpid()
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        lock = _acquire(folder, note)
        if lock:
            _describe_owner(path)
    except BaseException:
        _remove_empty(made)
        raise
    try:
        yield
    finally:
        if os.getpid() == process:  # not in a forked child, whose parent holds the lock still
            if lock:
                with suppress(OSError):  # Windows removes no open file
                    path.unlink()
                lock.release()
                if os.name == "nt":
                    with suppress(OSError):
                        path.unlink()
            _remove_empty(made)


def _acquire(folder: Path, note: Callable[[str], None]) -> FileLock | None:
    """The lock, held; None where the file system has none."""
    path = folder / LOCK
    for attempt in range(_ATTEMPTS):
        lock = FileLock(path, fallback_to_soft=False)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists() and not _is_record(path):
                raise CheckpointError(
                    Message(
                        f"{path}: expected the lock file of a run, found something else; move it "
                        "away, or ",
                        ANOTHER_FOLDER,
                    )
                )
            lock.acquire(blocking=False)
            return lock
        except Timeout:
            if attempt == _ATTEMPTS - 1 or _owner(path):
                break
        except FileNotFoundError:  # a run that has ended has removed its empty folder
            continue
        except (FileExistsError, NotADirectoryError):
            found = next(
                (place for place in (folder, *folder.parents)
                 if os.path.lexists(place) and not place.is_dir()), folder
            )  # fmt: skip
            kind = "a file" if found.is_file() else "something else"
            raise CheckpointError(
                Message(f"{found}: expected a folder, found {kind}; ", ANOTHER_FOLDER)
            ) from None
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                note(
                    f"{folder}: this file system has no locks: do not start a second run in this "
                    "folder"
                )
                return None
            raise CheckpointError(
                f"{folder}: cannot be written: {error.strerror or error}"
            ) from None
    raise CheckpointError(
        Message(
            f"{folder}: in use by {_owner(path) or 'another process'}; wait until it ends, or ",
            ANOTHER_FOLDER,
        )
    )


def _describe_owner(path: Path) -> None:
    """Write who holds the lock. Without that the lock holds all the same."""
    record = {
        "process": os.getpid(),
        "start": datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        "machine": platform.node(),
    }
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR)
        try:
            os.lseek(handle, _START, os.SEEK_SET)
            os.write(handle, json.dumps(record).encode())
            os.ftruncate(handle, os.lseek(handle, 0, os.SEEK_CUR))
        finally:
            os.close(handle)


def _content(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.lseek(handle, _START, os.SEEK_SET)
        return os.read(handle, _LIMIT)
    finally:
        os.close(handle)


def _is_record(path: Path) -> bool:
    """Whether a file is a lock's, perhaps cut short: a user's file is not written over."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LIMIT:
        return False
    try:
        content = _content(path)
    except OSError:
        return True  # locked against reading
    start = b'{"process": '
    return content[: len(start)] == start[: len(content)]


def _owner(path: Path) -> str:
    """Who holds the lock, in words; empty where that cannot be read."""
    try:
        record = json.loads(_content(path))
        process, start, machine = (str(record[key]) for key in ("process", "start", "machine"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    where = "" if machine == platform.node() else f" on {shorten(machine)}"
    return f"process {process[:20]}{where}, which started at {start[:40]}"


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the deepest first, that hold nothing."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()
