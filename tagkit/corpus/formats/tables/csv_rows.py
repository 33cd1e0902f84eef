"""Rows of CSV, as RFC 4180 has them; with semicolons between cells, as Excel writes them.

Where a comma is the decimal separator, as in most of Europe, Excel parts cells by semicolons. A
first line "sep=;" tells it what separates the cells of a file, whatever the country, and is no row.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tagkit.corpus.formats.tables.text_columns import (
    TEXT_NAMES,
    Row,
    names_both,
    plain_name,
)
from tagkit.corpus.source.look import CERTAIN, FORM, NOTHING, SHAPE, Beginning, Sureness
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.wording import quoted

_LOOKED_AT = 1000  # rows, at most, that show which separator there is
# Excel takes any character; a letter or a quote is none that a table would be written with.
_SEPARATOR_LINE = re.compile(r"sep=([^\w\s\"']|\t)\r?", re.IGNORECASE)
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}
_LARGEST = 2**31 - 1  # characters in a cell: what a C long holds everywhere


def csv_rows(source: Source, reading: ReaderOptions, separator: str = "") -> Iterator[Row]:
    """The cells of each row; `separator`: of the cells, where that is known.

    Raises:
        FormatError: a row is not CSV, and there is no `reading.on_error` to report to.
        FileError: nothing tells what separates the cells, or a row is too long.
    """
    # The limit is one of the whole process, 131,072 characters unless somebody has raised it; never
    # lowered, as other readers may rely on it.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST))
    named = named_separator(source.beginning(waiting=False))
    separator = separator or named or _separator(source, reading)
    lines = _RowLines(source)
    # strict: otherwise a quote that is not closed swallows the rest of the file without a word.
    rows = csv.reader(lines, strict=True, delimiter=separator)
    while True:
        number = rows.line_num + 1  # the row's first line: line_num is that of the last one
        lines.begin_row(number)
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            # Of a quote that is not closed others may be a part, and are lost with it.
            ends = f", and ends in line {rows.line_num}," if rows.line_num > number else ""
            problem = f"the row that begins here{ends} is not CSV (RFC 4180)"
            reading.refuse(source.name, number, f"{problem}: {_reason(error, separator)}")
            continue
        if number > 1 or not named:
            yield number, cells


def named_separator(lines: Sequence[str]) -> str:
    """What the first line, "sep=;", says to stand between cells; empty where it is another line."""
    found = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    return found[1] if found else ""


def _separator(source: Source, reading: ReaderOptions) -> str:
    """What stands between the cells of a file: semicolons where the first row has no comma."""
    lines = source.beginning(waiting=False)
    by_commas, by_semicolons = (next(iter(first_rows(lines, each)), []) for each in ",;")
    if len(by_commas) > 1 or len(by_semicolons) < 2 or not _are_cells(by_semicolons, reading):
        return ","
    note = "its cells are separated by semicolons, as its first row has these and no commas"
    reading.note(f"{source.name}: {note}")
    return ";"


def _are_cells(row: Sequence[str], reading: ReaderOptions) -> bool:
    """Whether semicolons stand between the cells of a first row: those of new texts may be text."""
    text, label = reading.data.text_column, reading.data.label_column
    # Of rows with labels, and where a column is named, there is more than one.
    if reading.with_tags or text is not None:
        return True
    known = {*TEXT_NAMES, plain_name(label)} if isinstance(label, str) else {*TEXT_NAMES}
    return bool(known & {*map(plain_name, row)})


def _reason(error: csv.Error, separator: str) -> str:
    """What is wrong with a row, in place of the csv module's words."""
    # The csv module has one exception class; its texts are all that distinguishes the causes.
    said = str(error)
    if said.startswith("unexpected end of data"):
        return "a quote is not closed"
    if "expected after" in said:
        between = _NAMES.get(separator, quoted(separator))
        return f"expected a {between} or a line end after the quote that closes a cell"
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
            problem += "quote not closed?"
            raise FileError(self.source.name, self.row, problem)
        return line

    def _lines(self) -> Iterator[str]:
        for lines in self.source.pieces():
            for number, line in enumerate(lines, 1):
                self.source.drained = number == len(lines)
                yield f"{line}\n"


def are_rows_of_csv(lines: Sequence[str], separator: str = ",") -> bool:
    """Whether nine of ten rows have as many cells, two or more."""
    widths = [len(row) for row in first_rows(lines, separator)]
    # Nine of ten, as one broken row must not turn a table into raw text.
    common = max(set(widths), key=widths.count, default=0)
    return common > 1 and 10 * widths.count(common) >= 9 * len(widths)


def first_rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The rows that are not blank, up to one that cannot be read."""
    rows = []
    # A row may be several lines long, so lines cannot be split one by one.
    with suppress(csv.Error):
        for row in csv.reader((f"{line}\n" for line in lines[:_LOOKED_AT]), delimiter=separator):
            if any(cell.strip() for cell in row):
                rows.append(row)
    return rows


def _is_prose(lines: Sequence[str]) -> bool:
    """Whether commas stand in texts: with a blank behind them, and not below a header."""
    text = "\n".join(lines)
    is_named = bool(lines) and bool({*map(plain_name, lines[0].split(","))} & {*TEXT_NAMES})
    return not is_named and '"' not in text and 10 * text.count(", ") >= 9 * text.count(",") > 0


def look_at_csv(beginning: Beginning) -> Sureness | None:
    """A line for Excel, a header or, where the name says so, rows of as many cells."""
    lines = beginning.lines
    if named_separator(lines):
        line = quoted(lines[0].rstrip("\r"))
        return Sureness(CERTAIN, f"its first line says what separates its cells: {line}")
    first = lines[0].removesuffix("\r") if len(lines) > 1 else ""
    if "\t" not in first and ("," in first or ";" in first):
        cells = first.split("," if "," in first else ";")
        if names_both([cell.strip(' "') for cell in cells]):
            return Sureness(FORM, "a header with the names of a text and a label")
    if beginning.raw and _is_prose(lines) and not are_rows_of_csv(lines, ";"):
        return None
    if "csv" in beginning.named:
        if are_rows_of_csv(lines):
            return Sureness(SHAPE, "rows of as many columns, separated by commas")
        if are_rows_of_csv(lines, ";"):
            return Sureness(SHAPE, "rows of as many columns")
    return NOTHING
