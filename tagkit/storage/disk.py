"""What the disk holds: forced there, followed behind links, and its digests."""

import hashlib
import os
from pathlib import Path

from tagkit.errors import CheckpointError, DataError
from tagkit.wording import RESUME, Message, reason


def force(path: Path) -> None:
    """Have the system write what it holds of a file or a folder."""
    if os.name == "nt" and path.is_dir():  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def behind_link(folder: Path) -> Path:
    """What a symbolic link leads to; other paths as they are."""
    return Path(os.path.realpath(folder)) if folder.is_symlink() else folder


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
        Message(
            f"{path}: cannot be written: {error.strerror or error}; when that is mended, ",
            RESUME,
            " continues the run",
        )
    )
