"""The layout of a column file: its width, its separator, the roles of its columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from tagkit.config import Column, DataConfig
from tagkit.errors import DataError, FileError
from tagkit.wording import plural, quoted

CONLLU = "conllu"  # name of the format whose columns have names
TOKEN_ROWS = "token-rows"  # that of tables with a token a row
PREDICTED = "predicted"  # name of the column that a table with a header gets
TAG = "UPOS"  # of CoNLL-U, where no column of tags is named
CONLLU_COLUMNS = (
    "ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC",
)  # fmt: skip
# CoNLL-2003 puts a line with this token between documents. It is no word of any text.
DOCSTART = "-DOCSTART-"
_NEWDOC = re.compile(r"#\s*newdoc\b")  # the comment that begins a document of CoNLL-U
# What str.strip takes by itself is more: \x85, \xa0 and \u3000 occur inside tokens of tweets.
BLANK = " \t\r"
_PROBABILITY = re.compile(r"[01]\.[0-9]{4}")  # as predictions are written with them
_ID_OR_VALUE = re.compile(r"[0-9=]")  # in the last cell of a comment: "# id 17", "domain=en"
# Bounded, as int() of a million digits takes minutes.
_ID = re.compile(r"[0-9]{1,9}(?:[-.][0-9]{1,9})?")
# Columns of CoNLL-U that hold Key=Value pairs, and what a word without the key has: no value of a
# feature ("_"), and O of what MISC holds, as tags of spans are written there.
KEYED = {"FEATS": "_", "MISC": "O"}
# Columns of CoNLL-U whose values are no tags: they are never those of spans.
NO_TAGS = ("LEMMA", "FEATS")


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """Which columns to read, as a configuration or a command names them.

    Attributes:
        conllu: whether the file is CoNLL-U. That is recognised with the format, not here.
        token: index from 0, or from -1 at the end, or a CoNLL-U name; None for FORM or 0.
        tag: likewise, or FEATS.Key or MISC.Key for the value of one key; None for UPOS or the
            last, or the last but one where the last holds probabilities. Not looked at where tags
            are not wanted.
        features: likewise; None for all columns that are neither token nor tag, but none of
            CoNLL-U.
        with_tags: whether tags are wanted.
        tags: every tag column where several are read, the first of which is `tag`; else empty.
        rows: whether the file is a table with a token a row, likewise.
        predicted: whether of a table with tags beside predicted ones these are wanted.
        vectors: columns of numbers.
    """

    conllu: bool
    token: Column | None
    tag: Column | None
    features: tuple[Column, ...] | None
    with_tags: bool
    tags: tuple[Column, ...] = ()
    rows: bool = False
    predicted: bool = False
    vectors: tuple[Column, ...] = ()


def column_options(data: DataConfig, *, with_tags: bool) -> ColumnOptions:
    """The configuration's options of how columns are read."""
    return ColumnOptions(
        conllu=data.format == CONLLU,
        token=data.token_column,
        tag=data.first_tag_column,
        features=data.feature_columns,
        with_tags=with_tags,
        tags=data.tag_columns,
        rows=data.format == TOKEN_ROWS,
        vectors=data.vector_columns,
    )


