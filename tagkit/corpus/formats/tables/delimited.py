"""TSV and CSV: a text and its label in each row, and perhaps more columns.

TSV has no quoting (IANA's text/tab-separated-values): a tab ends a cell, a line end a row, and a
quote is a character as any other, as in the GLUE files. CSV is that of RFC 4180: a quoted cell may
hold commas, quotes and line ends (`csv_rows`). Which column is which is said by the configuration,
else by a header or, of two columns, by their contents.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from tagkit.corpus.formats.tables.csv_rows import csv_rows, named_separator
from tagkit.corpus.formats.tables.sentence_rows import pieces
from tagkit.corpus.formats.tables.text_columns import (
    LABEL,
    TEXT,
    Row,
    TextLayout,
    find_text_layout,
    plain_name,
)
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.pieces import (
    OutputPiece,
    Writing,
    cannot_hold,
    forbid_line_ends,
    noting_spans,
    one_file,
    require_label,
)
from tagkit.corpus.source.source import STDIN, Source
from tagkit.text.json_text import to_json
from tagkit.text.records import Document
from tagkit.wording import plural, quoted

# ["a", "b"], ['a', 'b'], and Label Studio's {"choices": ["a", "b"]}; but no list of numbers.
_LIST = re.compile(r"""(?:\{"choices": *)?(\[ *(?:["'].*["'])? *\])\}?""")
_VECTOR = re.compile(r"\[[01](?:[, ]+[01])+\]")
_ENDS_OF_CELLS = "\t\n\r"  # of TSV, which has no quoting
_LOOKED_AT = 1000  # rows, at most, from which the columns are determined


def read_tsv(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a row."""
    if named_separator(source.beginning(waiting=False)):  # for Excel, which quotes cells
        yield from read_csv(source, reading)
        return
    # New texts are answered as they are; what is learnt of them need not be so.
    if reading.with_tags and _is_quoted(source.beginning(waiting=False)):
        quotes = "its cells seem to be quoted as Excel does, and TSV has no quoting"
        reading.note(f"{source.name}: {quotes}: quotes are a part of the text. Save it as CSV")
    rows = ((number, line.split("\t")) for number, line in source.numbered())
    yield from _documents(rows, source, reading)


def _is_quoted(lines: Sequence[str]) -> bool:
    """Whether these rows of a TSV file seem to have quotes around some of their cells."""
    lines = lines[:_LOOKED_AT]
    open_rows = 0  # which begin a quote that they do not end, as a cell with a line end does
    with_comma, quoted_cells = 0, 0
    for line in lines:
        cells = line.removesuffix("\r").split("\t")
        if any(_is_doubled(cell) for cell in cells):
            return True
        open_rows += any(cell.startswith('"') and cell.count('"') % 2 for cell in cells)
        lists = [cell for cell in cells if "," in cell]
        with_comma += len(lists)
        quoted_cells += sum(len(cell) > 2 and cell[0] == cell[-1] == '"' for cell in lists)
    # Excel quotes each cell with a comma. Of texts a few begin with a quote that a later one ends.
    return (with_comma == quoted_cells > 2) or (open_rows > 1 and 10 * open_rows > len(lines))


def _is_doubled(cell: str) -> bool:
    """Whether a cell stands in quotes, and those within are doubled."""
    inner = cell[1:-1]
    is_quoted = len(cell) > 2 and cell[0] == cell[-1] == '"'
    return is_quoted and '""' in inner and '"' not in inner.replace('""', "")


def read_csv(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a row; a quoted text keeps its line ends as they are."""
    return _documents(csv_rows(source, reading), source, reading)


def _documents(rows: Iterator[Row], source: Source, reading: ReaderOptions) -> Iterator[Document]:
    # Spreadsheets write rows of nothing but separators at the end.
    rows = (row for row in rows if any(cell.strip() for cell in row[1]))
    beginning = _beginning(rows, source)
    if not beginning:
        return
    layout = find_text_layout(beginning, source.name, reading)
    # Columns without a name mean nothing to anybody else.
    others: list[tuple[int, str]] = []
    if reading.with_extra and layout.header:
        others = [
            (index, name)
            for index, name in enumerate(beginning[0][1])
            if index not in (layout.text, layout.label) and name.strip()
        ]
    for number, cells in chain(beginning[1:] if layout.header else beginning, rows):
        problem = _problem(cells, layout, beginning[0][0], reading)
        if problem:
            reading.refuse(source.name, number, f"{problem}: {quoted(', '.join(cells))}")
            continue
        label = "" if layout.label is None else cells[layout.label]
        labels = classes_in(label, reading.data.label_names)
        extra = tuple((name, cells[index]) for index, name in others)
        yield Document(
            cells[layout.text], labels=labels, source=source.name, line=number, extra=extra
        )


def _beginning(rows: Iterator[Row], source: Source) -> list[Row]:
    """The first rows of a file; of a pipe those that have come, as the next may take long."""
    found = []
    for row in rows:
        found.append(row)
        if len(found) == _LOOKED_AT or (source.path == STDIN and source.drained):
            break
    return found


def _problem(cells: Sequence[str], layout: TextLayout, first: int, reading: ReaderOptions) -> str:
    """What is wrong with a row; empty where nothing is."""
    if len(cells) != layout.width:
        expected = plural(layout.width, "column")
        return f"expected {expected}, as on line {first}, found {len(cells)}"
    if not cells[layout.text].strip():
        return f"expected a text in column {layout.text}, found none"
    if reading.with_tags and layout.label is not None:
        label = cells[layout.label]
        if _VECTOR.fullmatch(label) and classes_in(label, reading.data.label_names) == (label,):
            return "expected names of classes, found a number for each: see data.label_names"
    needs_label = reading.with_tags and not reading.blank_labels
    if layout.label is not None and needs_label and not cells[layout.label].strip():
        return f"expected a label in column {layout.label}, found none"
    return ""


def classes_in(cell: str, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The classes in a cell: what it holds, or the elements of a list of texts, as in JSON.

    Args:
        cell: with one class, several, or a number for each class.
        names: of all classes, where they are known.
    """
    if names and _VECTOR.fullmatch(cell) and len(pieces(cell)) == len(names):
        return tuple(name for name, each in zip(names, pieces(cell), strict=True) if each == "1")
    if cell[:1] in ("[", "{") and (found := _LIST.fullmatch(cell)):
        return tuple(dict.fromkeys(pieces(found[1])))
    return (cell,) if cell.strip() else ()


def write_tsv(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A header, which says for certain which column is which, and a row a document."""
    return one_file("\t".join(cells) for cells in _rows(items, writing, "tsv", _ENDS_OF_CELLS))


def write_csv(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A header, which says for certain which column is which, and a row a document."""
    return one_file(",".join(map(_quoted, cells)) for cells in _rows(items, writing, "csv", ""))


def with_safe_cells(item: Document) -> Document:
    """A document none of whose cells a spreadsheet would run as a formula: an apostrophe is before.

    The characters are those that OWASP names (CSV injection).
    """

    def safe(cell: Any) -> Any:
        runs = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{cell}" if runs else cell

    extra = tuple((name, safe(cell)) for name, cell in item.extra)
    return replace(item, text=safe(item.text), labels=tuple(map(safe, item.labels)), extra=extra)


def _rows(
    items: Iterable[Document], writing: Writing, format: str, ends: str
) -> Iterator[list[str]]:
    """The cells of the header and of each document: label, other columns, text.

    The other columns are those that all documents have, or, where these are not known, the first
    one; a document without one has an empty cell there.

    Args:
        items: the documents.
        writing: how they are written.
        format: that is written.
        ends: characters that no cell can hold.
    """
    names: list[str] | None = None
    for item in noting_spans(items, format, writing):
        others = [(name, value) for name, value in item.extra if _names_column(name, ends)]
        for name, _ in item.extra:
            if not _names_column(name, ends):
                writing.note(f"{format} has no place for a column named {quoted(name)}: its "
                             "values are left out")  # fmt: skip
        if names is None:
            known = [name for name, _ in item.extra] if writing.names is None else writing.names
            names = [name for name in known if _names_column(name, ends)]
            yield [LABEL, *names, TEXT]
        for name, _ in others:
            if name not in names:
                writing.note(f"{format}: the values of {quoted(name)}, which the first text does "
                             "not have, are left out")  # fmt: skip
        values = [value for _, value in others]
        if [name for name, _ in others] != names:  # two columns may have one name, as in CSV
            values = [dict(others).get(name, "") for name in names]
        label = "" if writing.blank_labels and not item.labels else require_label(item, format)
        if label and classes_in(label) != (label,):
            raise cannot_hold(item, format, f"the label {quoted(label)}: a list of labels")
        cells = [label, *map(_cell, values), item.text]
        _require_cells(item, [*zip([LABEL, *names], cells, strict=False)], format, ends)
        yield cells
    if names is None:
        yield [LABEL, TEXT]


def _names_column(name: str, ends: str) -> bool:
    """Whether a column of this name is read as one beside the text and the label."""
    # Readers take " Label" for the label too, and columns without a name for nothing.
    is_other = bool(name.strip()) and plain_name(name) not in (LABEL, TEXT)
    return is_other and not any(char in name for char in ends)


def _require_cells(
    item: Document, cells: Sequence[tuple[str, str]], format: str, ends: str
) -> None:
    """Make sure that the cells of a document are read as they are.

    Args:
        item: the document.
        cells: those before its text, with the names of their columns.
        format: that is written.
        ends: characters that no cell can hold.

    Raises:
        FormatError: they are not.
    """
    if not item.text.strip():
        raise cannot_hold(item, format, "a blank text")
    if not ends:
        return
    forbid_line_ends(item, item.text, format)
    if "\t" in item.text:
        raise cannot_hold(item, format, "a tab in the text")
    for name, cell in cells:
        if any(char in cell for char in ends):
            column = "the label" if name == LABEL else f"the column {quoted(name)}"
            raise cannot_hold(item, format, f"a tab or a line end in {column}")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else to_json(value)


def _quoted(cell: str) -> str:
    # csv.writer leaves a lone \r without quotes, which its own reader refuses.
    if any(char in cell for char in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell
