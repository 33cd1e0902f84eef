"""Folders that are whole or not there."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagkit.storage.disk import behind_link, force
from tagkit.storage.places import refusals, require_new_folder, status
from tagkit.storage.temporary import UNFINISHED, temporary_folder

_MANY_FILES = 64  # beyond which all that the system holds is forced to the disk at once


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there.

    Raises:
        DataError: it cannot be made.
    """
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which becomes `path` at the end. Nothing is ever replaced.

    Raises:
        DataError: something other than an empty folder is there, or it cannot be written.
    """
    require_new_folder(path)
    with refusals(path):
        place = Path(os.path.realpath(path))
        beside, lock = temporary_folder(place)
    try:
        yield beside
        with refusals(path):
            _force_all(beside)
            if place.is_dir():
                beside.chmod(stat.S_IMODE(place.stat().st_mode))
            beside.rename(place)
            force(place.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end.

    Raises:
        OSError: something cannot be written; what stood there stands there still.
    """
    folder = behind_link(folder)
    old = status(folder)
    beside = folder.with_name(f".{folder.name}{UNFINISHED}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        if old:  # which may keep others out
            beside.chmod(0o700)
        yield beside
        if old:
            for file in beside.iterdir():
                if before := status(folder / file.name):
                    file.chmod(stat.S_IMODE(before.st_mode))
            beside.chmod(stat.S_IMODE(old.st_mode))
        for file in beside.iterdir():
            force(file)
        force(beside)
        _replace(beside, folder)
        force(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def set_aside(folder: Path) -> Path:
    """Where the old folder is, should the program end while a new one takes its place."""
    if not folder.name:  # '.'
        folder = folder.absolute()
    folder = behind_link(folder)
    return folder.with_name(f".{folder.name}.old")


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


def _force_all(folder: Path) -> None:
    """Have the system write what it holds of a folder and of all that is in it."""
    inside = list(folder.rglob("*"))
    if len(inside) > _MANY_FILES and hasattr(os, "sync"):
        os.sync()
        return
    for path in (*inside, folder):
        force(path)
