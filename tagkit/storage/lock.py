"""A lock on the folder of a run, so that two commands never write into it at the same time.

It is a lock of the operating system on a file in the folder (flock(2) on Unix, LockFileEx on
Windows, through `filelock`), not the mere existence of the file: the system releases it when the
process ends, also by kill -9, so a lock file that was left behind locks nothing. Over NFS it holds
between machines. On a file system without locks the run continues without one, with a note.

The file records the process id, its start and its machine for the message to the second command. It
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

from tagkit.errors import CheckpointError
from tagkit.storage.run_names import LOCK
from tagkit.wording import ANOTHER_FOLDER, quoted, reason

_LIMIT = 4096  # bytes of an owner's record
_BEGINNING = b'{"process": '  # of a record
# A process that is just ending may still hold it.
_PATIENCE_S = 0.2
# What flock reports where the file system has no locks (some FUSE, NFS without lockd, Lustre that
# was mounted without them).
_UNSUPPORTED = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP}


@contextmanager
def locked(folder: Path, note: Callable[[str], None], *, is_output: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, which is created if needed and removed if it stays empty.

    Args:
        folder: of a run.
        note: called where the file system has no locks.
        is_output: whether it is an output folder, in whose place another one could be named.

    Raises:
        CheckpointError: another process holds the lock, or the folder cannot be written.
    """
    path, process = folder / LOCK, os.getpid()
    # Deepest first: those that did not exist, and are removed again if nothing was written.
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        lock = _acquire(folder, note, is_output)
        if lock:
            _describe_owner(path)
    except BaseException:
        _remove_empty(made)
        raise
    try:
        yield
    finally:
        # A forked child (a data loader, a launcher) runs this too when it unwinds; the parent still
        # holds the lock.
        if os.getpid() == process:
            if lock:
                # Unlink before release: after it, another process may have locked the file, which
                # we would take away from it. Windows cannot remove an open file, hence again below.
                with suppress(OSError):
                    path.unlink()
                lock.release()
                if os.name == "nt":
                    with suppress(OSError):
                        path.unlink()
            _remove_empty(made)


def _acquire(folder: Path, note: Callable[[str], None], is_output: bool) -> FileLock | None:
    """The lock, held; None where the file system has none."""
    path = folder / LOCK
    another = f", or {ANOTHER_FOLDER}" if is_output else ""
    # A soft lock is the existence of a file, which a kill leaves behind for ever.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path) and not _is_record(path):  # a file of the user is not overwritten
            problem = f"{path}: expected the lock file of a run, found something else; move it away"
            raise CheckpointError(f"{problem}{another}")
        # The last holder may remove the file between our opening and our locking it: `filelock`
        # notices that it has no name any more, and tries again.
        lock.acquire(timeout=_PATIENCE_S)
        return lock
    except Timeout:
        problem = f"{folder}: in use by {_owner(path)}; wait until it ends"
        raise CheckpointError(f"{problem}{another}") from None
    except (FileExistsError, NotADirectoryError):
        there = [place for place in (folder, *folder.parents) if os.path.lexists(place)]
        found = next((place for place in there if not place.is_dir()), folder)
        kind = "a file" if found.is_file() else "something else"
        problem = f"{found}: expected a folder, found {kind}; "
        raise CheckpointError(f"{problem}{ANOTHER_FOLDER}") from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise CheckpointError(f"{folder}: cannot be written: {reason(error)}") from None
        note(f"{folder}: this file system has no locks: do not start a second run in this folder")
        return None


def _describe_owner(path: Path) -> None:
    """Write who holds the lock. If that fails, the lock still holds."""
    record = {
        "process": os.getpid(),
        "start": datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        "machine": platform.node(),
    }
    # Written in place: a rename would put a new, unlocked file under the name.
    with suppress(OSError), open(path, "wb") as file:
        file.write(json.dumps(record).encode())


def _is_record(path: Path) -> bool:
    """Whether a file is a lock file, perhaps cut short."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LIMIT:
        return False
    content = _content(path)
    return content[: len(_BEGINNING)] == _BEGINNING[: len(content)]


def _content(path: Path) -> bytes:
    """What a lock file holds; nothing if it cannot be read, as on Windows if it is locked."""
    with suppress(OSError):
        return path.read_bytes().removeprefix(b"\0")  # with which version 0.2 began it
    return b""


def _owner(path: Path) -> str:
    """Who holds the lock, in words."""
    try:
        record = json.loads(_content(path))
        process, start, machine = (str(record[key]) for key in ("process", "start", "machine"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    where = "" if machine == platform.node() else f" on {quoted(machine)}"
    return f"process {process[:20]}{where}, which started at {start[:40]}"


def _remove_empty(folders: list[Path]) -> None:
    """Remove empty folders, the deepest first."""
    with suppress(OSError):  # rmdir(2) refuses a folder that is not empty, and we stop there
        for folder in folders:
            folder.rmdir()
