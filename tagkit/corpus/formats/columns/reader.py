r"""Column files: one token a line, its columns separated by blanks or tabs, blank lines between.

    EU NNP B-NP B-ORG            the CoNLL shared tasks, 2000 to 2003
    rejects VBZ B-VP O

The layout is that of the CoNLL-2000 and CoNLL-2003 task pages (clips.uantwerpen.be/conll2003/ner).
CoNLL-U (universaldependencies.org) is the kind with ten columns that have names; multiword ranges
(1-2) and empty nodes (1.1) are lines, but no tokens.

Columns are separated by ASCII blanks and tabs alone: \x85, \xa0 and other Unicode spaces belong to
their token. A line that begins with # is a comment in CoNLL-U. Elsewhere it is a token when it has
as many columns as the file (hashtags of tweets), else a comment when it stands between sentences;
and where a line such as "# id 17" stands right before the first token, all that begin with # and a
blank before a sentence are comments. A line whose token is -DOCSTART- is no token wherever it
stands.

Of a table with a token a row (`tables/token_rows`) a block ends before the first row of another
sentence.

Nearly every block holds lines that are plain tokens alone, and is split at once. The lines of the
other ones are looked at one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from tagkit.corpus.formats.columns.grid import tags_before_words
from tagkit.corpus.formats.tables.token_rows import LOOKED_AT, find_rows
from tagkit.corpus.source.layout import (
    BLANK,
    CONLLU_COLUMNS,
    DOCSTART,
    ColumnOptions,
    Layout,
    NamedColumn,
    begins_document,
    find_layout,
    is_comment,
    is_conllu_id,
    is_docstart,
    is_whole,
    may_be_comment,
    split_line,
    values_of,
)
from tagkit.corpus.source.numbers import Vectors, numbers_of
from tagkit.errors import DataError, FileError, FormatError
from tagkit.text.records import Sentence, TagColumn, new_document, unmarked_document
from tagkit.wording import listed, plural, quoted

_OTHER_KEYS = 100  # number of keys that are kept for a message, roughly
_MAX_TAGS = 10_000  # tags that are kept, of a column that may hold lemmas
# Places of a block's tokens among its lines, and the cells of the columns that are wanted.
_Table = tuple[Sequence[int], Mapping[int, Sequence[str]]]
# What the fast way for CoNLL-U cannot read: empty cells, blanks at the edges of cells or lines.
_ODD_IN_CONLLU = ("\r", "\t\t", " \t", "\t ", "\n ", "\n\t", " \n", "\t\n", DOCSTART)


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that belong together: a sentence with its comments, or lines between sentences.

    Every line of a file is in one block, so that a file can be written back with all its lines.

    Attributes:
        lines: as they were read, without their line feeds.
        rows: which of them are the sentence's tokens.
        sentence: None where there is none.
        first_line: number of the first of them in the file, from 1.
    """

    lines: tuple[str, ...]
    rows: Sequence[int]
    sentence: Sentence | None
    first_line: int

    def __init__(
        self,
        lines: tuple[str, ...],
        rows: Sequence[int],
        sentence: Sentence | None,
        first_line: int,
    ) -> None:
        """The fields, in their order; written out for the same reason as those of `Sentence`."""
        _set_lines(self, lines)
        _set_rows(self, rows)
        _set_sentence(self, sentence)
        _set_first_line(self, first_line)


_set_lines, _set_rows, _set_sentence, _set_first_line = (
    getattr(LineBlock, each.name).__set__ for each in fields(LineBlock)
)


