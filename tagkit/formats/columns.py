r"""Column files: one token a line, its columns parted by blanks or tabs, blank lines between.

    EU NNP B-NP B-ORG            the CoNLL shared tasks, 2000 to 2003
    rejects VBZ B-VP O

CoNLL-U (universaldependencies.org) is the kind with ten columns that have names; multiword ranges
(1-2) and empty nodes (1.1) are lines, but no tokens.

Columns are parted by ASCII blanks and tabs alone: \x85, \xa0 and other Unicode spaces belong to
their token. A line that begins with # is a comment in CoNLL-U. Elsewhere it is a token when it has
as many columns as the file (tweets), else a comment when it stands between sentences. A line whose
token is -DOCSTART- is no token wherever it stands.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tagkit.errors import DataError, FormatError, shorten
from tagkit.formats.lines import open_bytes, read_lines, source_name
from tagkit.sentence import Sentence

Column = int | str

CONLLU_COLUMNS = (
    "ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC",
)  # fmt: skip
DOCSTART = "-DOCSTART-"
_BLANK = " \t\r"
_NAMES = (".conll", ".conllu", ".iob", ".iob2", ".bio", ".bioes", ".bilou")


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """Which columns to read, as a configuration or a command names them.

    Attributes:
        format: "columns", "conllu", or "auto".
        token: index from 0, or from -1 at the end, or a CoNLL-U name; None for FORM or 0.
        tag: likewise; None for UPOS or the last. Not looked at where tags are not wanted.
        features: likewise.
        with_tags: whether tags are wanted.
    """

    format: str
    token: Column | None
    tag: Column | None
    features: tuple[Column, ...]
    with_tags: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in the lines of one file.

    Attributes:
        width: number of columns.
        conllu: whether the file is CoNLL-U.
        token: index of the token's column.
        tag: index of the tag's column; None where tags are not wanted.
        features: indices of the feature columns.
        tabs: whether columns are parted by tabs.
    """

    width: int
    conllu: bool
    token: int
    tag: int | None
    features: tuple[int, ...]
    tabs: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: a sentence with its comments, or lines between sentences.

    Attributes:
        lines: as they were read, without their line feeds.
        rows: which of them are the sentence's tokens.
        sentence: None where there is none.
        first_line: number of the first of them in the file, from 1.
    """

    lines: tuple[str, ...]
    rows: tuple[int, ...]
    sentence: Sentence | None
    first_line: int


class ColumnReader:
    """Turns lines into blocks, fed with as many lines at a time as there are."""

    def __init__(self, source: str, options: ColumnOptions) -> None:
        """`source` names the file in messages."""
        self.source = source
        self.options = options
        self.layout: Layout | None = None
        self._layout_line = 0
        self._held: list[str] = []  # lines before the first that tells the columns
        self._lines: list[str] = []
        self._rows: list[tuple[int, list[str]]] = []  # place in self._lines, columns
        self._number = 0  # of lines read

    def feed(self, lines: Iterable[str]) -> Iterator[Block]:
        """Blocks that these lines complete.

        Raises:
            FormatError: a line without the file's columns, or a column that is not there.
        """
        for line in lines:
            if self.layout is not None:
                yield from self._next(line)
                continue
            # Whether a line with # is a token shows only once the file's columns are known.
            self._held.append(line)
            if line.strip(_BLANK) and not line.startswith(("#", DOCSTART)):
                self._set_layout(line, len(self._held))
                yield from self._release()

    def close(self) -> Iterator[Block]:
        """The last block, which often lacks its blank line."""
        if self.layout is None:
            self._look_at_hashes()
            yield from self._release()
        if self._lines:
            yield self._block()

    def _look_at_hashes(self) -> None:
        """A file of nothing but lines with #: comments, or one token a line."""
        hashes = [(n, line) for n, line in enumerate(self._held, 1) if line.startswith("#")]
        if hashes and all(len(_split(line, tabs=False)) == 1 for _, line in hashes):
            number, line = hashes[0]
            self._set_layout(line, number)

    def _release(self) -> Iterator[Block]:
        held, self._held = self._held, []
        for line in held:
            yield from self._next(line)

    def _next(self, line: str) -> Iterator[Block]:
        self._number += 1
        self._lines.append(line)
        if not line.strip(_BLANK):
            yield self._block()
        elif self.layout is not None:
            self._take(line, self.layout)

    def _set_layout(self, line: str, number: int) -> None:
        """Find the columns from the first line that is surely a token's."""
        tabs = "\t" in line.rstrip(_BLANK)  # a tab at the end parts nothing
        self._layout_line = number
        self.layout = self._find_layout(_split(line, tabs), tabs)

    def _find_layout(self, columns: Sequence[str], tabs: bool) -> Layout:
        options = self.options
        width = len(columns)
        conllu = options.format == "conllu" or (
            options.format == "auto" and tabs and width == 10 and columns[0][:1].isdecimal()
        )
        if conllu and width != len(CONLLU_COLUMNS):
            raise self._error(f"expected the 10 columns of CoNLL-U, found {width}")
        token = options.token if options.token is not None else ("FORM" if conllu else 0)
        tag = options.tag if options.tag is not None else ("UPOS" if conllu else -1)
        return Layout(
            width=width,
            conllu=conllu,
            token=self._index(token, width, conllu, "token"),
            tag=self._index(tag, width, conllu, "tag") if options.with_tags else None,
            features=tuple(
                self._index(feature, width, conllu, "feature") for feature in options.features
            ),
            tabs=tabs,
        )

    def _index(self, column: Column, width: int, conllu: bool, role: str) -> int:
        if isinstance(column, str):
            if not conllu:
                raise self._error(
                    f"{role} column {column!r}: expected a number, as this is no CoNLL-U file"
                )
            if column.upper() not in CONLLU_COLUMNS:
                names = ", ".join(CONLLU_COLUMNS)
                raise self._error(f"{role} column {column!r}: expected one of {names}")
            return CONLLU_COLUMNS.index(column.upper())
        if not -width <= column < width:
            raise self._error(f"{role} column {column}: expected -{width} to {width - 1}, as the "
                              f"file has {width} columns")  # fmt: skip
        if role == "tag" and width == 1:
            raise self._error("expected a token and a tag on each line, found one column")
        return column % width

    def _take(self, line: str, layout: Layout) -> None:
        """Put the last line, which is not blank, where it belongs."""
        if layout.conllu and line.startswith("#"):
            return
        columns = _split(line, layout.tabs)
        if len(columns) != layout.width:
            if columns[0] == DOCSTART or (line.startswith("#") and not self._rows):
                return
            raise self._error(self._ragged(line, len(columns), layout))
        if columns[layout.token] == DOCSTART:
            return
        if layout.conllu and not columns[0].isdecimal():
            if columns[0].replace("-", "").replace(".", "").isdecimal():
                return
            raise self._error(
                f"expected a CoNLL-U ID such as 1, 1-2 or 1.1, found {shorten(columns[0])}"
            )
        if "" in columns:
            raise self._error(f"column {columns.index('') + 1} is empty: {shorten(line)}")
        self._rows.append((len(self._lines) - 1, columns))

    def _ragged(self, line: str, found: int, layout: Layout) -> str:
        width, first = layout.width, self._layout_line
        plural = "s" if width != 1 else ""
        return f"expected {width} column{plural} as on line {first}, found {found}: {shorten(line)}"

    def _block(self) -> Block:
        lines, rows = tuple(self._lines), self._rows
        first = self._number - len(lines) + 1
        self._lines, self._rows = [], []
        if not rows or self.layout is None:
            return Block(lines, (), None, first)
        layout = self.layout
        sentence = Sentence(
            words=tuple(columns[layout.token] for _, columns in rows),
            tags=None if layout.tag is None else tuple(columns[layout.tag] for _, columns in rows),
            features=tuple(
                tuple(columns[feature] for _, columns in rows) for feature in layout.features
            ),
        )
        return Block(lines, tuple(place for place, _ in rows), sentence, first)

    def _error(self, problem: str) -> FormatError:
        # Before any line is taken, it is the one that tells the columns.
        return FormatError(self.source, self._number or self._layout_line, problem)


