"""Comparison of two columns of one file: gold tags and, beside them, predicted ones."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.source.layout import TAG, ColumnOptions, Layout, column_options
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.expected_labels import other_column, refuse_unread_columns
from tagkit.errors import DataError
from tagkit.evaluation.compare.file_pairs import all_cells
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report, with_sentences
from tagkit.evaluation.reports.tag_tally import TagTally
from tagkit.evaluation.scores.labelled_records import find_format_of_gold
from tagkit.evaluation.scores.pairing import predicted_tags
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.wording import plural


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the labels of a file are, and its lines.

    Attributes:
        data: names the column of the gold tags.
        predicted: column of the predicted tags.
        classes: columns in which `inference.score.prediction_files` has gold and predicted classes,
            if the file has any; none where a column of tags was named.
        pieces: the lines, from the beginning.
    """

    data: DataConfig
    predicted: Column
    classes: tuple[int, ...]
    pieces: Iterator[Sequence[str]]


@dataclass(frozen=True, slots=True)
class _ColumnTags:
    """Words of a sentence with their gold and predicted tags, and the numbers of its lines.

    `classes` are the cells of the columns that may hold classes.
    """

    words: tuple[str, ...]
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    lines: Sequence[int]
    classes: tuple[tuple[str, ...], ...]


def compare_columns(
    path: str,
    data: DataConfig,
    pred_column: Column | None,
    strict: bool,
    note: Callable[[str], None],
    *,
    keep_labels: bool,
) -> TagReport:
    """The report on a column file with gold tags and predicted ones.

    The arguments are those of `compare_files`.
    """
    source = source_of(path, data)
    found = find_format_of_gold(source, data)
    if found.note:
        note(found.note)
    if found.format.holds != "text" and not found.format.is_grid:
        # Only columns have a place for two labels of one token.
        classes = found.format.holds == "classes"
        holds = "texts with classes" if classes else found.format.about
        wanted = "predicted classes" if classes else "predictions"
        raise DataError(
            f"{source.name}: holds {holds}; name a file with the {wanted} with pred=..."
        )
    columns = _checked(source, _as(found.format, data), pred_column)
    data = columns.data
    refuse_unread_columns(data, source.name, [FORMATS[data.format]])
    tags = _noting_classes(_tags(source.name, columns), source.name, note)
    if keep_labels:
        report = _kept(source.name, tags, data, strict)
    else:
        report = _counted(source.name, tags, data, strict, note)
    if report is None:
        raise DataError(f"{source.name}: holds no sentence")
    return report


def _counted(
    name: str,
    tags: Iterable[_ColumnTags],
    data: DataConfig,
    strict: bool,
    note: Callable[[str], None],
) -> TagReport | None:
    """The report, of which no more than counts are kept; None of no sentence."""
    tally = TagTally(name, name, strict=strict)
    for each in tags:
        tally.add(each.gold, each.predicted, each.lines, each.lines)
    return tally.report(data, other_column("columns", data), note)


def _kept(
    name: str, tags: Iterable[_ColumnTags], data: DataConfig, strict: bool
) -> TagReport | None:
    """The report with all tags; None of no sentence."""
    gold, predicted = [], []
    for each in tags:
        gold.append(Sentence(each.words, each.gold, lines=each.lines))
        predicted.append(Sentence(each.words, each.predicted, lines=each.lines))
    if not gold:
        return None
    remedy = other_column("columns", data)
    scheme = scheme_of(gold, name, data.scheme, remedy=remedy).scheme
    found = predicted_tags(predicted, name, data, scheme, strict=strict)
    report = make_tag_report([each.tags or () for each in gold], found, scheme, strict=strict)
    return with_sentences(report, gold, name)


def _as(format: Format, data: DataConfig) -> DataConfig:
    """The configuration with the column format that a file is in."""
    # A file that was recognised as anything else is read as columns: the first line that does not
    # fit is then named in an error.
    name = format.name if format.is_grid else "columns"
    return data.model_copy(update={"format": name})