@dataclass(frozen=True, slots=True)
class RowLayout:
    """What the columns of a table with a token a row are.

    Attributes:
        separator: of its cells: a comma, a semicolon, a tab or blanks.
        width: number of columns.
        names: that its header gives them; empty without one.
        token: index of the column with the tokens.
        tag: of that with their tags; None where there is none.
        ids: of those that say which sentence a row is of, in each row or in its first one.
        counter: of that which numbers the tokens of each sentence; None where there is none.
    """

    separator: str
    width: int
    names: tuple[str, ...]
    token: int
    tag: int | None
    ids: tuple[int, ...]
    counter: int | None

    @property
    def predicted(self) -> int | None:
        """The last column with predicted tags, as tagkit adds them; None without one."""
        return max((i for i, name in enumerate(self.names) if name == PREDICTED), default=None)

    @property
    def others(self) -> frozenset[int]:
        """The columns that are no features of a token."""
        return frozenset(each for each in (*self.ids, self.counter) if each is not None)


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """One of several tag columns.

    Attributes:
        name: as the configuration has it.
        index: from 0.
        key: of the pair in it whose value is wanted; empty for the whole cell.
    """

    name: str
    index: int
    key: str

    def values(self, cells: Sequence[str]) -> tuple[str, ...]:
        """What the cells say: themselves, or the value of the key."""
        return values_of(cells, self.index, self.key)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in the lines of one file.

    Attributes:
        width: number of columns.
        conllu: whether the file is CoNLL-U.
        token: index of the token's column.
        tag: index of the tag's column; None where tags are not wanted.
        features: indices of the feature columns.
        tabs: whether columns are separated by tabs.
        tag_key: of the pair in the tag's column whose value is the tag; empty for the whole cell.
        feature_keys: likewise, one for each of `features`; two may be of one column.
        columns: every tag column where several are read, the first of which is `tag`; else empty.
        comments: whether a line with # and a blank before a sentence is a comment, also where it
            has as many columns as a token.
        rows: what its columns are, of a table with a token a row.
        vectors: place of each column of numbers, and the key as `tag_key`.
    """

    width: int
    conllu: bool
    token: int
    tag: int | None
    features: tuple[int, ...]
    tabs: bool
    tag_key: str = ""
    feature_keys: tuple[str, ...] = ()
    columns: tuple[NamedColumn, ...] = ()
    comments: bool = False
    rows: RowLayout | None = None
    vectors: tuple[tuple[int, str], ...] = ()

    @property
    def separator(self) -> str:
        """What stands between two cells of a line."""
        return self.rows.separator if self.rows else "\t" if self.tabs else " "

    def cells(self, line: str) -> list[str]:
        """The columns of a line.

        Raises:
            ValueError: a quote in it is not closed.
        """
        return split_row(line, self.rows.separator) if self.rows else split_line(line, self.tabs)

    def cell(self, value: str) -> str:
        """A value as it stands in a line."""
        return row_cell(value, self.rows.separator) if self.rows else value

    @property
    def wanted(self) -> tuple[int, ...]:
        """Indices of the columns that are read."""
        tag = () if self.tag is None else (self.tag,)
        several = (column.index for column in self.columns)
        others = (*self.features, *(column for column, _ in self.vectors))
        return tuple({0: 0, self.token: 0, **dict.fromkeys((*tag, *several, *others), 0)})

    @property
    def tag_keys(self) -> tuple[tuple[int, str], ...]:
        """Column and key of each tag column that is the value of a key."""
        places = [(self.tag, self.tag_key), *((each.index, each.key) for each in self.columns)]
        return tuple((column, key) for column, key in places if column is not None and key)


def values_of(cells: Sequence[str], column: int, key: str) -> tuple[str, ...]:
    """What the cells of a column say: themselves, or the value of a key of CoNLL-U."""
    if not key:
        return tuple(cells)
    absent = KEYED[CONLLU_COLUMNS[column]]
    return tuple(value_of(cell, key, absent) for cell in cells)


def value_of(cell: str, key: str, absent: str) -> str:
    """The value of one key in 'A=1|B=2'."""
    # With the sign, as NER= must not find the pair NERType=x.
    start = f"{key}="
    pairs = (pair for pair in cell.split("|") if pair.startswith(start))
    return next(pairs, "").removeprefix(start) or absent


def with_value(cell: str, key: str, value: str | None) -> str:
    """The cell with another value for one key, or without the key for None; '_' of nothing."""
    pairs = [pair for pair in cell.split("|") if pair != "_"]
    found = [at for at, pair in enumerate(pairs) if pair.startswith(f"{key}=")]
    if found and value is not None:
        pairs[found[0]] = f"{key}={value}"  # where it was: a new order would be another cell
    elif value is not None:
        pairs.append(f"{key}={value}")
    dropped = {*found[1:]} if value is not None else {*found}
    return "|".join(pair for at, pair in enumerate(pairs) if at not in dropped) or "_"


def find_layout(
    line: str, source: str, number: int, options: ColumnOptions, rows: RowLayout | None = None
) -> Layout:
    """The layout of a file, from the first line that is surely a token's.

    Args:
        line: that line; of a table its first one.
        source: name of the file in messages.
        number: of the line.
        options: which columns to read.
        rows: what the columns are, of a table with a token a row.

    Raises:
        FormatError: the file does not have the columns that the options name.
    """
    # One tab between cells settles it: cells of a file with tabs may hold blanks ("New York"). A
    # tab at the end separates nothing.
    tabs = "\t" in line.rstrip(BLANK)
    columns = split_row(line, rows.separator) if rows else split_line(line, tabs)
    width = len(columns)
    conllu = options.conllu
    names = rows.names if rows else ()
    try:
        if conllu and width != len(CONLLU_COLUMNS):
            raise ValueError(f"expected the 10 columns of CoNLL-U, found {width}")
        tag_columns = _tag_columns(options, width, names) if options.with_tags else ()
        # CoNLL-2000 to 2003 have the word first and the tag last; of CoNLL-U, UPOS is usual.
        usual_token, usual_tag = ("FORM", TAG) if conllu else (0, -1)
        if ends_with_probability(columns):
            usual_tag = -2
        if rows:
            usual_token, usual_tag = rows.token, _tag_of_rows(rows, options)
        token = options.token if options.token is not None else usual_token
        tag = options.tag if options.tag is not None else usual_tag
        named = [(token, "token")]
        named += [(tag, "tag")] if options.with_tags else []
        named += [(feature, "feature") for feature in options.features or ()]
        found = [find_column(column, width, conllu, role, names) for column, role in named]
        vectors = [find_column(each, width, conllu, "vector", names) for each in options.vectors]
    except ValueError as error:
        raise FileError(source, number, str(error)) from None
    features = found[len(found) - len(options.features or ()) :]
    # Columns of CoNLL-U such as HEAD are no features of a word; they have to be named.
    if options.features is None and not conllu:
        others = {index for index, _ in found} | {column.index for column in tag_columns}
        others |= rows.others if rows else set()
        features = [(index, "") for index in range(width) if index not in others]
    return Layout(
        width=width,
        conllu=conllu,
        token=found[0][0],
        tag=found[1][0] if options.with_tags else None,
        features=tuple(index for index, _ in features),
        tabs=tabs,
        tag_key=found[1][1] if options.with_tags else "",
        feature_keys=tuple(key for _, key in features),
        columns=tag_columns,
        rows=rows,
        vectors=tuple(vectors),
    )


def _tag_of_rows(rows: RowLayout, options: ColumnOptions) -> Column:
    """The usual column of the tags of a table.

    Raises:
        ValueError: there is none, and tags are wanted.
    """
    found = rows.predicted if options.predicted and rows.predicted is not None else rows.tag
    if found is None and options.with_tags and options.tag is None:
        names = f" among {', '.join(map(quoted, rows.names))}" if rows.names else ""
        raise ValueError(f"expected a column of tags, found none{names}: see data.tag_column")
    return found or 0


def ends_with_probability(cells: Sequence[str]) -> bool:
    """Whether behind a token and its tag stands a probability, as predictions have it."""
    return len(cells) > 2 and _PROBABILITY.fullmatch(cells[-1]) is not None


def find_column(
    column: Column, width: int, conllu: bool, role: str, names: Sequence[str] = ()
) -> tuple[int, str]:
    """Index of a column, and the key that is named in it, if any.

    Args:
        column: index from 0, or from -1 at the end, or a name.
        width: number of columns of the file.
        conllu: whether the file is CoNLL-U.
        role: what the column is for, in messages.
        names: those of a header.

    Raises:
        ValueError: there is no such column.
    """
    if isinstance(column, str) and names:
        plain = [name.strip().lower() for name in names]
        if column.strip().lower() not in plain:
            found = ", ".join(map(quoted, names))
            raise ValueError(f"{role} column {quoted(column)}: expected one of {found}")
        return plain.index(column.strip().lower()), ""
    if isinstance(column, str):
        if not conllu:
            raise ValueError(
                f"{role} column {quoted(column)}: expected a number, as this is no CoNLL-U file"
            )
        name, dot, key = column.partition(".")
        if name.upper() not in CONLLU_COLUMNS or (dot and (name.upper() not in KEYED or not key)):
            names = ", ".join((*CONLLU_COLUMNS, *(f"{name}.Key" for name in KEYED)))
            raise ValueError(f"{role} column {quoted(column)}: expected one of {names}")
        if key and role == "token":
            raise ValueError(
                f"token column {quoted(column)}: expected a column without a key, such as FORM: "
                "tokens are whole cells"
            )
        return CONLLU_COLUMNS.index(name.upper()), key
    if not -width <= column < width:
        raise ValueError(
            f"{role} column {column}: expected -{width} to {width - 1}, as the file has "
            f"{plural(width, 'column')}"
        )
    if role == "tag" and width == 1:  # -1 would take the tokens themselves for tags
        raise ValueError("expected a token and a tag on each line, found one column")
    return column % width, ""


def _tag_columns(
    options: ColumnOptions, width: int, names: Sequence[str]
) -> tuple[NamedColumn, ...]:
    """The places of several tag columns.

    Raises:
        ValueError: the file lacks one, or two of them are the same or share a cell.
    """
    found: dict[tuple[int, str], NamedColumn] = {}
    for column in options.tags:
        place = find_column(column, width, options.conllu, "tag", names)
        if place in found:
            raise ValueError(f"tag columns {found[place].name} and {column} are the same column")
        for (index, key), other in found.items():
            # FEATS has the value of FEATS.Number in it: written back, both would fill one cell.
            if index == place[0] and "" in (key, place[1]):
                raise ValueError(
                    f"tag columns {other.name} and {column} are the same cell, as a whole and by "
                    "key: expected either of them"
                )
        found[place] = NamedColumn(str(column), *place)
    return tuple(found.values())


def refuse_answers(layout: Layout, source: str) -> None:
    """Refuse a layout in which what a model is to predict is among what it reads.

    Raises:
        DataError: the token's column or that of a feature or of numbers is a tag column too.
    """
    if layout.tag is None:
        return
    keys = layout.feature_keys or ("",) * len(layout.features)
    read = [("the token", layout.token, "")]
    read += [("a feature", *place) for place in zip(layout.features, keys, strict=True)]
    read += [("numbers", *place) for place in layout.vectors]
    answers = [(each.index, each.key) for each in layout.columns]
    for role, index, key in read:
        for other, other_key in answers or [(layout.tag, layout.tag_key)]:
            # A whole cell holds the values of all of its keys.
            if index == other and (key == other_key or "" in (key, other_key)):
                column = CONLLU_COLUMNS[index] if layout.conllu else index
                raise DataError(
                    f"{source}: column {column} is {role} and the tag, so that a model would read "
                    "what it is to predict; name another column for one of them"
                )


def is_conllu_id(cell: str) -> bool:
    """Whether it is an ID of CoNLL-U: 1, 1-2 or 1.1."""
    return bool(_ID.fullmatch(cell))


def is_cell(text: str) -> bool:
    """Whether a column between tabs can hold a text."""
    return bool(text) and text == text.strip(BLANK) and "\t" not in text and "\n" not in text


def is_whole(cell: str) -> bool:
    """Whether a cell is the ID of a word: a number, of ASCII digits and not absurdly long."""
    return is_conllu_id(cell) and cell.isdecimal()


def is_docstart(line: str) -> bool:
    """Whether the token of a line, in its first column, is -DOCSTART-."""
    if not line.startswith(DOCSTART):
        return False
    return split_line(line, "\t" in line.rstrip(BLANK))[0] == DOCSTART


def may_be_comment(line: str) -> bool:
    """Whether a line begins with # and a blank, as "# id 17" does, and a hashtag does not."""
    return line.startswith(("# ", "#\t"))


