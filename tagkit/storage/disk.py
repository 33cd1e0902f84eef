"""What concerns the disk itself: flushing, digests, refused writes."""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagkit.errors import CheckpointError, DataError, WriteError
from tagkit.wording import reason

_NO_FSYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)
# What was learnt until then is in a checkpoint.
RESUME_AFTER = "correct this, and resume the run with resume=True"


def flush_to_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk.

    write(2) and rename(2) change the page cache only, and fsync(2) of a file does not include its
    entry in the folder: the folder needs an fsync of its own (Linux manual, fsync(2)).
    """
    if os.name == "nt" and path.is_dir():  # Windows cannot open a folder as a file
        return
    # fsync accepts a read-only descriptor on POSIX. Windows implements it by FlushFileBuffers,
    # which fails without the right to write.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems know no fsync of a folder; what was renamed is in its place by now.
        if error.errno not in _NO_FSYNC or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def digest_of_bytes(content: bytes) -> str:
    """SHA-256 in hexadecimal: of the parts of models and checkpoints, and of corpora."""
    return hashlib.sha256(content).hexdigest()


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of all names and files of a folder, in hexadecimal; else None.

    Raises:
        DataError: the file, or one in the folder, cannot be read.
    """
    if os.path.isdir(path):
        # Sorted, because the order of a directory's entries depends on the file system; and with
        # the names, because a corpus of folders has its classes there.
        parts = []
        for file in sorted(file for file in path.rglob("*") if os.path.isfile(file)):
            name = os.fsencode(file.relative_to(path).as_posix())  # a name need not be UTF-8
            parts.append(name + f" {digest_of(file)}\n".encode())
        return digest_of_bytes(b"".join(parts))
    # A named pipe or standard input has no digest: reading it here would take its content away
    # from the reader of the corpus.
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as content:  # in blocks: a corpus may be larger than the memory
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """The error of a run that could not write a file, with the remedy."""
    # Nothing is lost: the last checkpoint was renamed into place before this write began.
    problem = f"{path}: cannot be written: {reason(error)}"
    return WriteError(problem, RESUME_AFTER)


@contextmanager
def write_remedy(remedy: str) -> Iterator[None]:
    """Have errors of `cannot_write` name this remedy, where a run is a part of something else."""
    try:
        yield
    except WriteError as error:
        raise WriteError(error.problem, remedy) from None
