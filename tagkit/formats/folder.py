"""A folder for each class with a text in each file; or a file for each class, a text in each line.

In the second kind the class is what the files' names do not share: rt-polarity.neg and
rt-polarity.pos hold the classes neg and pos.
"""

import os.path
from collections.abc import Iterable, Iterator
from pathlib import Path

from tagkit.errors import DataError, shorten
from tagkit.formats.lines import Source, read_text
from tagkit.formats.reading import Reading
from tagkit.formats.writing import Piece, Writing, cannot_hold
from tagkit.sentence import Document

_EDGES = "._-"


def read_folder(source: Source, reading: Reading) -> Iterator[Document]:
    """The texts of all classes, in the order of their names."""
    path = Path(source.path)
    folders, files = _inside(path)
    if folders and files:
        raise DataError(
            f"{files[0]}: expected a folder for each class in {path}, or files alone, found both"
        )
    if not folders and not files:
        raise DataError(f"{path}: expected a folder or file for each class, found none")
    for folder in folders:
        yield from _texts_of_files(folder, reading)
    for file, label in zip(files, _labels(files), strict=True):
        for number, line in Source(str(file), reading.data.encoding).numbered():
            if line.strip():
                yield Document(line, labels=(label,), source=str(file), line=number)


def _texts_of_files(folder: Path, reading: Reading) -> Iterator[Document]:
    folders, files = _inside(folder)
    if folders:
        raise DataError(f"{folders[0]}: expected a text in a file, found a folder")
    for file in files:
        text = read_text(str(file), reading.data.encoding)
        if not text.strip():
            reading.refuse(str(file), 1, "expected a text, found a blank file")
            continue
        name = file.name.removesuffix(".gz")
        yield Document(text, labels=(folder.name,), name=Path(name).stem, source=str(file))


def _inside(path: Path) -> tuple[list[Path], list[Path]]:
    """Folders and files, by name, without hidden ones."""
    try:
        entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return [e for e in entries if e.is_dir()], [e for e in entries if e.is_file()]


def _labels(files: list[Path]) -> list[str]:
    """What tells the files' names apart, between the edges of their parts."""
    names = [file.name.removesuffix(".gz") for file in files]
    if len(names) < 2:
        return [Path(name).stem or name for name in names]
    prefix = os.path.commonprefix(names)
    start = max((prefix.rfind(edge) for edge in _EDGES), default=-1) + 1
    suffix = os.path.commonprefix([name[::-1] for name in names])[::-1]
    ends = [at for at in (suffix.find(edge) for edge in _EDGES) if at >= 0]
    kept = len(suffix) - min(ends) if ends else 0
    labels = [name[start : len(name) - kept] for name in names]
    return labels if all(labels) else names


def write_folder(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A file a text, in the folder of its class."""
    taken: set[str] = set()
    for number, item in enumerate(items, 1):
        if item.spans:
            writing.note("a folder a class holds texts alone: spans are left out")
        if len(item.labels) != 1:
            raise cannot_hold(item, "folder", "other than one class of a text")
        label = item.labels[0]
        if not label or label[0] == "." or set(label) & set("/\\\0") or len(label.encode()) > 200:
            raise cannot_hold(item, "folder", f"a class that is no name of a folder ({shorten(label)})")
        if not item.text.strip() or item.text.startswith("\ufeff"):
            raise cannot_hold(item, "folder", "a text that is blank or begins with U+FEFF")
        file = f"{label}/{_safe(item.name) or f'{number:05d}'}.txt"
        file = file if file not in taken else f"{label}/{number:05d}-.txt"
        taken.add(file)
        yield Piece(file, item.text)


def _safe(name: str) -> str:
    """A document's name where it can be a file's, else nothing."""
    good = name[:1] not in ("", ".") and len(name) < 100
    return name if good and all(char.isalnum() or char in "-_." for char in name) else ""


def looks_like_folder(path: Path) -> bool:
    """Whether a folder holds nothing but folders with files, or nothing but several files."""
    folders, files = _inside(path)
    if folders:
        return not files and any(_inside(folder)[1] for folder in folders)
    return len(files) > 1
