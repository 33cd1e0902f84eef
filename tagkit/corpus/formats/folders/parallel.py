"""Parallel files: seq.in holds words, seq.out tags, label classes; line by line, as ATIS has them.

This is the layout of ATIS and SNIPS in the papers on slot filling (Goo et al. 2018, "Slot-gated
modeling"). seq.out or label may be missing. A word and its tag are at the same place of their
lines, separated by blanks.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from tagkit.corpus.source.look import CERTAIN, Beginning, Sureness
from tagkit.corpus.source.options import ReaderOptions, source_of
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold
from tagkit.corpus.source.source import Source, unpacked_name
from tagkit.errors import DataError
from tagkit.storage import PACKED
from tagkit.text.records import Sentence
from tagkit.wording import quoted

WORDS, TAGS, LABELS = "seq.in", "seq.out", "label"


def look_at_parallel(beginning: Beginning) -> Sureness | None:
    """A file named seq.in, or a folder with one."""
    path = beginning.path
    if os.path.isdir(path):
        found = any((path / f"{WORDS}{end}").is_file() for end in ("", PACKED))
        return Sureness(CERTAIN, f"a folder with {WORDS}") if found else None
    is_one = unpacked_name(path.name.lower()) == WORDS
    return Sureness(CERTAIN, f"the name is {WORDS}") if is_one else None


def read_parallel(source: Source, reading: ReaderOptions) -> Iterator[Sentence]:
    """The sentences of a folder that holds seq.in; the path may also be that of seq.in itself.

    Raises:
        DataError: there is no seq.in, or neither of the others.
    """
    folder = Path(source.path)
    if not source.is_folder():
        if unpacked_name(folder.name) != WORDS:
            raise DataError(
                f"{source.name}: expected a folder that holds {WORDS}, or {WORDS} itself, found "
                "neither"
            )
        folder = folder.parent
    named = Path(source.path).name
    words, tags, labels = (_open(folder, name, reading, named) for name in (WORDS, TAGS, LABELS))
    if words is None:
        raise DataError(f"{folder}: expected a file {WORDS}, found none")
    if reading.with_tags and tags is None and labels is None:
        raise DataError(f"{folder}: expected {TAGS} or {LABELS} beside {WORDS}, found neither")
    files = {WORDS: words.numbered()}
    if tags and reading.with_tags:
        files[TAGS] = tags.numbered()
    if labels:
        files[LABELS] = labels.numbered()
    # None: this file has ended, and others may not have.
    for number, lines in enumerate(zip_longest(*files.values(), fillvalue=(0, None)), 1):
        row: dict[str, str | None] = {
            name: line for name, (_, line) in zip(files, lines, strict=True)
        }
        if None in row.values():
            # Blank lines at the end of one file alone are no lines that another one lacks.
            longer = next((name for name, line in row.items() if line and line.strip(" \t")), None)
            if longer is None:
                continue  # to the end of all files, as these are what the corpus holds
            ended = next(name for name, line in row.items() if line is None)
            problem = f"expected a line as {longer} has, found the file's end"
            reading.refuse(str(folder / ended), number, problem)
            return
        cells = row[WORDS] or "", row.get(TAGS) or "", row.get(LABELS) or ""
        sentence = _sentence(folder, number, cells, tags is not None, reading)
        if sentence is not None:
            yield sentence


def _sentence(
    folder: Path, number: int, row: tuple[str, str, str], has_tags: bool, reading: ReaderOptions
) -> Sentence | None:
    """One line of each file as a sentence; None where it is blank or refused."""
    words, tags = (tuple(_cells(line)) for line in row[:2])
    label = row[2].strip(" \t")
    if not words and not tags and not label:  # blank in all files: a line between sentences
        return None
    wanted = has_tags and reading.with_tags
    if not words or (wanted and len(words) != len(tags)):
        reading.refuse(
            str(folder / (TAGS if words else WORDS)),
            number,
            f"expected as many tags as {WORDS} has words ({len(words)}), found {len(tags)}"
            if words
            else "expected words, found a blank line",
        )
        return None
    return Sentence(
        words=words,
        tags=tags if wanted else None,
        labels=(label,) if label else (),
        lines=(number,) * len(words),
    )


def _open(folder: Path, name: str, reading: ReaderOptions, named: str) -> Source | None:
    """A file of the folder, plain or packed; None where it is not there."""
    # The plain one first, which is what a person edits, unless the packed one was asked for.
    for each in sorted((name, f"{name}{PACKED}"), key=lambda each: each != named):
        if os.path.isfile(folder / each):
            return source_of(str(folder / each), reading.data, reading.digests)
    return None


# str.split() would also cut at \xa0 and \u3000, which occur inside words.
def _cells(line: str) -> list[str]:
    return [cell for cell in line.replace("\t", " ").split(" ") if cell]


def write_parallel(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """A line a sentence in each of the files for which it has something."""
    first: Sentence | None = None
    for item in items:
        # Lines correspond by their numbers: a sentence without a line in one file would move all
        # that follow.
        first = first or item
        if item.features:
            writing.note("parallel files have no place for feature columns: they are left out")
        if (item.tags is None, not item.labels) != (first.tags is None, not first.labels):
            raise cannot_hold(item, "parallel", "tags or a class in some sentences alone")
        if writing.blank_labels and item.tags is None and not item.labels:
            # Of a model that finds no class likely enough, there would be words alone.
            raise cannot_hold(item, "parallel", "a text without a class")
        if len(item.labels) > 1:
            raise cannot_hold(item, "parallel", "several classes of one sentence")
        for cell in (*item.words, *(item.tags or ())):
            if not cell or any(char in cell for char in " \t\n\r"):
                raise cannot_hold(
                    item, "parallel", f"white space inside a word or tag ({quoted(cell)})"
                )
        yield OutputPiece(WORDS, f"{' '.join(item.words)}\n")
        if item.tags:
            yield OutputPiece(TAGS, f"{' '.join(item.tags)}\n")
        for label in item.labels:
            if not label or label != label.strip(" \t\r") or "\n" in label:
                raise cannot_hold(item, "parallel", f"the class {quoted(label)}")
            yield OutputPiece(LABELS, f"{label}\n")
