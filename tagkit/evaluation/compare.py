"""Comparison of files: predicted tags or classes in one, gold ones in another or beside them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from tagkit.config import Column, DataConfig
from tagkit.corpus.dataset import LabelKinds
from tagkit.corpus.formats.columns.layout import ColumnOptions, Layout, column_options
from tagkit.corpus.formats.columns.reader import Block, ColumnReader
from tagkit.corpus.formats.options import silent, source_of
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.source import Source, source_name
from tagkit.corpus.formats.table import Format
from tagkit.corpus.splits import read_split
from tagkit.errors import DataError, FormatError, shorten
from tagkit.evaluation.class_report import ClassReport, make_class_report
from tagkit.evaluation.tag_report import TagReport, make_tag_report
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import PLAIN
from tagkit.wording import Message, Setting, plural

_CLASSES = LabelKinds(tags=False, classes=True)


def refuse_options_of_tags(because: str, data: DataConfig, strict: bool) -> None:
    """Refuse options on spans for texts with classes, which have none.

    Raises:
        DataError: one is given.
    """
    given = {Setting("strict"): strict, Setting("data.scheme"): data.scheme != "auto"}
    for option, is_given in given.items():
        if is_given:
            raise DataError(Message(f"{because}: ", option, " is for spans"))


@dataclass(frozen=True, slots=True)
class _Row:
    """The line, word and tag of a token."""

    line: int
    word: str
    tag: str


def compare_files(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: Column,
    strict: bool,
    note: Callable[[str], None] = silent,
) -> TagReport | ClassReport:
    """A report on predicted tags, or on predicted classes.

    Args:
        gold_file: column file with gold tags, in its last column unless `data` says otherwise; or
            a file of texts with classes.
        predicted_file: column file with the same tokens and predicted tags, or a file of the same
            texts with predicted classes. None for predicted tags in `gold_file` itself; the gold
            ones are then in the last column but one, unless `data` says otherwise.
        data: how columns are read; its `tag_column` is that of the gold tags.
        pred_column: of the predicted tags.
        strict: count well-formed spans only.
        note: called with a sentence on the format that a file was recognised as.

    Raises:
        DataError: the files hold different tokens or sentences, or tags of different kinds.
    """
    if data.tag_columns:
        listed = Setting("data.tag_column")
        raise DataError(Message(listed, ": expected one column, as files are compared by one"))
    source = source_of(gold_file, data)
    recognised = find_format(source, data.format)
    if recognised.note:
        note(recognised.note)
    if recognised.format.holds == "classes":
        refuse_options_of_tags(f"{source.name} holds classes of texts", data, strict)
        return _compare_classes(source, predicted_file, data, recognised.format, note)
    lines = [line for piece in source.pieces() for line in piece]  # a pipe is read once
    if predicted_file is None:
        # As conlleval and CRF++ have it: word, features, gold tag, predicted tag.
        if data.tag_column is None:
            data = data.model_copy(update={"tag_column": -2})
        _check_columns(source.name, lines, _as(recognised.format, data), pred_column)
    gold = list(_sentences(source.name, lines, _as(recognised.format, data)))
    beside = source_name(predicted_file or gold_file)
    if predicted_file is not None:  # its format need not be that of the gold file
        other = source_of(predicted_file, data)
        recognised = find_format(other, data.format)
        if recognised.note:
            note(recognised.note)
        lines = [line for piece in other.pieces() for line in piece]
    # The two files may have different columns in front of the tag: only words and tags matter.
    columns = data.model_copy(update={"tag_column": pred_column})
    predicted = list(_sentences(beside, lines, _as(recognised.format, columns)))
    _check_alignment(source.name, gold, beside, predicted)
    gold_tags = [tuple(row.tag for row in rows) for rows in gold]
    predicted_tags = [tuple(row.tag for row in rows) for rows in predicted]
    if not gold_tags:
        raise DataError(f"{source.name}: holds no sentence")
    scheme = _scheme_of(gold, source.name, data.scheme, None)
    # Predicted tags may be in another scheme than gold, but must be of the same kind. Tags that
    # look like those of spans are plain labels where the user says so.
    _scheme_of(predicted, beside, PLAIN if data.scheme == PLAIN else "auto", scheme)
    return make_tag_report(gold_tags, predicted_tags, scheme, strict=strict)


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
    if gold and predicted and (gold.tag, gold.keys) == (predicted.tag, predicted.keys):
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


def _compare_classes(
    source: Source,
    predicted_file: str | None,
    data: DataConfig,
    format: Format,
    note: Callable[[str], None],
) -> ClassReport:
    if predicted_file is None:
        raise DataError(
            Message(
                f"{source.name}: holds texts with classes; name a file with the predicted classes "
                "with ",
                Setting("pred"),
            )
        )
    settled = data.model_copy(update={"format": format.name})
    gold = read_split(source.path, settled, _CLASSES, None, source).sentences
    named = data.model_copy(update={"format": "auto"})  # it need not be that of gold
    split = read_split(predicted_file, named, _CLASSES, None)
    found = split.sentences
    for text in split.notes:
        note(text)
    # A text is known by its words: gold and predicted classes of different texts are no pair.
    end = Sentence(())
    for ours, theirs in zip_longest(gold, found, fillvalue=end):
        if ours.words != theirs.words:
            place = f" as on {source.name}:{ours.lines[0]}" if ours.lines else ""
            raise FormatError(
                split.path,
                theirs.lines[0] if theirs.lines else found[-1].lines[-1],
                f"expected {_text(ours)}{place}, found {_text(theirs)}",
            )
    # No configuration says it here. A file where each text has one class is of one class a text.
    several = any(len(sentence.labels) != 1 for sentence in (*gold, *found))
    return make_class_report(
        [sentence.labels for sentence in gold],
        [sentence.labels for sentence in found],
        several=several,
    )


def _text(sentence: Sentence) -> str:
    return shorten(" ".join(sentence.words)) if sentence.words else "the end of the file"


def _scheme_of(sentences: list[list[_Row]], path: str, named: str, expected: str | None) -> str:
    tagged = [
        Sentence(
            words=tuple(row.word for row in rows),
            tags=tuple(row.tag for row in rows),
            lines=[row.line for row in rows],
        )
        for rows in sentences
    ]
    return scheme_of(tagged, path, named, expected).scheme


def _sentences(name: str, lines: Sequence[str], data: DataConfig) -> Iterator[list[_Row]]:
    reader = ColumnReader(name, replace(column_options(data, with_tags=True), features=()))
    for block in reader.blocks([lines]):
        if block.sentence:
            yield list(_rows(block))


def _rows(block: Block) -> Iterator[_Row]:
    sentence = block.sentence
    if sentence:
        for row, word, tag in zip(block.rows, sentence.words, sentence.tags or (), strict=True):
            yield _Row(block.first_line + row, word, tag)


def _check_alignment(
    gold_name: str, gold: list[list[_Row]], beside: str, predicted: list[list[_Row]]
) -> None:
    """Raise at the first token or sentence that only one of the files has."""
    end = _Row(0, "", "")
    none: list[_Row] = []
    last_line = predicted[-1][-1].line if predicted else 1
    # Fill values: a row of line 0 marks the end of a sentence, an empty list that of a file.
    for gold_rows, predicted_rows in zip_longest(gold, predicted, fillvalue=none):
        for wanted, found in zip_longest(gold_rows, predicted_rows, fillvalue=end):
            if wanted.word != found.word:
                # At the end of a sentence or file there is no line: the one before it is named.
                line = found.line or (predicted_rows[-1].line if predicted_rows else last_line)
                place = f" as on {gold_name}:{wanted.line}" if wanted.line else ""
                raise FormatError(
                    beside, line, f"expected {_shown(wanted)}{place}, found {_shown(found)}"
                )


def _shown(row: _Row) -> str:
    return shorten(row.word) if row.line else "the end of the sentence"
