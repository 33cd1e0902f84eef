"""Comparison of two columns of one file: gold tags and, beside them, predicted ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tagkit.config import Column, DataConfig
from tagkit.corpus.expected_labels import other_column
from tagkit.corpus.formats.columns.layout import ColumnOptions, Layout, column_options
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.options import source_of
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import Format
from tagkit.errors import DataError
from tagkit.evaluation.pairing import predicted_tags
from tagkit.evaluation.tag_report import TagReport, make_tag_report
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.wording import Message, Setting, plural


def compare_columns(
    path: str, data: DataConfig, pred_column: Column, strict: bool, note: Callable[[str], None]
) -> TagReport:
    """The report on a column file with gold tags and predicted ones."""
    source = source_of(path, data)
    found = find_format(source, data.format)
    if found.note:
        note(found.note)
    if found.format.holds != "text" and not found.format.is_grid:
        # Only columns have a place for two labels of one token.
        classes = found.format.holds == "classes"
        holds = "texts with classes" if classes else found.format.about
        wanted = "predicted classes" if classes else "predictions"
        raise DataError(
            Message(f"{source.name}: holds {holds}; name a file with the {wanted} with ",
                    Setting("pred"))
        )  # fmt: skip
    lines = [line for piece in source.pieces() for line in piece]  # a pipe is read once
    # As conlleval and CRF++ have it: word, features, gold tag, predicted tag.
    if data.first_tag_column is None:
        data = data.model_copy(update={"tag_column": -2})
    _check_columns(source.name, lines, _as(found.format, data), pred_column)
    reader = _reader(source.name, _as(found.format, data))
    gold = list(_sentences(reader, lines))
    if not gold:
        raise DataError(f"{source.name}: holds no sentence")
    reader.require_keys()
    columns = data.model_copy(update={"tag_column": pred_column})
    predicted = list(_sentences(_reader(source.name, _as(found.format, columns)), lines))
    remedy = other_column("columns", data)
    scheme = scheme_of(gold, source.name, data.scheme, remedy=remedy).scheme
    found_tags = predicted_tags(predicted, source.name, data, scheme, strict=strict)
    gold_tags = [sentence.tags or () for sentence in gold]
    return make_tag_report(gold_tags, found_tags, scheme, strict=strict)


def _as(format: Format, data: DataConfig) -> DataConfig:
    """The configuration with the column format that a file is in."""
    # A file that was recognised as anything else is read as columns: the first line that does not
    # fit is then named in an error.
    name = format.name if format.is_grid else "columns"
    return data.model_copy(update={"format": name})


def _check_columns(name: str, lines: Sequence[str], data: DataConfig, pred_column: Column) -> None:
    """Raise where a file cannot hold words, gold tags and predicted ones.

    Raises:
        DataError: it has fewer than three columns, or the gold tags are the predicted ones.
    """
    options = column_options(data, with_tags=True)
    # With columns that every file has, so that the width is found whatever columns are named.
    found = _layout(name, lines, replace(options, token=0, tag=-1, features=()))
    if found is not None and found.width < 3:
        raise DataError(
            Message(
                f"{name}: expected a word, a gold tag and a predicted tag on each line, found "
                f"{plural(found.width, 'column')}; name a file with the predicted tags with ",
                Setting("pred"),
            )
        )
    gold, predicted = (
        _layout(name, lines, replace(options, tag=column, features=()))
        for column in (data.first_tag_column, pred_column)
    )
    # One column has several names (a number from either end, a key of CoNLL-U): compare places.
    if gold and predicted and (gold.tag, gold.tag_key) == (predicted.tag, predicted.tag_key):
        raise DataError(
            Message(
                f"{name}: expected gold and predicted tags in two columns, found both in column "
                f"{gold.tag}; name them with ",
                Setting("data.tag_column"),
                " and ",
                Setting("pred_column"),
            )
        )


def _layout(name: str, lines: Sequence[str], options: ColumnOptions) -> Layout | None:
    """The columns of a file, found in its first sentence; None where it holds no sentence."""
    reader = ColumnReader(name, options)
    for _ in reader.blocks([lines]):
        if reader.layout:
            break
    return reader.layout


def _reader(name: str, data: DataConfig) -> ColumnReader:
    return ColumnReader(name, replace(column_options(data, with_tags=True), features=()))


def _sentences(reader: ColumnReader, lines: Sequence[str]) -> Iterator[Sentence]:
    return (block.sentence for block in reader.blocks([lines]) if block.sentence)