class ColumnReader:
    """Turns lines into blocks, fed with as many lines at a time as there are."""

    def __init__(
        self,
        source: str,
        options: ColumnOptions,
        on_error: Callable[[FormatError], None] | None = None,
    ) -> None:
        """`source` names the file in messages.

        `on_error` is given each line that cannot be read, which is then skipped; for None the
        first such line is raised.
        """
        self.source = source
        self.options = options
        self.on_error = on_error
        self.layout: Layout | None = None
        self._wanted: tuple[int, ...] = ()  # of the columns, by index: few of CoNLL-U's ten
        self._layout_line = 0  # number of the line that the layout was taken from, for messages
        self._held: list[str] = []  # lines before the first one that shows the columns
        self._lines: list[str] = []  # of the block that has begun
        self._number = 0  # of lines in blocks that are done
        # Keys of the tag columns that no token has had so far, each with the others of its column.
        self._missing_keys: dict[tuple[int, str], dict[str, None]] = {}
        self._document = unmarked_document()  # of the next sentence
        self._tags = _OneStringEach()
        self._sentence: tuple[str, ...] = ()  # of the last row of a table, as its ids say
        self._counted = 0  # the last row's number in its sentence

    def feed(self, lines: Iterable[str]) -> Iterator[LineBlock]:
        """Blocks that these lines complete.

        Raises:
            FormatError: a line without the file's columns, or a column that is not there.
        """
        if self.options.rows:
            yield from self._feed_rows(lines, at_end=False)
            return
        if self.layout is None:
            lines = self._find_layout(lines)
        # A local name: this loop runs once a line, and an attribute look-up costs a tenth of it.
        begun = self._lines
        for line in lines:
            begun.append(line)
            # Most lines are tokens, and this is all that is done for each of them alone. What is
            # below "!" is empty, or begins with a blank or a control character.
            if line < "!" and not line.strip(BLANK):
                yield self._block()

    def blocks(self, pieces: Iterable[Iterable[str]]) -> Iterator[LineBlock]:
        """All blocks of a file, given its lines in any pieces.

        Raises:
            DataError: the file cannot be read.
            FormatError: a line cannot be, and there is no `on_error` to report to.
        """
        for lines in pieces:
            yield from self.feed(lines)
        yield from self.close()

    def close(self) -> Iterator[LineBlock]:
        """The last block, which often lacks its blank line."""
        if self.options.rows:
            yield from self._feed_rows((), at_end=True)
        elif self.layout is None:
            self._look_at_hashes()
            held, self._held = self._held, []
            yield from self._blocks_without_layout(held) if self.layout is None else self.feed(held)
        if self._lines:
            yield self._block()

    def require_keys(self, only: NamedColumn | None = None) -> None:
        """Make sure, at the end of a file, that each key of a tag column was there for some token.

        Args:
            only: the column to look at; None for all.

        Raises:
            DataError: one was not, so that each tag is the one of a token without it.
        """
        for (column, key), others in self._missing_keys.items():
            if only is not None and (column, key) != (only.index, only.key):
                continue
            name = CONLLU_COLUMNS[column]
            found = f"the keys {listed(list(others), 5)}" if others else "no key"
            raise DataError(
                f"{self.source}: no token has the key {key} in the column {name}, which "
                f"data.tag_column={name}.{key} names; found {found}"
            )

    def _look_for_keys(self, columns: Mapping[int, Sequence[str]]) -> None:
        """Cross off the keys that these tokens have."""
        for (column, key), others in tuple(self._missing_keys.items()):
            pairs = "|".join(columns[column]).split("|")
            found = dict.fromkeys(pair.partition("=")[0] for pair in pairs if "=" in pair)
            if key in found:
                del self._missing_keys[column, key]
            elif len(others) < _OTHER_KEYS:
                others.update(found)

    def _find_layout(self, lines: Iterable[str]) -> Iterator[str]:
        """All lines, once the file's columns are known: only then is known what a # means."""
        options = self.options
        if not options.conllu and options.token is None and options.tag is None:
            lines = [*lines]
            if found := tags_before_words([*self._held, *lines]):
                self.options = replace(options, token=found[0], tag=found[1])
        for line in lines:
            if self.layout is not None:
                yield line
                continue
            self._held.append(line)
            # A line that cannot be a comment; what stood before it is read now.
            if line.strip(BLANK) and not line.startswith("#") and not is_docstart(line):
                self._set_layout(line, len(self._held))
                held, self._held = self._held, []
                # Not those of the file, which a blank line parts from its first sentence.
                assert self.layout is not None
                if held[:-1] and is_comment(held[-2], self.layout):
                    self.layout = replace(self.layout, comments=not self.layout.conllu)
                yield from held

    def _feed_rows(self, lines: Iterable[str], *, at_end: bool) -> Iterator[LineBlock]:
        """Blocks of a table that these lines complete; raises what `feed` does."""
        self._held += lines
        if self.layout is None:
            rows = find_rows(self._held, is_chosen=True)
            first = next((n for n, line in enumerate(self._held) if line.strip(BLANK)), None)
            if rows is None or first is None:
                if first is not None and (at_end or len(self._held) >= LOOKED_AT):
                    problem = "expected a table with a token a row, its tag, and the id of its "
                    problem += f"sentence, found {quoted(self._held[first])}"
                    raise FileError(self.source, first + 1, problem)
                return
            line = self._held[first]
            self._layout_line = first + 1
            self.layout = find_layout(line, self.source, first + 1, self.options, rows)
            self._wanted = self.layout.wanted
        held, self._held = self._held, []
        for line in held:
            is_blank, begins = self._begins(line, self.layout)
            if begins and self._lines:
                yield self._block()
            self._lines.append(line)
            if is_blank:
                yield self._block()

    def _begins(self, line: str, layout: Layout) -> tuple[bool, bool]:
        """Whether a line of a table has no cell, and whether it is the first row of a sentence."""
        rows = layout.rows
        try:
            cells = layout.cells(line)
        except ValueError:  # it is refused with its block
            return False, False
        if rows is None or not any(cells) or tuple(cells) == rows.names:
            self._counted = 0
            return True, rows is not None and any(cells)
        if len(cells) != rows.width:
            return False, False
        before, counted = self._sentence or ("",) * len(rows.ids), self._counted
        # An id stands in each row of its sentence, or in the first one alone.
        self._sentence = tuple(cells[i] or old for i, old in zip(rows.ids, before, strict=True))
        if rows.ids or rows.counter is None:
            return False, self._sentence != before
        number = cells[rows.counter]
        self._counted = int(number) if is_whole(number) else counted + 1
        return False, self._counted <= counted

    def _look_at_hashes(self) -> None:
        """Settle what a file of nothing but lines with # holds: comments, or tokens.

        They are tokens where each is one word, or where all of them have as many columns between
        tabs.
        """
        hashes = [(n, line) for n, line in enumerate(self._held, 1) if line.startswith("#")]
        if not hashes:
            return
        tabs = all("\t" in line.rstrip(BLANK) for _, line in hashes)
        widths = {len(split_line(line, tabs)) for _, line in hashes}
        if len(widths) == 1 and (tabs or widths == {1}):
            number, line = hashes[0]
            self._set_layout(line, number)

    def _blocks_without_layout(self, lines: list[str]) -> Iterator[LineBlock]:
        """A file without a token: nothing but blank lines and comments."""
        for line in lines:
            self._lines.append(line)
            if not line.strip(BLANK):
                yield self._block()

    def _set_layout(self, line: str, number: int) -> None:
        self._layout_line = number
        self.layout = find_layout(line, self.source, number, self.options)
        self._wanted = self.layout.wanted
        self._missing_keys = {place: {} for place in self.layout.tag_keys}

    def _block(self) -> LineBlock:
        """The lines that have gathered, as a block."""
        lines = tuple(self._lines)
        self._lines.clear()
        first = self._number + 1
        self._number += len(lines)
        layout = self.layout
        if layout is None:
            return LineBlock(lines, (), None, first)
        regular = _regular_conllu if layout.conllu else _regular_columns
        table = None if layout.rows else regular(lines, layout, self._wanted)
        if (layout.conllu or table is None) and begins_document(lines, layout):
            self._document = new_document()
        if table and layout.vectors and _vectors_of(table[1], layout) is None:
            table = None  # the line with something else is named
        rows, columns = table or self._looked_at(lines, first, layout)
        vectors = _vectors_of(columns, layout) if rows else None
        if vectors is None:
            return LineBlock(lines, (), None, first)
        numbers: Sequence[int] = range(first + rows[0], first + rows[-1] + 1)
        if len(numbers) != len(rows):  # other lines stand between its tokens
            numbers = [first + place for place in rows]
        if self._missing_keys:  # in nearly every file until the first sentence alone
            self._look_for_keys(columns)
        sentence = Sentence(
            words=tuple(columns[layout.token]),
            tags=self._tags_of(columns, layout),
            features=_features_of(columns, layout) if layout.features else (),
            lines=numbers,
            columns=_columns_of(columns, layout) if layout.columns else (),
            document=self._document,
            vectors=vectors,
        )
        return LineBlock(lines, rows, sentence, first)

    def _tags_of(
        self, columns: Mapping[int, Sequence[str]], layout: Layout
    ) -> tuple[str, ...] | None:
        """The tags, of which equal ones are one string: to count them takes less time then."""
        if layout.tag is None:
            return None
        tags = values_of(columns[layout.tag], layout.tag, layout.tag_key)
        if len(self._tags) > _MAX_TAGS:
            self._tags.clear()
        return tuple(map(self._tags.__getitem__, tags))

    def _looked_at(self, lines: Sequence[str], first: int, layout: Layout) -> _Table:
        found = list(self._tokens(lines, first, layout))
        columns = dict(enumerate(zip(*(cells for _, cells in found), strict=True)))
        return tuple(place for place, _ in found), columns

    def _tokens(
        self, lines: Sequence[str], first: int, layout: Layout
    ) -> Iterator[tuple[int, list[str]]]:
        """Place and columns of each token of a block, line by line."""
        in_sentence = False
        for place, line in enumerate(lines):
            if not line.strip(BLANK):
                continue
            try:
                columns = layout.cells(line)
                problem = _problem(line, columns, in_sentence, layout, self._layout_line)
            except ValueError as odd:  # a quote that is not closed
                columns, problem = [], str(odd)
            if problem is None:
                in_sentence = True
                yield place, columns
            elif problem:
                error = FormatError(self.source, first + place, problem)
                if self.on_error is None:
                    raise error
                self.on_error(error)


