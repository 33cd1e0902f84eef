"""Pieces of an output -> the files that they belong to."""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from tagkit.errors import DataError
from tagkit.formats.writing import Piece
from tagkit.storage import encoded, refusals

_OPEN_FILES = 16  # of a folder that is being written


def write_pair(path: Path, pieces: Iterable[Piece]) -> None:
    """Files that differ in their endings alone: a piece's `file` takes the place of the path's.

    Raises:
        DataError: a file cannot be written.
    """
    with refusals(path), tempfile.TemporaryDirectory(prefix=".tagkit-", dir=path.parent) as name:
        _fill(Path(name), pieces)
        for file in sorted(Path(name).iterdir()):
            file.replace(path.with_suffix(file.name))


def write_folder(path: Path, pieces: Iterable[Piece]) -> None:
    """A folder with the files of the pieces.

    Raises:
        DataError: it is there already, or cannot be written.
    """
    if path.exists():
        raise DataError(f"{path}: is there already. Remove it, or name another folder")
    with refusals(path):
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with refusals(path):
            _fill(beside, pieces)
            beside.chmod(0o755)  # mkdtemp lets nobody else in
            beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(folder: Path, pieces: Iterable[Piece]) -> None:
    """Append each piece to its file; the few that were written last stay open."""
    files: dict[str, BinaryIO] = {}
    try:
        for piece in pieces:
            if piece.file not in files:
                if len(files) == _OPEN_FILES:
                    files.pop(next(iter(files))).close()
                place = folder / piece.file
                place.parent.mkdir(parents=True, exist_ok=True)
                files[piece.file] = place.open("ab")
            file = files[piece.file]
            file.write(encoded(piece.text, first=file.tell() == 0))
    finally:
        for file in files.values():
            file.close()