def _checked(source: Source, data: DataConfig, pred_column: Column | None) -> _Columns:
    """Where the gold and the predicted tags of a file are, and its lines.

    As conlleval and CRF++ have it: word, features, gold tag, predicted tag; a probability behind
    that is left out. Columns of CoNLL-U have names, and none is that of predictions.

    Raises:
        DataError: it has fewer than three columns, or is CoNLL-U and no column of predicted tags is
            named, or the gold tags are the predicted ones.
    """
    name, options = source.name, column_options(data, with_tags=True)
    pieces = source.pieces()
    # With columns that every file has, so that the width is found whatever columns are named.
    every = replace(options, token=0, tag=-1 if options.conllu else None, features=())
    beginning: list[Sequence[str]] = []
    found = None
    for lines in pieces:  # a pipe is read once: what has been looked at is kept
        beginning.append(lines)
        if found := _layout(name, beginning, every):
            break
    if found is not None:
        _refuse_without_predictions(name, found, needs_name=options.conllu and pred_column is None)
    last = -1 if found is None or found.tag is None else found.tag - found.width
    is_named = pred_column is not None
    pred_column = last if pred_column is None else pred_column
    classes: tuple[int, ...] = ()
    if data.first_tag_column is None:
        # Behind the word, before the gold tag.
        if found is not None and not options.conllu and found.width + last > 3:
            classes = last - 3, last - 2
        # Before the last column of CoNLL-U there are no tags, but references of dependencies.
        gold_column = TAG if options.conllu else last - 1
        data = data.model_copy(update={"tag_column": gold_column})
    gold, predicted = (
        _layout(name, beginning, replace(options, tag=column, features=()))
        for column in (data.first_tag_column, pred_column)
    )
    # One column has several names (a number from either end, a key of CoNLL-U): compare places.
    if gold and predicted and (gold.tag, gold.tag_key) == (predicted.tag, predicted.tag_key):
        raise DataError(
            f"{name}: expected gold and predicted tags in two columns, found both in column "
            f"{gold.tag}; name them with data.tag_column and pred_column"
        )
    if gold and predicted and not is_named:
        _refuse_unpaired(name, beginning, gold.tag, predicted.tag)
    return _Columns(data, pred_column, classes, chain(beginning, pieces))


def _refuse_without_predictions(name: str, found: Layout, *, needs_name: bool) -> None:
    """Refuse a file that has no column of predicted tags; `needs_name`: nor could it be found."""
    if found.width < 3:
        raise DataError(
            f"{name}: expected a word, a gold tag and a predicted tag on each line, found "
            f"{plural(found.width, 'column')}; name a file with the predicted tags with pred=..."
        )
    if needs_name:
        raise DataError(
            f"{name}: expected predicted tags, and no column of CoNLL-U is for them; name their "
            "column with pred_column, or a file with them with pred=..."
        )


def _refuse_unpaired(
    name: str, pieces: Iterable[Sequence[str]], gold: int | None, predicted: int | None
) -> None:
    """Refuse two columns each of which belongs to another one, as in a run with several of tags.

    Args:
        name: of a column file.
        pieces: its beginning.
        gold: column of the gold tags.
        predicted: the last one, which nobody has named.

    Raises:
        DataError: the tags of each are more like those of another column than like each other's.
    """
    columns = list(zip(*all_cells(name, pieces), strict=False))
    if gold is None or predicted is None or len(columns) < 5:
        return  # a word and two columns of tags with their predictions are five

    def alike(one: int, other: int) -> int:
        return sum(map(operator.eq, columns[one], columns[other]))

    others = [number for number in range(1, len(columns)) if number not in (gold, predicted)]
    found = [max(others, key=partial(alike, each)) for each in (gold, predicted)]
    if found[0] != found[1] and all(
        alike(each, other) > alike(gold, predicted)
        for each, other in zip((gold, predicted), found, strict=True)
    ):
        raise DataError(
            f"{name}: the tags of column {gold} are like those of column {found[0]}, and those of "
            f"column {predicted} like those of column {found[1]}: name the gold and the predicted "
            "ones with data.tag_column and pred_column"
        )


def _layout(name: str, pieces: Iterable[Sequence[str]], options: ColumnOptions) -> Layout | None:
    """The columns of a file, found in its first sentence; None where it holds no sentence."""
    reader = ColumnReader(name, options)
    for _ in reader.blocks(pieces):
        if reader.layout:
            break
    return reader.layout


def _tags(name: str, columns: _Columns) -> Iterator[_ColumnTags]:
    """Gold and predicted tags of each sentence."""
    options = column_options(columns.data, with_tags=True)
    assert options.tag is not None  # columns are counted from the end where none is named
    tags = (options.tag, columns.predicted)
    reader = ColumnReader(name, replace(options, features=columns.classes, tags=tags))
    for block in reader.blocks(columns.pieces):
        if (sentence := block.sentence) is not None:
            gold, predicted = sentence.columns
            yield _ColumnTags(
                sentence.words, gold.values, predicted.values, sentence.lines, sentence.features
            )
    if reader.layout is not None:
        # Predictions in which nothing was found have no such key; gold labels have.
        reader.require_keys(reader.layout.columns[0])


def _noting_classes(
    tags: Iterable[_ColumnTags], name: str, note: Callable[[str], None]
) -> Iterator[_ColumnTags]:
    """The same; with a note at the end where the columns before the tags look like classes."""
    values: set[str] = set()
    alike = True
    for each in tags:
        if alike and len(each.words) > 1:
            values.update(cells[0] for cells in each.classes)
            alike = all(cells.count(cells[0]) == len(cells) for cells in each.classes)
        yield each
    if len(values) > 1 and alike:  # a single one, such as "_", only fills its column
        note(
            f"{name}: the two columns before its tags have one value in each sentence, as classes "
            "do; they are not scored, as a column file is compared by its tags alone"
        )
