"""TSV and CSV: a text and its label in each row, and perhaps more columns.

TSV has no quoting (IANA's text/tab-separated-values): a tab ends a cell, a line end a row, and a
quote is a character as any other, as in the GLUE files. CSV is that of RFC 4180: a quoted cell may
hold commas, quotes and line ends. Which column is which is said by the configuration, else by a
header or, of two columns, by their contents.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from tagkit.corpus.formats.options import Reading
from tagkit.corpus.formats.pieces import (
    Piece,
    Writing,
    cannot_hold,
    forbid_line_ends,
    noting_spans,
    one_file,
    require_label,
)
from tagkit.corpus.formats.source import STDIN, Source
from tagkit.corpus.formats.text_columns import (
    LABEL_NAMES,
    SEMICOLONS,
    TEXT_NAMES,
    Row,
    TextLayout,
    find_text_layout,
    plain_name,
)
from tagkit.errors import FormatError
from tagkit.text.json_text import to_json
from tagkit.text.records import Document
from tagkit.wording import plural, quoted

# What is written; the two names are a header wherever they stand.
_LABEL, _TEXT = "label", "text"
_ENDS_OF_CELLS = "\t\n\r"  # of TSV, which has no quoting
_LOOKED_AT = 1000  # rows, at most, from which the columns are determined
_LARGEST = 2**31 - 1  # characters in a cell: what a C long holds everywhere


def read_tsv(source: Source, reading: Reading) -> Iterator[Document]:
    """A document a row."""
    rows = ((number, line.split("\t")) for number, line in source.numbered())
    return _documents(rows, source, reading)


def read_csv(source: Source, reading: Reading) -> Iterator[Document]:
    """A document a row; a quoted text keeps its line ends as they are."""
    return _documents(_csv_rows(source, reading), source, reading)


def _csv_rows(source: Source, reading: Reading) -> Iterator[Row]:
    beginning = source.beginning(waiting=False)
    if _are_rows_of_semicolons(beginning, needed=reading.with_tags):
        first = next(number for number, line in enumerate(beginning, 1) if line.strip())
        raise FormatError(source.name, first, f"expected cells separated by commas: {SEMICOLONS}")
    # The limit is one of the whole process, 131,072 characters unless somebody has raised it; never
    # lowered, as other readers may rely on it.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST))
    lines = _RowLines(source)
    # strict: otherwise a quote that is not closed swallows the rest of the file without a word.
    rows = csv.reader(lines, strict=True)
    while True:
        number = rows.line_num + 1  # the row's first line: line_num is that of the last one
        lines.begin_row(number)
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            problem = "the row that begins here is not CSV (RFC 4180)"
            reading.refuse(source.name, number, f"{problem}: {_reason(error)}")
            continue
        yield number, cells


def _reason(error: csv.Error) -> str:
    """What is wrong with a row, in place of the csv module's words."""
    # The csv module has one exception class; its texts are all that distinguishes the causes.
    said = str(error)
    if said.startswith("unexpected end of data"):
        return "a quote is not closed"
    if "expected after" in said:
        return "expected a comma or a line end after the quote that closes a cell"
    return "expected quotes around a cell with a carriage return in it"


class _RowLines:
    r"""Lines with their ends, as `Source.numbered` drops a \r that a quoted text may hold.

    A row may be many lines long, where a quote is not closed to the file's end: it is bounded.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = self._lines()
        self.row = 1  # number of its first line
        self.length = 0  # of the row so far, in characters

    def begin_row(self, number: int) -> None:
        self.row, self.length = number, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.length += len(line)
        limit = self.source.max_line_chars
        if self.length > limit + 1:  # the line end counts here, and not in the limit
            problem = f"expected a row of at most {limit:,} characters, found a longer one: is a "
            problem += "quote not closed? data.max_line_chars is the limit"
            raise FormatError(self.source.name, self.row, problem)
        return line

    def _lines(self) -> Iterator[str]:
        for lines in self.source.pieces():
            for number, line in enumerate(lines, 1):
                self.source.drained = number == len(lines)
                yield f"{line}\n"


def _documents(rows: Iterator[Row], source: Source, reading: Reading) -> Iterator[Document]:
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
        labels = (label,) if label.strip() else ()
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


def _problem(cells: Sequence[str], layout: TextLayout, first: int, reading: Reading) -> str:
    """What is wrong with a row; empty where nothing is."""
    if len(cells) != layout.width:
        expected = plural(layout.width, "column")
        return f"expected {expected}, as on line {first}, found {len(cells)}"
    if not cells[layout.text].strip():
        return f"expected a text in column {layout.text}, found none"
    needs_label = reading.with_tags and not reading.blank_labels
    if layout.label is not None and needs_label and not cells[layout.label].strip():
        return f"expected a label in column {layout.label}, found none"
    return ""


def write_tsv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, which says for certain which column is which, and a row a document."""
    return one_file("\t".join(cells) for cells in _rows(items, writing, "tsv", _ENDS_OF_CELLS))