def _features_of(
    columns: Mapping[int, Sequence[str]], layout: Layout
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        values_of(columns[column], column, key)
        for column, key in zip(layout.features, layout.feature_keys, strict=True)
    )


def _vectors_of(columns: Mapping[int, Sequence[str]], layout: Layout) -> Vectors | None:
    """The numbers of each column; None where a cell holds something else."""
    try:
        return tuple(
            tuple(map(numbers_of, values_of(columns[column], column, key)))
            for column, key in layout.vectors
        )
    except ValueError:
        return None


def _columns_of(columns: Mapping[int, Sequence[str]], layout: Layout) -> tuple[TagColumn, ...]:
    return tuple(
        TagColumn(named.name, named.values(columns[named.index])) for named in layout.columns
    )


class _OneStringEach(dict[str, str]):
    """Each string, or the equal one that was asked for before."""

    def __missing__(self, string: str) -> str:
        """The first of its kind."""
        return self.setdefault(string, string)


def _regular_columns(lines: Sequence[str], layout: Layout, wanted: Iterable[int]) -> _Table | None:
    """The tokens of a block whose lines are all plain tokens; None where each needs a look.

    No line is looked at by itself. The whole block is split at every separator, with line ends as
    cells of their own; it is regular exactly where each line end stands in its place and no cell is
    empty. That takes a fraction of the time of splitting line by line, as it runs in C.
    """
    if layout.comments and may_be_comment(lines[0]):
        return None
    count = _filled(lines)
    separator, foreign = ("\t", " ") if layout.tabs else (" ", "\t")
    # a b and c d -> "a b \n c d" -> a, b, \n, c, d: with two columns each third cell is a line end.
    end = f"{separator}\n"
    text = f"{end}{separator}".join(lines[:count])
    if "\r" in text:  # a file from Windows; a \r that is left is inside a line
        text = text.removesuffix("\r").replace(f"\r{end}", end)
    # An empty cell has a separator or an edge on both sides. Looking for these in the text takes a
    # fraction of the time of comparing all cells.
    if foreign in text or "\r" in text or 2 * separator in text or _has_edge(text, separator):
        return None
    cells = text.split(separator)
    step = layout.width + 1
    if len(cells) != count * step - 1 or cells[layout.width :: step].count("\n") != count - 1:
        return None
    if DOCSTART in text and DOCSTART in cells[layout.token :: step]:
        return None
    return range(count), {column: tuple(cells[column::step]) for column in wanted}


