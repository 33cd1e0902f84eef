"""Folders that are complete or not there.

rename(2) moves a folder onto another one only if that is empty, so replacing takes two renames: the
old folder is set aside as `.NAME.old`, then the new one takes the name. A kill between them leaves
no folder under the name, and both under others: `restore_set_aside` puts the old one back, and
`tagkit.models.bundle.bundle.find_bundle` reads it where it is. (Linux can exchange two names at
once, by renameat2 with RENAME_EXCHANGE; macOS, Windows, NFS and Python's os module cannot.)
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagkit.storage.disk import flush_to_disk, link_target
from tagkit.storage.places import refusals, require_new_folder, status
from tagkit.storage.temporary import UNFINISHED, temporary_folder

# Each fsync waits for the disk: with more files than this, one sync(2) of everything is faster.
_MANY_FILES = 64


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
    with refusals(path):
        place = Path(os.path.realpath(path))
        beside, lock = temporary_folder(place, 0o777)
    try:
        yield beside
        with refusals(path):
            _flush_all(beside)
            if place.is_dir():  # an empty folder that the user made, perhaps with special rights
                beside.chmod(stat.S_IMODE(place.stat().st_mode))
            # Onto an empty folder a rename succeeds; if somebody has put a file there since the
            # check, it fails with ENOTEMPTY, and nothing is lost.
            beside.rename(place)
            flush_to_disk(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)  # after the rename there is nothing to remove
        if lock >= 0:
            os.close(lock)


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
    with refusals(place):
        folder, lock = temporary_folder(place, 0o700)
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
    folder = link_target(folder)
    old = status(folder)
    beside = folder.with_name(f".{folder.name}{UNFINISHED}")
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
    folder = link_target(folder)
    if not folder.name:  # the root of the file system, which nothing replaces
        return folder / ".old"
    return folder.with_name(f".{folder.name}.old")


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
