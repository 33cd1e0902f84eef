"""A folder for each class with a text in each file, or a file for each class with a text a line.

The first is the layout of IMDb and 20 Newsgroups, the second that of the movie reviews of Pang and
Lee. There a class is what its file's name does not share with the others: rt-polarity.neg and
rt-polarity.pos hold the classes neg and pos. Hidden files and folders are skipped: .DS_Store is no
class.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tagkit.corpus.source.look import LIKELY, Beginning, Sureness
from tagkit.corpus.source.options import ReaderOptions, source_of
from tagkit.corpus.source.pieces import (
    OutputPiece,
    Writing,
    cannot_hold,
    note_changed_name,
    noting_spans,
    require_label,
)
from tagkit.corpus.source.source import Source, unpacked_name
from tagkit.errors import DataError
from tagkit.storage import holds_model
from tagkit.text.records import Document
from tagkit.wording import quoted, reason

# Where a name may be divided: rt-polarity.neg, pos_train.txt.
_EDGE = re.compile(r"[._-]")
_LONGEST = 200  # bytes in a name; file systems take 255, and a number or ending may follow
# Files of any other kind (.py, .md, .bin) are no classes, however many there are.
_TEXT_ENDINGS = ("", ".txt")
# A folder with one of these holds data sets or a program, whatever else is in it: no classes.
_OF_OTHERS = frozenset(
    ".arrow .conll .conllu .csv .jsonl .json .md .parquet .py .tsv .toml .yaml .yml".split()
)
_BINARY = frozenset({".arrow", ".parquet"})
# Files that are parts of a corpus, rather than its classes.
# aclImdb has texts without a class beside those of two.
_UNLABELLED, _CLASSES = "unsup", {"pos", "neg"}
_PARTS = {"train", "dev", "test", "valid", "validation", "val", "testa", "testb"}


def read_folder(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """The texts of each class, classes and files by the order of their names."""
    path = Path(source.path)
    folders, files = _inside(path)
    if folders:
        if files:  # a README, say
            reading.note(f"{path}: the files beside the folders of classes are skipped")
        names = {folder.name for folder in folders}
        if reading.with_tags and names == {_UNLABELLED, *_CLASSES}:
            folders = [folder for folder in folders if folder.name != _UNLABELLED]
            reading.note(f"{path}: the texts in {_UNLABELLED} have no class, and are left out")
        for folder in folders:
            yield from _files_of(folder, reading)
        return
    if not files:
        raise DataError(f"{path}: expected a folder or a file for each class, found none")
    for file, label in zip(files, _classes(files), strict=True):
        yield from _lines_of(file, label, reading)


def _files_of(folder: Path, reading: ReaderOptions) -> Iterator[Document]:
    folders, files = _inside(folder)
    if folders:
        raise DataError(f"{folders[0]}: expected a file with a text, found a folder")
    if not files:
        raise DataError(f"{folder}: expected a file for each text, found none")
    for file in files:
        text = reading.text_of(str(file))
        if text is not None:
            name = Path(unpacked_name(file.name)).stem
            # The end of the file's last line is none of the text's: TSV could not hold it.
            text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
            yield Document(text, labels=(folder.name,), name=name, source=str(file))


def _lines_of(file: Path, label: str, reading: ReaderOptions) -> Iterator[Document]:
    for number, line in source_of(str(file), reading.data, reading.digests).numbered():
        if line.strip():
            yield Document(line, labels=(label,), source=str(file), line=number)


def _inside(path: Path) -> tuple[list[Path], list[Path]]:
    """Folders and files that are not hidden, by the order of their names.

    Raises:
        DataError: the folder cannot be read, or a name in it is not text.
    """
    try:
        # Sorted, as the order of a file system differs between machines, and with it the split of
        # train and dev.
        entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a folder: {reason(error)}") from None
    for entry in entries:
        if not _is_unicode(entry.name):
            raise DataError(f"{path}: expected names in UTF-8, found {quoted(entry.name)}")
    folders = [entry for entry in entries if os.path.isdir(entry)]
    return folders, [entry for entry in entries if entry not in set(folders)]


def _is_unicode(name: str) -> bool:
    """Whether all of a name is text.

    Python has a lone surrogate for each byte that is not UTF-8 (PEP 383). As a class, it could not
    be written to a model's vocabulary.
    """
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _classes(files: Sequence[Path]) -> list[str]:
    """The parts in which the names of the files differ, between the edges of their parts."""
    names = [unpacked_name(file.name) for file in files]
    if len(names) == 1:
        return [Path(names[0]).stem]
    # Up to the last edge in the shared start: of pos and poster, "pos" is no prefix.
    start = max((edge.end() for edge in _EDGE.finditer(_shared_start(names))), default=0)
    shared = _shared_end([name[start:] for name in names])
    classes = [name[start : len(name) - len(shared)] for name in names]
    # A name that is all of what others have in common, as rt- and rt-pos have, stays whole.
    return classes if all(classes) else names


def _shared_start(names: Sequence[str]) -> str:
    """The beginning that all names have: what the first and the last in order have."""
    first, last = min(names), max(names)
    at = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[:at]


def _shared_end(names: Sequence[str]) -> str:
    """The end that all names have, from the first edge in it."""
    shared = _shared_start([name[::-1] for name in names])[::-1]
    edge = _EDGE.search(shared)
    return shared[edge.start() :] if edge else ""


def write_folder(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A file a text, in the folder of its class; its last line has an end, as all lines do."""
    taken: set[tuple[str, str]] = set()
    for number, item in enumerate(noting_spans(items, "folder", writing), 1):
        label = require_label(item, "folder")
        if not _is_safe(label) or any(char in label for char in "/\\\0"):
            what = f"a label that is no name for a folder ({quoted(label)})"
            raise cannot_hold(item, "folder", what)
        if not item.text.strip():
            raise cannot_hold(item, "folder", "a blank text")
        name = _file_name(item.name, number)
        while (label, name.casefold()) in taken:  # some file systems take a.txt for A.txt
            name += "-"
        taken.add((label, name.casefold()))
        note_changed_name(item, name, "folder", writing)
        # What reading takes away.
        end = "\r\n" if item.text.endswith("\r") else "\n"
        yield OutputPiece(f"{label}/{name}.txt", f"{item.text}{end}")