def read_blocks(path: str, options: ColumnOptions, encoding: str) -> Iterator[Block]:
    """All blocks of a column file, or of standard input for '-'.

    Raises:
        DataError: the file cannot be read.
        FormatError: a line cannot be.
    """
    source = source_name(path)
    with open_bytes(path) as file:
        reader = ColumnReader(source, options)
        for lines in read_lines(file, source, encoding):
            yield from reader.feed(lines)
        yield from reader.close()


def read_sentences(path: str, options: ColumnOptions, encoding: str) -> list[Sentence]:
    """All sentences of a column file.

    Raises:
        DataError: the file cannot be read, or holds none.
        FormatError: a line cannot be read.
    """
    blocks = read_blocks(path, options, encoding)
    sentences = [block.sentence for block in blocks if block.sentence is not None]
    if not sentences:
        raise DataError(f"{source_name(path)}: holds no sentence")
    return sentences


def read_layout(path: str, options: ColumnOptions, encoding: str) -> Layout:
    """Where things are in the lines of a column file that holds a sentence."""
    source = source_name(path)
    with open_bytes(path) as file:
        reader = ColumnReader(source, options)
        for lines in read_lines(file, source, encoding):
            for _ in reader.feed(lines):
                pass
            if reader.layout:
                return reader.layout
    raise DataError(f"{source}: holds no sentence")