def write_csv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, which says for certain which column is which, and a row a document."""
    return one_file(",".join(map(_quoted, cells)) for cells in _rows(items, writing, "csv", ""))


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
            yield [_LABEL, *names, _TEXT]
        for name, _ in others:
            if name not in names:
                writing.note(f"{format}: the values of {quoted(name)}, which the first text does "
                             "not have, are left out")  # fmt: skip
        values = [value for _, value in others]
        if [name for name, _ in others] != names:  # two columns may have one name, as in CSV
            values = [dict(others).get(name, "") for name in names]
        label = "" if writing.blank_labels and not item.labels else require_label(item, format)
        cells = [label, *map(_cell, values), item.text]
        _require_cells(item, [*zip([_LABEL, *names], cells, strict=False)], format, ends)
        yield cells
    if names is None:
        yield [_LABEL, _TEXT]


def _names_column(name: str, ends: str) -> bool:
    """Whether a column of this name is read as one beside the text and the label."""
    # Readers take " Label" for the label too, and columns without a name for nothing.
    is_other = bool(name.strip()) and plain_name(name) not in (_LABEL, _TEXT)
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
            column = "the label" if name == _LABEL else f"the column {quoted(name)}"
            raise cannot_hold(item, format, f"a tab or a line end in {column}")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else to_json(value)


def _quoted(cell: str) -> str:
    # csv.writer leaves a lone \r without quotes, which its own reader refuses.
    if any(char in cell for char in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def looks_like_tsv(lines: Sequence[str]) -> bool:
    """Whether all lines have as many columns, two or more, and one has texts of several words."""
    lines = [line.removesuffix("\r") for line in lines]
    while lines and not lines[-1].strip():  # blank lines at the end are no rows
        lines = lines[:-1]
    rows = [line.split("\t") for line in lines]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if not all(line.strip() for line in lines):
        return False
    # Single words in all columns would rather be a column file.
    several = [sum(" " in cell.strip(" ") for cell in column) for column in zip(*rows, strict=True)]
    return 2 * max(several) > len(rows)


def are_rows_of_csv(lines: Sequence[str], separator: str = ",") -> bool:
    """Whether nine of ten rows have as many cells, two or more."""
    widths = [len(row) for row in _first_rows(lines, separator)]
    # Nine of ten, as one broken row must not turn a table into raw text.
    common = max(set(widths), key=widths.count, default=0)
    return common > 1 and 10 * widths.count(common) >= 9 * len(widths)


def _first_rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The rows that are not blank, up to one that cannot be read."""
    rows = []
    # A row may be several lines long, so lines cannot be split one by one.
    with suppress(csv.Error):
        for row in csv.reader((f"{line}\n" for line in lines[:_LOOKED_AT]), delimiter=separator):
            if row:
                rows.append(row)
    return rows


def _are_rows_of_semicolons(lines: Sequence[str], *, needed: bool) -> bool:
    """Whether these are rows as Excel writes them where a comma is the decimal separator.

    Args:
        lines: the first ones of a file.
        needed: whether each row has to have a label. Else the rows may be texts that have
            semicolons, and only a header with the name of a text shows that they are not.
    """
    if not are_rows_of_csv(lines, ";"):
        return False
    header = _first_rows(lines, ";")[0]
    if not needed and not {*map(plain_name, header)} & {*TEXT_NAMES}:
        return False
    # Commas of the texts may divide as many rows in two.
    by_commas = _first_rows(lines, ",")
    return not by_commas or len(by_commas[0]) == 1 or not are_rows_of_csv(lines)


def looks_like_csv(lines: Sequence[str]) -> bool:
    """Whether the first line is a header with the name of a text and that of a label."""
    if len(lines) < 2 or "\t" in lines[0]:
        return False
    names = {plain_name(cell.strip(' "')) for cell in lines[0].removesuffix("\r").split(",")}
    return bool(names & {*TEXT_NAMES} and names & {*LABEL_NAMES})
