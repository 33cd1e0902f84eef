"""Two files to be compared: the format of each, and the column in which its tags are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.json.jsonl_keys import columns_of_lines
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.source.layout import (
    CONLLU,
    TAG,
    ColumnOptions,
    ends_with_probability,
)
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, FormatError, SchemeError
from tagkit.evaluation.scores.labelled_records import (
    LabelledFile,
    find_format_of_gold,
    find_format_of_predictions,
)
from tagkit.wording import listed


def both_files(
    gold_file: str,
    predicted_file: str,
    data: DataConfig,
    pred_column: Column | None,
    note: Callable[[str], None],
) -> tuple[LabelledFile, LabelledFile]:
    """The two files, each in its own format; the arguments are those of `compare_files`.

    Raises:
        DataError: one cannot be read, or a column is named that it does not have.
    """
    sources = source_of(gold_file, data), source_of(predicted_file, data)
    found = find_format_of_gold(sources[0], data), find_format_of_predictions(sources[1], data)
    for each in found:
        if each.note:
            note(each.note)
    formats = [each.format for each in found]
    columns: Sequence[str] = ()
    if formats[0].holds == "tags" and formats[1].family == "jsonl":
        columns = columns_of_lines(sources[1].beginning())
    if columns:  # also where those of the first one are spans of characters
        formats[1] = FORMATS["jsonl-tokens"]
    _refuse_columns(sources, formats, data, pred_column, columns)
    if pred_column is None and data.tag_column is not None:
        _refuse_several(sources, formats, data.tag_column)
    if pred_column is None and columns:
        pred_column = _like_gold(sources[1].name, columns, formats[0], data)
    if columns:
        compared = f"of the tags of {listed(columns)} those of {pred_column} are compared"
        note(f"{sources[1].name}: {compared}")
    if pred_column is None and formats[1].name == CONLLU:
        # That of the gold tags where it has a name, which columns without names cannot mean.
        pred_column = data.tag_column if isinstance(data.tag_column, str) else None
        if pred_column is not None and formats[0].name != CONLLU:
            data = data.model_copy(update={"tag_column": None})
    # Tokens are compared as they are; a text is needed where the other side has no tokens.
    with_text = any(format.holds != "tags" for format in formats)
    # The two files may have different columns in front of the tag.
    beside = data.model_copy(update={"tag_column": pred_column})
    return (
        LabelledFile(sources[0], formats[0], data, False, with_text, note),
        LabelledFile(
            sources[1], formats[1], beside, True, with_text, note, compared_with=gold_file
        ),
    )


def _like_gold(name: str, columns: Sequence[str], gold: Format, data: DataConfig) -> str:
    """The predicted column that has the name of the gold one.

    Raises:
        DataError: none has.
    """
    wanted = data.first_tag_column
    if wanted is None and gold.name == CONLLU:
        wanted = TAG
    if wanted is not None and str(wanted) in columns:
        return str(wanted)
    has = f"{name}: has tags of {listed(columns)}"
    raise DataError(f"{has}; name those to compare with pred_column")


def _refuse_several(
    sources: tuple[Source, Source], formats: Sequence[Format], wanted: Column | Sequence[Column]
) -> None:
    """Refuse predictions of several numbered columns, where the last need not be that wanted.

    Args:
        sources: of the gold tags, and of the predicted ones.
        formats: likewise.
        wanted: column of the gold tags.

    Raises:
        DataError: predictions have two columns of tags or more behind those of gold.
    """
    if not all(format.is_grid and format.name != CONLLU for format in formats):
        return
    gold, predicted = map(_first_cells, sources)
    behind = [
        str(column)
        for column in range(len(gold), len(predicted))
        if not ends_with_probability(predicted[: column + 1])
    ]
    if gold and len(behind) > 1:
        raise DataError(
            f"{sources[1].name}: has columns {listed(behind)} behind those of {sources[0].name}: "
            f"name the predicted one of column {wanted} with pred_column"
        )


def _first_cells(source: Source) -> tuple[str, ...]:
    """The cells of the first token of a column file; none where its beginning has no token."""
    return next(all_cells(source.name, [source.beginning()]), ())


def all_cells(name: str, pieces: Iterable[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The cells of each token in some lines at the beginning of a column file."""
    reader = ColumnReader(name, ColumnOptions(False, 0, None, None, with_tags=False))
    with suppress(FormatError):  # which reading the file raises, after what is before the line
        for block in reader.blocks(pieces):
            if block.sentence is not None:
                yield from zip(block.sentence.words, *block.sentence.features, strict=True)


@contextmanager
def naming_predicted_column(predicted: LabelledFile | None) -> Iterator[None]:
    """Add how to name another column to an error on the scheme of predicted tags.

    Args:
        predicted: which has not been read yet; None for a column file that has gold tags too.
    """
    # Of two columns the first one holds the words.
    may_be_another = predicted is None or (
        predicted.format.is_grid and len(_first_cells(predicted.source)) > 2
    )
    try:
        yield
    except SchemeError as error:
        if error.remedy or not may_be_another:  # that of gold tags has a remedy of its own
            raise
        remedy = ". pred_column names another column"
        raise SchemeError(error.path, error.wanted, error.found, remedy) from None


def _refuse_columns(
    sources: tuple[Source, Source],
    formats: Sequence[Format],
    data: DataConfig,
    pred_column: Column | None,
    columns: Sequence[str],
) -> None:
    """Refuse a column of files that have none, where it would have no effect.

    Args:
        sources: of the gold tags, and of the predicted ones.
        formats: likewise.
        data: says where the gold tags are.
        pred_column: of the predicted tags.
        columns: names of those that predictions in JSON Lines have.

    Raises:
        DataError: one is named.
    """
    gold, predicted = formats
    # Of the gold tags; in CoNLL-U the predicted ones are in the column of the same name.
    named = predicted.name == CONLLU and pred_column is None and isinstance(data.tag_column, str)
    grid, table = "column files and CoNLL-U", "TSV and CSV"
    is_table = gold.has_named_columns or predicted.has_named_columns
    readers = {
        "data.token_column": (data.token_column, gold.is_grid or predicted.is_grid, grid),
        "data.tag_column": (data.tag_column, gold.is_grid or named, grid),
        "data.text_column": (data.text_column, is_table, table),
        "data.label_column": (data.label_column, is_table, table),
        "pred_column": (pred_column, predicted.is_grid or bool(columns), grid),
    }
    for option, (column, is_read, what) in readers.items():
        if column is not None and not is_read:
            file = 1 if option == "pred_column" else 0
            format = formats[file]
            raise DataError(
                f"{sources[file].name}: holds {format.about} (read as {format.name}): {option} is "
                f"for {what}"
            )
