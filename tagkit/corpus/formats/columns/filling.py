"""Values -> columns of the lines that were read; every other character of the lines stays.

Filling a column with the values that it has gives the same lines. So a file that is filled differs
from its source in the named columns alone: comments, multiword ranges, empty nodes, line ends and
white space around cells are copied.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tagkit.config import Column
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import (
    BLANK,
    CONLLU_COLUMNS,
    KEYED,
    Layout,
    find_column,
    is_cell,
    raw_cells,
    split_row,
    value_of,
    with_value,
)
from tagkit.errors import FormatError
from tagkit.wording import quoted

_BLANKS = re.compile(r"([ \t]+)")


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Values for one column of a block, one a token.

    Attributes:
        column: index from 0.
        key: of the pairs in the column that gets the values; empty for the whole cell.
        values: one a token, in order. For a key, the value that stands for its absence ("_" in
            FEATS, O in MISC) removes the pair.
    """

    column: int
    key: str
    values: Sequence[str]


def fill_columns(
    block: LineBlock, layout: Layout, values: Mapping[Column, Sequence[str]], source: str
) -> Iterator[str]:
    """The lines of a block with values in some columns of its tokens.

    Args:
        block: a sentence, or lines between sentences, which stay as they are.
        layout: of the file.
        values: by column, one a token: {"UPOS": ["NOUN"], "FEATS": ["_"], "MISC.NER": ["B-LOC"]}
            for CoNLL-U, {2: ["B-LOC"]} for other column files.
        source: names the file in messages.

    Raises:
        FormatError: there is no such column, or it cannot hold a value.
    """
    columns = []
    for named, cells in values.items():
        try:
            header = layout.rows.names if layout.rows else ()
            index, key = find_column(named, layout.width, layout.conllu, "predicted", header)
        except ValueError as error:
            raise FormatError(source, block.first_line, str(error)) from None
        bad = next((cell for cell in dict.fromkeys(cells) if not _fits(cell, key, layout)), None)
        if bad is not None:
            line = block.first_line + block.rows[list(cells).index(bad)]
            raise FormatError(source, line, f"the column {named} cannot hold {quoted(bad)}")
        columns.append(ColumnValues(index, key, cells))
    return filled(block, layout, columns)


def _fits(value: str, key: str, layout: Layout) -> bool:
    # A bar separates the pairs of a column with keys; a blank separates columns without tabs.
    return is_cell(value) and not (key and "|" in value) and (layout.tabs or " " not in value)


def filled(block: LineBlock, layout: Layout, columns: Iterable[ColumnValues]) -> Iterator[str]:
    """The lines of a block with values in some columns of its tokens, which must be fit for them.

    Args:
        block: a sentence, or lines between sentences.
        layout: of the file.
        columns: one or more values for each token.
    """
    places = [(each.column, each.key) for each in columns]
    rows = zip(*(each.values for each in columns), strict=True)
    cells_of = dict(zip(block.rows, rows, strict=True)) if places else {}
    for place, line in enumerate(block.lines):
        cells = cells_of.get(place)
        yield line if cells is None else _filled_line(line, layout, places, cells)


def _filled_line(
    line: str, layout: Layout, places: Sequence[tuple[int, str]], values: Sequence[str]
) -> str:
    body, tabs = line.rstrip(BLANK), layout.tabs
    if layout.rows and layout.separator != " ":
        cells = raw_cells(line, layout.separator)
        for (column, _), value in zip(places, values, strict=True):
            if split_row(cells[column], layout.separator) != [value]:
                cells[column] = layout.cell(value)
        return layout.separator.join(cells) + "\r" * line.endswith("\r")
    # Between tabs a cell may hold blanks; without tabs a run of blanks is one separator, which is
    # kept as a part of its own, so that cells have even indices.
    parts = body.split("\t") if tabs else _BLANKS.split(body)
    first = 0 if tabs or parts[0] else 2  # blanks at the beginning of a line separate nothing
    for (column, key), value in zip(places, values, strict=True):
        at = column if tabs else first + 2 * column
        # Blanks around a cell between tabs belong to the layout of the file, not to the value.
        cell = parts[at].strip(BLANK)
        if key:
            absent = KEYED[CONLLU_COLUMNS[column]]
            # A cell that says the same stays: NER=O says what a cell without the key says.
            if value_of(cell, key, absent) == value:
                continue
            value = with_value(cell, key, None if value == absent else value)
        start = len(parts[at]) - len(parts[at].lstrip(BLANK))
        parts[at] = f"{parts[at][:start]}{value}{parts[at][start + len(cell) :]}"
    return ("\t" if tabs else "").join(parts) + line[len(body) :]