def is_comment(line: str, layout: Layout) -> bool:
    """Whether such a line right before the first token shows that sentences have comments.

    It has other columns than a token, or ends with an id or a value in place of a tag.
    """
    if not may_be_comment(line):
        return False
    cells = split_line(line, layout.tabs)
    return len(cells) != layout.width or ends_as_comment(cells[-1])


def ends_as_comment(cell: str) -> bool:
    """Whether the last cell of a line that begins with # is an id or a value, and so no tag."""
    return _ID_OR_VALUE.search(cell) is not None


def begins_document(lines: Sequence[str], layout: Layout) -> bool:
    """Whether one of these lines, of a sentence or before one, says that a document begins."""
    if layout.conllu:
        comments = takewhile(lambda line: line.startswith("#"), lines)
        return any(_NEWDOC.match(line) for line in comments)
    # A line of its own in CoNLL-2003, the first token of a sentence in the Dutch of CoNLL-2002.
    return any(DOCSTART in line and DOCSTART in layout.cells(line) for line in lines)


def split_line(line: str, tabs: bool) -> list[str]:
    """The columns of a line."""
    line = line.rstrip(BLANK)
    # With tabs an empty cell is an error that has to be seen; a run of blanks is one separator.
    if tabs:
        return [column.strip(BLANK) for column in line.split("\t")]
    columns = line.replace("\t", " ").split(" ")
    return [column for column in columns if column] if "" in columns else columns