def _has_edge(text: str, separator: str) -> bool:
    """Whether a block is empty, or begins or ends with an empty cell."""
    return not text or text[0] == separator or text[-1] == separator


def _regular_conllu(lines: Sequence[str], layout: Layout, wanted: Sequence[int]) -> _Table | None:
    """The tokens of a block of CoNLL-U whose lines hold nothing odd; None where each needs a look.

    Ten columns a line are many, and few of them are wanted: lines are split no further than these.
    """
    start, end = 0, _filled(lines)
    while start < end and lines[start].startswith("#"):  # sent_id, text and the like
        start += 1
    body = lines[start:end]
    text = "\n".join(["", *body, ""])
    # Empty cells, blanks at the edges of cells and lines: rare enough to be left to the slow way.
    if any(odd in text for odd in _ODD_IN_CONLLU):
        return None
    # Lines of one width; a list comparison, as all() with a generator is slower than splitting.
    if [line.count("\t") for line in body] != [layout.width - 1] * len(body):
        return None
    last = max(wanted) + 1
    found = [line.split("\t", last) for line in body]
    rows: Sequence[int] = range(start, end)
    ids = [cells[0] for cells in found]
    joined = "".join(ids)  # one look at all IDs in place of one at each
    if not (joined.isdecimal() and joined.isascii() and max(map(len, ids)) < 10):
        # Ranges and empty nodes, or what is no ID.
        if not all(is_conllu_id(cells[0]) for cells in found):
            return None
        rows = tuple(
            place for place, cells in zip(rows, found, strict=True) if cells[0].isdecimal()
        )
        found = [cells for cells in found if cells[0].isdecimal()]
    return rows, {column: tuple([cells[column] for cells in found]) for column in wanted}


