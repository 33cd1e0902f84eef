"""The two sides of a comparison: two files in any formats, or two columns of one file.

Each becomes a stream of records, of which nothing is read before they are asked for: two column
files are read side by side. Every question of formats and columns is settled here.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.grid import looks_like_prose, tags_before_words
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.json.jsonl_keys import columns_of_lines
from tagkit.corpus.formats.recognition import Found, find_format
from tagkit.corpus.formats.table import FORMATS, Format, by_name
from tagkit.corpus.formats.tables.token_rows import find_rows
from tagkit.corpus.source.layout import (
    CONLLU,
    TAG,
    TOKEN_ROWS,
    ColumnOptions,
    column_options,
    ends_with_probability,
)
from tagkit.corpus.source.notations import expecting, respelled
from tagkit.corpus.source.options import Item, ReaderOptions, source_of
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.expected_labels import other_column, refuse_unread_columns
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.scores.pairing import Labelled
from tagkit.text.notation import USUAL, Notation
from tagkit.text.records import Sentence
from tagkit.wording import listed, once, plural

_OTHER_COLUMN = ". pred_column names another column"
_NAME_FILE = "name a file with the predictions with pred=..."


@dataclass(frozen=True, slots=True)
class Side:
    """Gold labels or predictions that have not been read yet.

    Attributes:
        name: of their file.
        format: that it is in.
        records: as they are read, once; an error of the file is raised then.
        remedy: the end of a message on tags that are not the expected ones.
    """

    name: str
    format: Format
    records: Iterable[Item]
    remedy: str

    @property
    def has_only_tags(self) -> bool:
        """Whether its records are sentences with tags, none of which can have a class."""
        return self.format.holds == "tags" and not self.format.has_classes

    def sentences(self) -> Iterator[Sentence]:
        """The records, all of which are sentences."""
        return (item for item in self.records if isinstance(item, Sentence))

    def read(self) -> Labelled:
        """All of them; raises what reading a file does."""
        return Labelled(
            self.name,
            tuple(self.records),
            is_ordered=self.format.is_ordered,
            has_cells=self.format.has_named_columns,
            remedy=self.remedy,
        )


def open_sides(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: Column | None,
    note: Callable[[str], None],
    *,
    confidence: bool,
) -> tuple[Side, Side]:
    """Gold labels and predictions; the arguments are those of `compare_files`.

    Raises:
        DataError: a file cannot be read or has no labels, or a column is named that it does not
            have.
    """
    gold = source_of(gold_file, data)
    formats = [_format_of(gold, data, note, predicted=False)]
    if predicted_file is None:
        return _two_columns(gold, formats[0], data, pred_column, note)
    predicted = source_of(predicted_file, data)
    formats.append(_format_of(predicted, data, note, predicted=True))
    sources = gold, predicted
    columns: Sequence[str] = ()
    if formats[0].holds == "tags" and formats[1].family == "jsonl":
        columns = columns_of_lines(predicted.beginning())
    if columns:  # also where those of the first one are spans of characters
        formats[1] = FORMATS["jsonl-tokens"]
    refuse_unread_columns(data, gold.name, formats)
    if pred_column is None:
        pred_column = _column_of_predictions(sources, formats, data, columns)
    elif not (formats[1].is_grid or columns):
        raise DataError(
            f"{predicted.name}: holds {formats[1].about} (read as {formats[1].name}): pred_column "
            "is for column files and CoNLL-U"
        )
    if columns:
        compared = f"of the tags of {listed(columns)} those of {pred_column} are compared"
        note(f"{predicted.name}: {compared}")
    is_named = isinstance(data.tag_column, str)
    if not formats[0].is_grid or (is_named and formats[0].name != CONLLU):
        data = data.model_copy(update={"tag_column": None})  # it is that of the predictions
    return _two_files(gold_file, sources, formats, data, pred_column, note, confidence=confidence)


def _two_files(
    gold_file: str,
    sources: tuple[Source, Source],
    formats: Sequence[Format],
    data: DataConfig,
    pred_column: Column | None,
    note: Callable[[str], None],
    *,
    confidence: bool,
) -> tuple[Side, Side]:
    # Tokens are compared as they are; a text is needed where the other side has no tokens. Feature
    # columns are the input of a model, and no part of what is scored.
    gold = ReaderOptions(
        data.model_copy(update={"feature_columns": (), "vector_columns": ()}),
        with_text=any(format.holds != "tags" for format in formats),
        require_keys=True,
        note=note,
    )
    predicted = replace(
        gold,
        # The two files may have different columns in front of the tag.
        data=gold.data.model_copy(update={"tag_column": pred_column}),
        # A text without a class is one for which none was likely enough. Readers ask for a class
        # only where labels are wanted; that of JSON Lines takes those there are.
        with_tags=not formats[1].may_lack_classes,
        require_keys=False,  # predictions in which nothing was found have no such key
        blank_labels=True,
        own_columns=True,
        with_probabilities=confidence,
        # Where the probabilities of classes are.
        with_extra=confidence or formats[1].family == "jsonl",
        compared_with=gold_file,
    )
    # A word, its tag, and more.
    several = formats[1].is_grid and len(_first_cells(sources[1], formats[1])) > 2
    # Of gold, once it is read, which it is first: predictions in which nothing was found show none.
    seen: list[Notation] = []
    return (
        _side(sources[0], formats[0], gold, other_column(formats[0].name, data), seen),
        _side(sources[1], formats[1], predicted, _OTHER_COLUMN if several else "", seen),
    )


def _side(
    source: Source, format: Format, reading: ReaderOptions, remedy: str, seen: list[Notation]
) -> Side:
    def records() -> Iterator[Item]:
        # JSON Lines alone look at it, and only with tags of several columns.
        column = reading.data.first_tag_column
        data = expecting(reading.data, None, seen[0] if seen else USUAL)
        wanted = replace(reading, data=data, column=None if column is None else str(column))
        read = format.records(source, wanted)
        seen.append(read.notation)
        yield from read.items

    return Side(source.name, format, records(), remedy)


def _column_of_predictions(
    sources: tuple[Source, Source],
    formats: Sequence[Format],
    data: DataConfig,
    columns: Sequence[str],
) -> Column | None:
    """The predicted column that belongs to the gold one; None for the usual one.

    Args:
        sources: of the gold tags, and of the predicted ones.
        formats: likewise.
        data: names the gold column, perhaps.
        columns: names of those that predictions in JSON Lines have.

    Raises:
        DataError: it cannot be told which one it is.
    """
    gold, predicted = formats
    wanted = data.first_tag_column
    if columns:
        wanted = TAG if wanted is None and gold.name == CONLLU else wanted
        if wanted is not None and str(wanted) in columns:
            return str(wanted)
        has = f"{sources[1].name}: has tags of {listed(columns)}"
        raise DataError(f"{has}; name those to compare with pred_column")
    if wanted is None or not gold.is_grid or not predicted.is_grid:
        return wanted if predicted.is_grid else None
    if CONLLU in (gold.name, predicted.name):  # columns without names cannot mean that of a name
        return wanted if isinstance(wanted, str) and predicted.name == CONLLU else None
    # Of several numbered columns of predictions the last need not be that wanted.
    ours, theirs = map(_first_cells, sources, formats)
    behind = [
        str(column)
        for column in range(len(ours), len(theirs))
        if not ends_with_probability(theirs[: column + 1])
    ]
    if ours and len(behind) > 1:
        raise DataError(
            f"{sources[1].name}: has columns {listed(behind)} behind those of {sources[0].name}: "
            f"name the predicted one of column {wanted} with pred_column"
        )
    return None


def columns_of_predictions(
    gold_file: str, predicted_file: str | None, data: DataConfig
) -> tuple[Column | None, ...]:
    """The predicted column of each of several tag columns: that of its name, or of its place.

    Columns with numbers are those behind all columns of gold, where there are as many, and the same
    ones else; None leaves one with a name to the file that it is in.
    """
    columns = data.tag_columns
    if predicted_file is None or any(isinstance(column, str) for column in columns):
        return (None,) * len(columns)
    files = (source_of(each, data) for each in (gold_file, predicted_file))
    cells = (_first_cells(each, FORMATS["columns"]) for each in files)
    ours, theirs = map(len, cells)
    return tuple(range(ours, theirs)) if theirs - ours == len(columns) else columns


def _two_columns(
    source: Source,
    format: Format,
    data: DataConfig,
    pred_column: Column | None,
    note: Callable[[str], None],
) -> tuple[Side, Side]:
    """Gold and predicted tags of one file.

    As conlleval and CRF++ have it: word, features, gold tag, predicted tag; a probability behind
    that is left out. Columns of CoNLL-U have names, and none is that of predictions.

    Raises:
        DataError: it has no columns or fewer than three, is CoNLL-U and no column of predicted
            tags is named, or its last two columns of tags do not belong together.
    """
    name = source.name
    if format.holds != "text" and not format.is_grid:
        # Only columns have a place for two labels of one token.
        raise DataError(f"{name}: holds {format.about}; {_NAME_FILE}")
    # A file that was recognised as nothing else is read as columns: the first line that does not
    # fit is then named in an error.
    format = format if format.is_grid else FORMATS["columns"]
    refuse_unread_columns(data, name, [format])
    pair = _columns_of_pair(source, data, pred_column, format)
    options = column_options(data.model_copy(update={"format": format.name}), with_tags=True)
    reader = ColumnReader(name, replace(options, tag=pair[0], features=(), tags=pair))

    def sentences() -> Iterator[Sentence]:
        for block in reader.blocks(source.pieces()):
            if block.sentence is not None:
                yield block.sentence
        if reader.layout is not None:
            # Predictions in which nothing was found have no such key; gold labels have.
            reader.require_keys(reader.layout.columns[0])

    seen: list[Notation] = []
    note = once(note)
    like = data.model_copy(update={"tag_column": None})

    def column(number: int, found: Iterable[Sentence]) -> Iterator[Sentence]:
        tagged = (
            Sentence(each.words, each.columns[number].values, lines=each.lines) for each in found
        )
        wanted = expecting(like, None, seen[0] if seen else USUAL)
        read = respelled(tagged, name, wanted, note)
        seen.append(read.notation)
        yield from read.items

    # Both are asked for one sentence after the other, so that `tee` holds no more than one.
    ours, theirs = tee(sentences())
    return (
        Side(name, format, column(0, ours), other_column("columns", data)),
        Side(name, format, column(1, theirs), _OTHER_COLUMN),
    )


def _columns_of_pair(
    source: Source, data: DataConfig, pred_column: Column | None, format: Format
) -> tuple[Column, Column]:
    """The columns of gold and of predicted tags; raises what `_two_columns` does."""
    name, rows, is_conllu = source.name, list(_all_cells(source, format)), format.name == CONLLU
    if rows and len(rows[0]) < 3:
        raise DataError(
            f"{name}: expected a word, a gold tag and a predicted tag on each line, found "
            f"{plural(len(rows[0]), 'column')}; {_NAME_FILE}"
        )
    if is_conllu and pred_column is None:
        raise DataError(
            f"{name}: expected predicted tags, and no column of CoNLL-U is for them; name their "
            f"column with pred_column, or {_NAME_FILE}"
        )
    last = -2 if rows and ends_with_probability(rows[0]) else -1
    gold: Column | None = data.first_tag_column
    if gold is None and tags_before_words(source.beginning()) == (1, None):
        gold = 0  # predictions stand behind the words
    table = find_rows(source.beginning()) if format.name == TOKEN_ROWS else None
    if table and table.predicted is not None:  # the header says which is which
        gold = table.tag if gold is None and table.tag is not None else gold
        last = table.predicted - table.width
    if gold is None:
        # Before the last column of CoNLL-U there are no tags, but references of dependencies.
        gold = TAG if is_conllu else last - 1
    if rows and pred_column is None and isinstance(gold, int) and table is None:
        _refuse_unpaired(name, rows, gold, last)
    return gold, last if pred_column is None else pred_column


def _refuse_unpaired(name: str, rows: Sequence[Sequence[str]], gold: int, predicted: int) -> None:
    """Refuse two columns each of which belongs to another one, as in a run with several of tags.

    Args:
        name: of a column file.
        rows: its first tokens.
        gold: column of the gold tags.
        predicted: the last one, which nobody has named.

    Raises:
        DataError: the tags of each are more like those of another column than like each other's.
    """
    columns = list(zip(*rows, strict=False))
    width = len(columns)
    if width < 5 or not -width <= gold < width:
        return  # a word and two columns of tags with their predictions are five
    pair = gold % width, predicted % width

    def alike(one: int, other: int) -> int:
        return sum(map(operator.eq, columns[one], columns[other]))

    others = [number for number in range(1, width) if number not in pair]
    found = [max(others, key=partial(alike, each)) for each in pair]
    if found[0] != found[1] and all(
        alike(each, other) > alike(*pair) for each, other in zip(pair, found, strict=True)
    ):
        raise DataError(
            f"{name}: the tags of column {pair[0]} are like those of column {found[0]}, and those "
            f"of column {pair[1]} like those of column {found[1]}: name the gold and the predicted "
            "ones with data.tag_column and pred_column"
        )


def _first_cells(source: Source, format: Format) -> tuple[str, ...]:
    """The cells of the first token of a column file; none where its beginning has no token."""
    return next(_all_cells(source, format), ())


def _all_cells(source: Source, format: Format) -> Iterator[tuple[str, ...]]:
    """The cells of each token at the beginning of a column file, without ids of a table."""
    is_table = format.name == TOKEN_ROWS
    options = ColumnOptions(
        False, None if is_table else 0, None, None, with_tags=False, rows=is_table
    )
    reader = ColumnReader(source.name, options)
    with suppress(FormatError):  # which reading the file raises, after what is before the line
        for block in reader.blocks([source.beginning()]):
            if block.sentence is not None:
                yield from zip(block.sentence.words, *block.sentence.features, strict=True)


def _format_of(
    source: Source, data: DataConfig, note: Callable[[str], None], *, predicted: bool
) -> Format:
    """The format of a file with labels; what may be raw text or columns is read as columns.

    A format that the configuration names is that of the gold file; it is taken for predictions only
    where their content shows none that could hold the same labels.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or is raw text.
    """
    found: Found | None = None
    if predicted and data.format != "auto":
        with suppress(DataError):  # a file that fits two formats, which the name may decide
            found = find_format(source, "auto")
        wants_classes = by_name(data.format)[0].holds == "classes"
        if found and (
            found.format.holds == "text" or (found.format.holds == "classes") != wants_classes
        ):
            found = None
    found = found or find_format(source, data.format)
    said, format = found.note, found.format
    # Raw text has no labels. A column file with one broken line may look like it, and read as
    # columns, the error names that line.
    if format.holds == "text" and not source.is_folder():
        # As columns of a regular width, such lines would be scored: the last word of each as a tag.
        if not said or (data.tag_column is None and looks_like_prose(source.beginning())):
            raise DataError(
                f"{source.name}: expected labels, found raw text, a line a text; name a file with "
                "labels, or, for a token a line, data.format=columns"
            )
        format = FORMATS["columns"]
        said = (
            f"{source.name}: read as columns, though nothing in its lines looks like labels "
            "(data.format chooses another format)"
        )
    if said:
        note(said)
    return format
