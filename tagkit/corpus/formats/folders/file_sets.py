"""Inputs and outputs that are several files: which files they are, and how they are written."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from tagkit.corpus.formats.folders.brat import PAIR
from tagkit.corpus.formats.folders.parallel import LABELS, TAGS, WORDS
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.pieces import OutputPiece
from tagkit.corpus.source.source import STDIN, unpacked_name
from tagkit.errors import DataError
from tagkit.storage import PACKED, digest_of, encoded, new_folder, open_output
from tagkit.storage.places import refusals

# Of a folder that is being written. A corpus of 50,000 texts would exceed the limit of open files
# (often 1,024) if each stayed open, and opening one for each piece would be slow.
_OPEN_FILES = 16


def pair_of(path: Path) -> list[Path]:
    """The two files of a pair, given one of them."""
    return [path.with_suffix(ending) for ending in PAIR]


def files_of(path: str) -> Iterator[Path]:
    """All files that may be read when this is the input: those of a folder, and of a pair, too.

    None of them may be an output: it would be emptied before it is read.
    """
    if path == STDIN:
        yield Path("/dev/stdin")
        return
    place = Path(path)
    if os.path.isdir(place):  # of a name that is too long pathlib's raises an error
        yield from (file for file in place.rglob("*") if file.is_file())
        return
    # Also files that do not exist are named: comparing paths with them does no harm.
    yield place
    unpacked = place.with_name(unpacked_name(place.name)) if place.name else place
    others: list[Path] = []
    if unpacked.suffix in PAIR:
        others = pair_of(unpacked)
    elif unpacked.name == WORDS:
        others = [place.with_name(name) for name in (WORDS, TAGS, LABELS)]
    for other in others:
        yield from (other, other.with_name(f"{other.name}{PACKED}"))


def require_plain_name(path: Path, format: str) -> None:
    """Refuse the name of a packed file for a folder or a pair of files.

    Args:
        path: of the output.
        format: that fills it.

    Raises:
        DataError: it is one.
    """
    if unpacked_name(path.name) != path.name:
        problem = f"{format} fills files, none of which is packed: leave out {PACKED}"
        raise DataError(f"{path}: {problem}")


def digest_of_files(path: str) -> str | None:
    """SHA-256 of an input that is yet to be read, with the files beside it that belong to it.

    Returns:
        None of what can be read once, such as a pipe.

    Raises:
        DataError: a file cannot be read.
    """
    if path == STDIN or os.path.isdir(path):
        return digest_of(Path(path))
    digests = Digests()
    for file in files_of(path):
        if (digest := digest_of(file)) is not None:
            digests.add(str(file), digest)
    return digests.of(path)


def write_pair(path: Path, pieces: Iterable[OutputPiece], *, replace: bool) -> None:
    """Files that differ in their endings alone: a piece's `file` takes the place of the path's.

    Args:
        path: of one of them.
        pieces: of both.
        replace: whether files that are there are replaced.

    Raises:
        DataError: a file is there and not to be replaced, or cannot be written.
    """
    with ExitStack() as stack:
        writers = {
            file.suffix: stack.enter_context(open_output(file, replace=replace))
            for file in pair_of(path)
        }
        for piece in pieces:
            writers[piece.file](piece.text)


def write_folder(path: Path, pieces: Iterable[OutputPiece]) -> None:
    """A folder with the files of the pieces.

    Raises:
        DataError: it is there already, or cannot be written.
    """
    with new_folder(path) as folder:
        _fill(folder, pieces, path)


def _fill(folder: Path, pieces: Iterable[OutputPiece], path: Path) -> None:
    """Append each piece to its file; the few that were written last stay open."""
    files: dict[str, BinaryIO] = {}
    try:
        for piece in pieces:
            with refusals(path / piece.file):
                if piece.file not in files:
                    # The oldest one: writers finish with a document before the next.
                    if len(files) == _OPEN_FILES:
                        files.pop(next(iter(files))).close()
                    place = folder / piece.file
                    place.parent.mkdir(parents=True, exist_ok=True)
                    files[piece.file] = place.open("ab")
                file = files[piece.file]
                # At the start of a file a text's own byte order mark needs to be doubled.
                file.write(encoded(piece.text, first=file.tell() == 0))
        with refusals(path):
            for file in files.values():
                file.close()
    finally:
        for file in files.values():
            with suppress(OSError):  # a full disk fails again here, and has been reported
                file.close()