def _filled(lines: Sequence[str]) -> int:
    """Number of lines up to the last that is not blank."""
    end = len(lines)
    while end and not lines[end - 1].strip(BLANK):
        end -= 1
    return end


def _problem(
    line: str, columns: list[str], in_sentence: bool, layout: Layout, layout_line: int
) -> str | None:
    """Why a line that is not blank cannot be read; '' where it is no token, None where it is."""
    if layout.conllu and line.startswith("#"):
        return ""
    if layout.rows and (not any(columns) or tuple(columns) == layout.rows.names):
        return ""
    if layout.comments and not in_sentence and may_be_comment(line):
        return ""
    if len(columns) != layout.width:
        # In the CoNLL files -DOCSTART- often has fewer columns than the tokens.
        if columns[0] == DOCSTART or (line.startswith("#") and not in_sentence):
            return ""
        expected = plural(layout.width, "column")
        if layout.tabs and "\t" not in line and len(split_line(line, tabs=False)) == layout.width:
            return (
                f"expected {expected} with tabs between them as on line {layout_line}, found "
                f"blanks: {quoted(line)}"
            )
        return f"expected {expected} as on line {layout_line}, found {len(columns)}: {quoted(line)}"
    if columns[layout.token] == DOCSTART:
        return ""
    if layout.conllu and not is_whole(columns[0]):
        if is_conllu_id(columns[0]):
            return ""
        return f"expected a CoNLL-U ID such as 1, 1-2 or 1.1, found {quoted(columns[0])}"
    try:
        _ = [numbers_of(*values_of([columns[at]], at, key)) for at, key in layout.vectors]
    except ValueError as error:
        return f"{error}: {quoted(line)}"
    if layout.rows:  # whose other cells may be empty
        read = {layout.token, *(() if layout.tag is None else (layout.tag,))}
        empty = next((each for each in sorted(read) if not columns[each]), None)
        return None if empty is None else f"column {empty} is empty: {quoted(line)}"
    if "" in columns:
        return f"column {columns.index('')} is empty: {quoted(line)}"
    return None
