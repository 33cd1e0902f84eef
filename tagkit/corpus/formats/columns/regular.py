"""Blocks of lines that are all plain tokens, split at once: what nearly every block is."""

from collections.abc import Iterable, Mapping, Sequence

from tagkit.corpus.source.layout import (
    BLANK,
    DOCSTART,
    Layout,
    is_conllu_id,
    may_be_comment,
)

# Places of a block's tokens among its lines, and the cells of the columns that are wanted.
Table = tuple[Sequence[int], Mapping[int, Sequence[str]]]

# What the fast way for CoNLL-U cannot read: empty cells, blanks at the edges of cells or lines.
_ODD_IN_CONLLU = ("\r", "\t\t", " \t", "\t ", "\n ", "\n\t", " \n", "\t\n", DOCSTART)


def regular_columns(lines: Sequence[str], layout: Layout, wanted: Iterable[int]) -> Table | None:
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


def regular_conllu(lines: Sequence[str], layout: Layout, wanted: Sequence[int]) -> Table | None:
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
