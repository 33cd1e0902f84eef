"""Tags -> column files: put into existing lines, or written as new ones."""

from collections.abc import Iterable, Iterator, Sequence

from tagkit.corpus.formats.columns.filling import ColumnValues, filled
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import (
    BLANK,
    DOCSTART,
    PREDICTED,
    Layout,
    ends_as_comment,
    is_cell,
    may_be_comment,
    split_line,
)
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold
from tagkit.text.documents import begins_marked
from tagkit.text.records import Sentence
from tagkit.wording import plural, quoted


def append_column(
    block: LineBlock,
    layout: Layout | None,
    values: Sequence[str],
    names: Sequence[str] = (PREDICTED,),
) -> Iterator[str]:
    """The block's lines with one more column: `values` on its tokens, `names` in a header.

    Lines that have the file's columns and are no tokens (-DOCSTART-, multiword ranges) get a
    filler, so that all lines have as many columns; comments and blank lines stay as they are.
    conlleval and most readers refuse lines of different widths.
    """
    value_of = dict(zip(block.rows, values, strict=True))
    for place, line in enumerate(block.lines):
        value = value_of.get(place)
        if value is None and layout is not None:
            value = _filler(line, layout, names)
        if value is None:
            yield line
            continue
        # \r is the line's end in files from Windows, not a part of the last column.
        body = line.rstrip("\r" if layout and layout.rows else BLANK)
        end = "\r" if line.endswith("\r") else ""
        separator = "\t" if layout is None or layout.width == 1 else layout.separator
        yield f"{body}{separator}{value}{end}"


# O is a tag of every scheme, and "_" is how CoNLL-U marks an empty cell.
def _filler(line: str, layout: Layout, names: Sequence[str]) -> str | None:
    if layout.rows and line.strip(BLANK):
        if layout.rows.names and tuple(layout.cells(line)) == layout.rows.names:
            return layout.separator.join(names)
        return layout.separator * (len(names) - 1)  # a row without a token
    if not line.strip(BLANK) or (layout.conllu and line.startswith("#")):
        return None
    columns = split_line(line, layout.tabs)
    if len(columns) != layout.width:
        return None
    return "O" if columns[layout.token] == DOCSTART else "_" if layout.conllu else None


def replace_tags(block: LineBlock, layout: Layout, tags: Sequence[str]) -> Iterator[str]:
    """The block's lines with other tags on its tokens; all else stays as it is."""
    if layout.tag is None or not block.rows:
        return iter(block.lines)
    return filled(block, layout, [ColumnValues(layout.tag, layout.tag_key, tags)])


def write_columns(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """A line a token, with tabs between word, features and tag; a blank line after a sentence.

    Where the source marks that a document begins, so does a line, as in CoNLL-2003.
    """
    first: Sentence | None = None
    before: Sentence | None = None
    for item in items:
        first = first or item
        if item.labels:
            writing.note("columns have no place for the class of a sentence: classes are left out")
        # The tag comes last, where CRF++, conlleval and tagkit itself look for it by default.
        columns = [item.words, *item.features, *([item.tags] if item.tags else [])]
        # Features of one sentence and tags of another would be the same column.
        if (item.tags is None) != (first.tags is None):
            raise cannot_hold(item, "columns", "tags in some sentences alone")
        if len(item.features) != len(first.features):
            found = f"{plural(len(item.features), 'feature column')}"
            what = f"{found} after sentences that have {len(first.features)}"
            raise cannot_hold(item, "columns", what)
        for cells in columns:
            for cell in cells:
                _check(item, cell, len(columns))
        # Before the first token of a file such a line shows that sentences have comments.
        line = "\t".join(cells[0] for cells in columns)
        if item is first and may_be_comment(line) and ends_as_comment(columns[-1][0]):
            raise cannot_hold(item, "columns", f"{quoted(line)} as its first token: a comment")
        rows = ("\t".join(cells) for cells in zip(*columns, strict=True))
        mark = ""
        if begins_marked(item, before):
            mark = "\t".join(
                [DOCSTART, *("-X-" for _ in item.features), *(["O"] if item.tags else [])]
            )
            mark += "\n\n"
        before = item
        yield OutputPiece("", mark + "".join(f"{row}\n" for row in rows) + "\n")


def _check(item: Sentence, cell: str, width: int) -> None:
    if not is_cell(cell):
        what = f"a cell such as {quoted(cell)}: tabs separate columns, line ends separate tokens"
        raise cannot_hold(item, "columns", what)
    # Without a tab in the line a blank would separate columns.
    if width == 1 and " " in cell:
        raise cannot_hold(
            item, "columns", f"a word with a blank ({quoted(cell)}) without a tag beside it"
        )
    if cell == DOCSTART:  # read again, the line would be no token
        raise cannot_hold(item, "columns", f"{DOCSTART} as a word")