def append_column(block: Block, layout: Layout | None, values: Sequence[str]) -> Iterator[str]:
    """The block's lines with one more column: `values` on its tokens.

    Lines that have the file's columns and are no tokens (-DOCSTART-, multiword ranges) get a
    filler, so that all lines keep as many columns; comments and blank lines stay as they are.
    """
    value_of = dict(zip(block.rows, values, strict=True))
    for place, line in enumerate(block.lines):
        value = value_of.get(place)
        if value is None and layout is not None:
            value = _filler(line, layout)
        if value is None:
            yield line
            continue
        # \r is the line's end in files from Windows, not a part of the last column.
        body = line.rstrip(_BLANK)
        end = "\r" if line.endswith("\r") else ""
        separator = "\t" if layout is None or layout.tabs or layout.width == 1 else " "
        yield f"{body}{separator}{value}{end}"


def _filler(line: str, layout: Layout) -> str | None:
    if not line.strip(_BLANK) or (layout.conllu and line.startswith("#")):
        return None
    columns = _split(line, layout.tabs)
    if len(columns) != layout.width:
        return None
    return "O" if columns[layout.token] == DOCSTART else "_" if layout.conllu else None


def looks_like_columns(name: str, lines: Sequence[str]) -> bool:
    """Whether an input is a column file rather than raw text, by its name and its beginning.

    It is when it is named as one (.conll, .iob and the like), or when every line that is neither
    blank nor begins with # has the same number of columns, and either tabs part them or blank
    lines stand between groups of at least two such lines. Lines of equally many words without
    blank lines between them are text: requests, names, verse.
    """
    if name.lower().endswith(_NAMES):
        return True
    full = [line for line in lines if line.strip(_BLANK) and not line.startswith("#")]
    full = [line for line in full if not line.startswith(DOCSTART)]
    if not full:
        return False
    tabs = "\t" in full[0].rstrip(_BLANK)
    if len({len(_split(line, tabs)) for line in full}) != 1:
        return False
    stripped = [bool(line.strip(_BLANK)) for line in lines]
    in_groups = any(a and b for a, b in pairwise(stripped))
    # The blank line may be the one that ends the only sentence.
    return tabs or (in_groups and not all(stripped))


def _split(line: str, tabs: bool) -> list[str]:
    line = line.rstrip(_BLANK)
    if tabs:
        return [column.strip(_BLANK) for column in line.split("\t")]
    columns = line.replace("\t", " ").split(" ")
    return [column for column in columns if column] if "" in columns else columns