def raw_cells(line: str, separator: str) -> list[str]:
    """The cells of a row as they stand there, quotes included; of TSV, which has none, likewise."""
    parts = line.rstrip("\r").split(separator)
    if separator == "\t" or '"' not in line:
        return parts
    cells: list[str] = []
    begun: list[str] = []  # of a cell with the separator in its quotes
    is_open = 0
    for part in parts:
        begun.append(part)
        is_open ^= part.count('"') % 2
        if not is_open:
            cells.append(separator.join(begun))
            begun = []
    return [*cells, separator.join(begun)] if begun else cells


def split_row(line: str, separator: str) -> list[str]:
    """The cells of a row of a table.

    Raises:
        ValueError: a quote in it is not closed.
    """
    if separator == " ":
        return split_line(line, tabs=False)
    cells = [cell.strip(BLANK) for cell in raw_cells(line, separator)]
    if '"' not in line:
        return cells
    if separator != "\t" and cells[-1].count('"') % 2:
        raise ValueError(f"a quote is not closed on its line: {quoted(line)}")
    return [_unquoted(cell, separator) for cell in cells]


def _unquoted(cell: str, separator: str) -> str:
    inner = cell[1:-1]
    # TSV has no quoting; but pandas writes a quote as four of them there too.
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and (separator != "\t" or '""' in inner):
        return inner.replace('""', '"')
    return cell


def row_cell(value: str, separator: str) -> str:
    """A value as a cell of a row."""
    if separator != " " and ('"' in value or separator in value):
        return '"' + value.replace('"', '""') + '"'
    return value
