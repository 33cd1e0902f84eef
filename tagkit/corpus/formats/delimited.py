"""TSV and CSV: a text and its label in each row, and perhaps more columns.

TSV has no quoting: a tab ends a cell, a line end a row, and a quote is a character as any other.
CSV is that of RFC 4180: a quoted cell may hold commas, quotes and line ends. Which column is which
is what the configuration says, else what a header says or, of two columns, what they hold.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.options import Reading
from tagkit.corpus.formats.pieces import Piece, Writing, cannot_hold, one_file
from tagkit.corpus.formats.source import STDIN, Source
from tagkit.corpus.formats.text import noting_spans, require_label, require_line
from tagkit.errors import FormatError, shorten
from tagkit.text.records import Document
from tagkit.wording import Message, Setting, plural

Row = tuple[int, list[str]]  # the number of its first line, and its cells

# The first of each is preferred where a header has several of them.
_TEXT_NAMES = (
    "text", "texts", "sentence", "review", "utterance", "query", "question", "content", "title",
    "body", "document", "message", "comment", "tweet", "headline", "description", "abstract",
)  # fmt: skip
_LABEL_NAMES = (
    "label", "labels", "class", "category", "intent", "sentiment", "topic", "target", "y",
    "polarity", "emotion", "rating", "tag",
)  # fmt: skip
_HEADER = ("label", "text")  # what is written; the two names are a header wherever they stand
_LOOKED_AT = 1000  # rows, at most, that tell what the columns are
_LARGEST = 2**31 - 1  # characters in a cell: what a C long holds everywhere
_EXAMPLE = (Setting("data.label_column", 0), " ", Setting("data.text_column", 1))
_REMEDY = Message("Name them, from 0: ", *_EXAMPLE)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in the rows of one file.

    Attributes:
        width: number of columns.
        text: index of the text's column.
        label: index of the label's column; None where there is none.
        header: whether the first row is one.
    """

    width: int
    text: int
    label: int | None
    header: bool


def read_tsv(source: Source, reading: Reading) -> Iterator[Document]:
    """A document a row."""
    rows = ((number, line.split("\t")) for number, line in source.numbered())
    return _documents(rows, source, reading)


def read_csv(source: Source, reading: Reading) -> Iterator[Document]:
    """A document a row; a quoted text keeps its line ends as they are."""
    return _documents(_csv_rows(source, reading), source, reading)


def _csv_rows(source: Source, reading: Reading) -> Iterator[Row]:
    # The limit is the process's, and 131,072 characters unless somebody has raised it.
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST))
    lines = _RowLines(source)
    rows = csv.reader(lines, strict=True)
    while True:
        number = rows.line_num + 1
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
    said = str(error)
    if said.startswith("unexpected end of data"):
        return "a quote is not closed"
    if "expected after" in said:
        return "expected a comma or a line end behind the quote that closes a cell"
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
        if self.length > limit + 1:
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
    rows = (row for row in rows if any(cell.strip() for cell in row[1]))
    beginning = _beginning(rows, source)
    if not beginning:
        return
    layout = _find_layout(beginning, source.name, reading)
    for number, cells in chain(beginning[1:] if layout.header else beginning, rows):
        problem = _problem(cells, layout, beginning[0][0], reading)
        if problem:
            reading.refuse(source.name, number, f"{problem}: {shorten(', '.join(cells))}")
            continue
        label = "" if layout.label is None else cells[layout.label]
        labels = (label,) if label.strip() else ()
        yield Document(cells[layout.text], labels=labels, source=source.name, line=number)


def _beginning(rows: Iterator[Row], source: Source) -> list[Row]:
    """The first rows of a file; of a pipe those that have come, as the next may take long."""
    found = []
    for row in rows:
        found.append(row)
        if len(found) == _LOOKED_AT or (source.path == STDIN and source.drained):
            break
    return found


def _problem(cells: Sequence[str], layout: _Layout, first: int, reading: Reading) -> str:
    """What is wrong with a row; empty where nothing is."""
    if len(cells) != layout.width:
        expected = plural(layout.width, "column")
        return f"expected {expected}, as on line {first}, found {len(cells)}"
    if not cells[layout.text].strip():
        return f"expected a text in column {layout.text}, found none"
    if layout.label is not None and reading.with_tags and not cells[layout.label].strip():
        return f"expected a label in column {layout.label}, found none"
    return ""


def _find_layout(rows: Sequence[Row], source: str, reading: Reading) -> _Layout:
    """What the columns are, by the configuration and the first rows.

    Raises:
        FormatError: a column is named that is not there, or nothing tells which is which.
    """
    data = reading.data
    number, first = rows[0]
    same = [cells for _, cells in rows if len(cells) == len(first)]
    header = data.header == "yes" or (data.header == "auto" and _has_header(same, data))
    try:
        text = _named(data.text_column, "text_column", first, header)
        label = _named(data.label_column, "label_column", first, header)
        if header:
            text = _known(first, _TEXT_NAMES, label) if text is None else text
            label = _known(first, _LABEL_NAMES, text) if label is None else label
        if reading.with_tags or (text is None and len(first) > 1):
            text, label = _settle(text, label, len(first), same[1:] if header else same)
    except ValueError as error:
        raise FormatError(source, number, str(error)) from None
    # Where labels are not wanted, a text alone is enough.
    text = text or 0
    return _Layout(len(first), text, None if label == text else label, header)