def _file_name(name: str, number: int) -> str:
    """A document's name where any file system takes it, else its number."""
    plain = all(char.isalnum() or char in "-_." for char in name)
    return name if name and plain and _is_safe(name) else f"{number:05d}"


def _is_safe(name: str) -> bool:
    return not name.startswith(".") and _is_unicode(name) and len(name.encode()) <= _LONGEST


def look_at_folder(beginning: Beginning) -> Sureness | None:
    """A folder of folders that hold files alone, or of files with names of classes."""
    path = beginning.path
    # A model is no corpus, though the folder that holds its parts has a file for each of them.
    if not os.path.isdir(path) or holds_model(path) or not _has_classes(path):
        return None
    # One of brat, or with seq.in, may hold such files as well.
    return Sureness(LIKELY, "a folder with a folder or a file for each class")


def _has_classes(path: Path) -> bool:
    folders, files = _inside(path)
    if folders:
        found = [_inside(folder) for folder in folders]
        # Those of Hugging Face have a folder for each part.
        texts = (not any(_suffix(file) in _BINARY for file in inner) for _, inner in found)
        return all(inner_files and not inner for inner, inner_files in found) and all(texts)
    if len(files) < 2 or any(_suffix(file) in _OF_OTHERS for file in files):
        return False
    return not _PARTS & {*_classes(files)} and _ending(files) in _TEXT_ENDINGS


def nested_folder(path: Path) -> Path | None:
    """A folder in a folder of texts, where all folders hold texts; None where there is none."""
    folders, _ = _inside(path)
    found = [_inside(folder) for folder in folders]
    inner = (inner for folders, _ in found for inner in folders)
    return next(inner, None) if all(files for _, files in found) else None


def _suffix(file: Path) -> str:
    return Path(unpacked_name(file.name)).suffix.lower()


def _ending(files: Sequence[Path]) -> str:
    """The ending that all files share; empty where they share none."""
    endings = {Path(unpacked_name(file.name)).suffix for file in files}
    return endings.pop() if len(endings) == 1 else ""
