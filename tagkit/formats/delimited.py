"""TSV and CSV: a text and its class on each row, in columns of their own.

TSV has no quoting: a tab ends a cell, a line end a row, and a quote is a character as any other.
CSV is that of RFC 4180: quoted cells may hold commas, quotes and line ends.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from tagkit.config import Column, DataConfig
from tagkit.errors import FormatError, shorten
from tagkit.formats.lines import Source
from tagkit.formats.reading import Reading
from tagkit.formats.writing import Piece, Writing, cannot_hold, one_file
from tagkit.sentence import Document

_TEXT_NAMES = (
    "text", "sentence", "review", "utterance", "query", "question", "content", "document", "body",
    "message", "tweet", "title",
)  # fmt: skip
_LABEL_NAMES = (
    "label", "labels", "class", "category", "intent", "sentiment", "topic", "target", "polarity",
    "type",
)  # fmt: skip
_LOOKED_AT = 1000  # rows that tell what a file's columns are

Row = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the text and its class stand, and whether the first row names them."""

    width: int
    text: int
    label: int | None
    header: bool


def read_tsv(source: Source, reading: Reading) -> Iterator[Document]:
    """The texts of a tab-separated file."""
    rows = ((n, line.split("\t")) for n, line in source.numbered() if line.strip(" \t"))
    return _documents(rows, source, reading)


def read_csv(source: Source, reading: Reading) -> Iterator[Document]:
    """The texts of a comma-separated file."""
    return _documents(_csv_rows(source, reading), source, reading)


def _csv_rows(source: Source, reading: Reading) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # of the whole process; its own limit is 131,072 characters
    # Line ends inside a quoted cell are the text's: they are not to be lost.
    lines = (f"{line}\n" for piece in source.pieces() for line in piece)
    rows = csv.reader(lines, strict=True)
    number = 1
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reading.refuse(source.name, number, f"expected a row of CSV, found an error: {error}")
            number = rows.line_num + 1
            continue
        if row:
            yield number, row
        number = rows.line_num + 1


def _documents(rows: Iterator[Row], source: Source, reading: Reading) -> Iterator[Document]:
    beginning = list(islice(rows, _LOOKED_AT))
    if not beginning:
        return
    columns = _find_columns(beginning, source.name, reading.data)
    for number, row in chain(beginning[1:] if columns.header else beginning, rows):
        if len(row) != columns.width:
            reading.refuse(
                source.name,
                number,
                f"expected {columns.width} columns as on line {beginning[0][0]}, found {len(row)}: "
                f"{shorten(str(row))}",
            )
            continue
        text = row[columns.text]
        label = "" if columns.label is None else row[columns.label]
        if not text.strip() or (not label.strip() and reading.with_tags):
            reading.refuse(
                source.name, number, f"expected a text and a class, found {shorten(str(row))}"
            )
            continue
        yield Document(
            text, labels=(label,) if label.strip() else (), source=source.name, line=number
        )


def _find_columns(rows: Sequence[Row], source: str, data: DataConfig) -> _Columns:
    """What the columns of a file are, from its first rows.

    Raises:
        FormatError: a column is named that is not there, or it does not show which is which.
    """
    number, first = rows[0]
    names = [cell.strip().lower() for cell in first]
    known = [name in _TEXT_NAMES or name in _LABEL_NAMES for name in names]
    named = [c for c in (data.text_column, data.label_column) if isinstance(c, str)]
    header = data.header == "yes" or (
        data.header == "auto" and (bool(named) or (any(known) and len({*names}) == len(names) > 1))
    )
    body = [row for _, row in (rows[1:] if header else rows) if len(row) == len(first)]
    guess = _guess(names if header else [], body)

    def place(column: Column | None, role: str, guessed: int | None) -> int | None:
        if column is None:
            return guessed
        if isinstance(column, str):
            if not header or column.lower() not in names:
                there = ", ".join(first) if header else "no header"
                raise FormatError(source, number, f"{role} column {column!r}: found {there}")
            return names.index(column.lower())
        if not -len(first) <= column < len(first):
            raise FormatError(
                source,
                number,
                f"{role} column {column}: expected -{len(first)} to {len(first) - 1}, as the file "
                f"has {len(first)} columns",
            )
        return column % len(first)

    text = place(data.text_column, "text", guess[0])
    label = place(data.label_column, "label", guess[1])
    if len(first) == 2 and (text is None) != (label is None):
        text, label = (1 - (label or 0) if text is None else text), (
            1 - (text or 0) if label is None else label
        )
    if len(first) == 1:
        return _Columns(1, 0, None, header)
    if text is None or label is None or text == label:
        raise FormatError(
            source,
            number,
            f"it does not show which of the {len(first)} columns is the text and which the class. "
            "Name them: --set data.text_column=N --set data.label_column=N, counted from 0",
        )
    return _Columns(len(first), text, label, header)


def _guess(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[int | None, int | None]:
    """Columns of text and class, by their names or, of two, by what they hold."""
    text = next((i for i, name in enumerate(names) if name in _TEXT_NAMES), None)
    label = next((i for i, name in enumerate(names) if name in _LABEL_NAMES), None)
    if (text is None and label is None) and rows and len(rows[0]) == 2:
        # Classes are shorter than texts, and fewer.
        size = [sum(len(row[i].split()) for row in rows) for i in (0, 1)]
        distinct = [len({row[i] for row in rows}) for i in (0, 1)]
        for one, other in ((0, 1), (1, 0)):
            if size[one] <= size[other] and distinct[one] <= distinct[other]:
                if (size[one], distinct[one]) != (size[other], distinct[other]):
                    return other, one
        return None, None
    return text, label


def write_tsv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, and a row a text."""
    return one_file(chain(["text\tlabel"], (_row(item, writing, "tsv", _tabbed) for item in items)))


def write_csv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, and a row a text, quoted where that is needed."""
    rows = (_row(item, writing, "csv", _quoted) for item in items)
    return one_file(chain(["text,label"], rows))


def _row(
    item: Document, writing: Writing, name: str, row: Callable[[Document], str | None]
) -> str:
    if item.spans:
        writing.note(f"{name} holds classes of texts: spans are left out")
    if len(item.labels) != 1 or not item.labels[0].strip() or not item.text.strip():
        raise cannot_hold(item, name, "other than one class of a text")
    found = row(item)
    if found is None:
        raise cannot_hold(item, name, "a tab or a line end in a cell")
    return found


def _tabbed(item: Document) -> str | None:
    cells = (item.text, item.labels[0])
    return "\t".join(cells) if not any(set(cell) & set("\t\n\r") for cell in cells) else None


def _quoted(item: Document) -> str | None:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in (item.text, item.labels[0]))


def looks_like_tsv(lines: Sequence[str]) -> bool:
    """Whether all lines have equally many columns, two or more, and most several words in one."""
    lines = [line.removesuffix("\r") for line in lines]
    rows = [line.split("\t") for line in lines]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if any(not line.strip() for line in lines):
        return False
    several = sum(any(" " in cell.strip() for cell in row) for row in rows)
    return 2 * several > len(rows)


def looks_like_csv(lines: Sequence[str]) -> bool:
    """Whether the first line is a header with the name of a text and that of a class."""
    names = [cell.strip(' "').lower() for cell in (lines or [""])[0].rstrip("\r").split(",")]
    known = [any(name in kind for name in names) for kind in (_TEXT_NAMES, _LABEL_NAMES)]
    return len(lines) > 1 and len(names) > 1 and all(known)