def _has_header(rows: Sequence[Sequence[str]], data: DataConfig) -> bool:
    """Whether the first row names the columns.

    It does if it has a known name of a text and one of a label. With one of them alone, all of its
    cells need to look like names, and the known one must not be a label that comes again.
    """
    if isinstance(data.text_column, str) or isinstance(data.label_column, str):
        return True
    names = [_plain(cell) for cell in rows[0]]
    if set(names) & {*_TEXT_NAMES} and set(names) & {*_LABEL_NAMES}:
        return True
    if len(rows) == 1 or len({*names}) < len(names) or any(" " in name for name in names):
        return False
    known = [i for i, name in enumerate(names) if name in _TEXT_NAMES + _LABEL_NAMES]
    return any(all(row[i] != rows[0][i] for row in rows[1:]) for i in known)


def _plain(name: str) -> str:
    return name.strip(" ").lower()


def _named(column: Column | None, option: str, first: Sequence[str], header: bool) -> int | None:
    """Index of a column that the configuration names.

    Raises:
        ValueError: there is no such column.
    """
    width = len(first)
    if isinstance(column, int):
        if not -width <= column < width:
            raise ValueError(f"data.{option} = {column}: expected -{width} to {width - 1}, as the "
                             f"file has {plural(width, 'column')}")  # fmt: skip
        return column % width
    if column is None:
        return None
    if not header:
        raise ValueError(
            f"data.{option} = {shorten(column)}: expected a number, as data.header is 'no'"
        )
    found = [i for i, name in enumerate(first) if name == column]
    found = found or [i for i, name in enumerate(first) if _plain(name) == _plain(column)]
    if len(found) != 1:
        how = "several of this name" if found else "none of this name"
        raise ValueError(f"data.{option} = {shorten(column)}: expected one of the header's "
                         f"columns, found {how} in {shorten(', '.join(first), 400)}")  # fmt: skip
    return found[0]


def _known(first: Sequence[str], known: Sequence[str], taken: int | None) -> int | None:
    """The column, other than `taken`, whose name is known; the preferred name settles a tie."""
    names = {i: _plain(name) for i, name in enumerate(first) if i != taken}
    found = [i for i, name in names.items() if name in known]
    if len(found) > 1:
        found = [i for i in found if names[i] == known[0]]
    return found[0] if len(found) == 1 else None


def _settle(
    text: int | None, label: int | None, width: int, rows: Sequence[Sequence[str]]
) -> tuple[int, int]:
    """The columns of text and label, where one or both are not known yet.

    Raises:
        ValueError: nothing tells which is which.
    """
    if width == 2:
        if text is None and label is None:
            label = _label_column(rows)
        if label is None and text is not None:
            label = 1 - text
        if text is None and label is not None:
            text = 1 - label
    if text is None or label is None:
        raise ValueError(
            Message(
                f"expected a label and a text, found {plural(width, 'column')} and nothing "
                "that tells which is which. ",
                _REMEDY,
            )
        )
    if text == label:
        raise ValueError(
            Message(f"expected a label and a text, found both in column {text}. ", _REMEDY)
        )
    return text, label


def _label_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Of two columns the one with fewer words and fewer different cells; None for neither."""
    words, kinds = (
        [sum(len(row[i].split()) for row in rows) for i in (0, 1)],
        [len({row[i] for row in rows}) for i in (0, 1)],
    )
    for this, other in ((0, 1), (1, 0)):
        no_more = words[this] <= words[other] and kinds[this] <= kinds[other]
        if no_more and (words[this] < words[other] or kinds[this] < kinds[other]):
            return this
    return None


def write_tsv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, which says for certain which column is which, and a row a document."""
    rows = (_tsv_row(item) for item in noting_spans(items, "tsv", writing))
    return one_file(chain(["\t".join(_HEADER)], rows))


def _tsv_row(item: Document) -> str:
    label = require_label(item, "tsv")
    require_line(item, item.text, "tsv")
    if any(char in label for char in "\t\n\r") or "\t" in item.text:
        raise cannot_hold(item, "tsv", "a tab in the text, or a tab or line end in the label")
    return f"{label}\t{item.text}"


def write_csv(items: Iterable[Document], writing: Writing) -> Iterator[Piece]:
    """A header, which says for certain which column is which, and a row a document."""
    rows = (_csv_row(item) for item in noting_spans(items, "csv", writing))
    return one_file(chain([",".join(_HEADER)], rows))


def _csv_row(item: Document) -> str:
    label = require_label(item, "csv")
    if not item.text.strip():
        raise cannot_hold(item, "csv", "a blank text")
    return f"{_quoted(label)},{_quoted(item.text)}"


def _quoted(cell: str) -> str:
    # csv.writer leaves a lone \r without quotes, which its own reader refuses.
    if any(char in cell for char in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def looks_like_tsv(lines: Sequence[str]) -> bool:
    """Whether all lines have as many columns, two or more, and one has texts of several words."""
    lines = [line.removesuffix("\r") for line in lines]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    rows = [line.split("\t") for line in lines]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if not all(line.strip() for line in lines):
        return False
    several = [sum(" " in cell.strip(" ") for cell in column) for column in zip(*rows, strict=True)]
    return 2 * max(several) > len(rows)


def looks_like_csv(lines: Sequence[str]) -> bool:
    """Whether the first line is a header with the name of a text and that of a label."""
    if len(lines) < 2 or "\t" in lines[0]:
        return False
    names = {_plain(cell.strip(' "')) for cell in lines[0].removesuffix("\r").split(",")}
    return bool(names & {*_TEXT_NAMES} and names & {*_LABEL_NAMES})
