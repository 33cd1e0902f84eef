"""Folders and files that are whole or not there.

What is written stands beside its place, is forced to the disk, and is renamed into it: a crash, a
full disk or a loss of power leaves the old one or the new one.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagkit.errors import CheckpointError


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end.

    Raises:
        OSError: something cannot be written; what stood there stands there still.
    """
    beside = folder.with_name(f".{folder.name}.writing")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for file in beside.iterdir():
            _force(file)
        _force(beside)
        _replace(beside, folder)
        _force(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    """A file with this content, in place of one that may be there.

    Raises:
        OSError: it cannot be written; what stood there stands there still.
    """
    beside = path.with_name(f".{path.name}.writing")
    try:
        beside.write_bytes(content)
        _force(beside)
        os.replace(beside, path)
        _force(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def set_aside(folder: Path) -> Path:
    """Where the old folder is, should the program end while a new one takes its place."""
    if not folder.name:  # '.'
        folder = folder.absolute()
    return folder.with_name(f".{folder.name}.old")


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """A file system's refusal, with what to do."""
    return CheckpointError(
        f"{path}: cannot be written: {error.strerror or error}; when that is mended, --resume goes "
        "on"
    )


def _replace(new: Path, folder: Path) -> None:
    """Put a complete folder in another's place. A folder cannot be renamed over a full one."""
    old = set_aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        if old.exists():
            os.rename(old, folder)
        raise
    _keep_rest(old, folder)


def _keep_rest(old: Path, folder: Path) -> None:
    """Remove a folder that was replaced; what the new one does not have, somebody else put there.

    That is moved into the new one. What cannot be moved stays where it is.
    """
    try:
        for path in list(old.iterdir()) if old.is_dir() else []:
            if not os.path.lexists(folder / path.name):
                os.rename(path, folder / path.name)
    except OSError:
        return
    shutil.rmtree(old, ignore_errors=True)


def _force(path: Path) -> None:
    """Have the system write what it holds of a file or a folder."""
    if os.name == "nt" and path.is_dir():  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
