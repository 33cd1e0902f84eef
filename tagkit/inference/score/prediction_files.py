"""A scored corpus with a model's predictions: `dev.pred` and `test.pred` of a run.

    CoNLL-U               its lines, the predicted columns filled, as `tagkit predict` writes them
    other column files    their lines with the predicted tag appended, likewise
    other tagged corpora  word, feature columns, classes, gold tag and predicted tag in columns
    texts with classes    the format of the corpus, with the predicted classes
    what these cannot hold, and corpora in folders: JSON Lines as `tagkit predict` writes them

Predictions are those that the corpus was scored with. Words and gold labels come from memory; a
column file is read again for its comments and other columns only if it is a file. CoNLL-U and texts
with classes have the predictions in place of the gold labels: `gold_text` has these.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagkit.config import Column
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.columns.writer import append_column, write_columns
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.corpus.records.alignment import to_document
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.layout import CONLLU_COLUMNS, PREDICTED, Layout, column_options
from tagkit.corpus.source.options import silent, source_of
from tagkit.corpus.source.pieces import Writing
from tagkit.corpus.source.source import is_pipe
from tagkit.errors import DataError, FormatError
from tagkit.models.answers.kind import JSONL, Origin, Style, answer_lines
from tagkit.text.records import Document, Prediction, Sentence
from tagkit.text.schemes import PLAIN

if TYPE_CHECKING:  # whose module imports torch
    from tagkit.inference.predict.predictor import Predictor

_NO_CLASS = "_"  # in a column, which cannot be empty
_WRITING = Writing(plain=False, single=True, note=silent)


def predicted_text(
    predictor: "Predictor", split: Split, predictions: Sequence[Prediction], file: str
) -> str:
    """The content of a file with a corpus's predictions.

    Args:
        predictor: the model.
        split: the corpus.
        predictions: for its sentences, in order.
        file: that the corpus was read from, perhaps as a part of it.
    """
    by_token = predictor.answers.by_token
    try:
        if by_token and (found := _lines_of(predictor, split, file)):
            return found.text(_with_predictions(found, predictor, split, predictions))
        write = _in_columns if by_token else _in_format_of_texts
        return "".join(write(predictor, split, predictions))
    except FormatError:  # JSON holds what a line of cells cannot, such as a tab
        return "".join(_as_json(predictor, split, predictions))


def gold_text(predictor: "Predictor", split: Split, file: str) -> str | None:
    """The content of a file with a corpus's gold labels.

    Args:
        predictor: the model.
        split: the corpus.
        file: that it was read from, perhaps as a part of it.

    Returns:
        None where `predicted_text` has them beside the predictions, and of a task whose corpora
        have none.
    """
    task = predictor.task
    if not (task.needs.tags or task.needs.classes):
        return None
    if not predictor.answers.by_token:
        documents = [_document(sentence, split) for sentence in split.sentences]
        json = FORMATS["jsonl-texts"]
        try:
            return _written(_format_of_texts(split) or json, documents, predictor)
        except FormatError:  # such as TREC whose classes were read without their fine part
            return _written(json, documents, predictor)
    found = _lines_of(predictor, split, file)
    if not found or not found.layout.conllu:
        return None
    return found.text(line for block, _ in found.blocks for line in block.lines)


@dataclass(frozen=True, slots=True)
class _ColumnLines:
    """The lines of a corpus in a column file.

    Attributes:
        layout: of the file.
        blocks: each with the index of its sentence in the corpus; None of lines between sentences.
        is_ended: whether the last line has a line end.
    """

    layout: Layout
    blocks: Sequence[tuple[LineBlock, int | None]]
    is_ended: bool

    def text(self, lines: Iterable[str]) -> str:
        """The content of a file with these lines, which ends as the corpus does if it is CoNLL-U.

        `tagkit predict` does the same.
        """
        text = "".join(f"{line}\n" for line in lines)
        return text if self.is_ended or not self.layout.conllu else text.removesuffix("\n")


def _lines_of(predictor: "Predictor", split: Split, file: str) -> _ColumnLines | None:
    """The corpus's lines; None where the file does not hold it any more, or has no columns."""
    if split.layout is None or is_pipe(file):
        return None
    data = predictor.config.data.model_copy(update={"format": split.format})
    try:
        source = source_of(file, data)
        reader = ColumnReader(source.name, column_options(data, with_tags=True))
        blocks = list(reader.blocks(source.pieces()))
    except DataError:  # removed, or another file by now
        return None
    # A sentence is known by its first line: a part that was split off is not in one piece.
    indices = {sentence.lines[0]: index for index, sentence in enumerate(split.sentences)}
    # Of a part of a file only its own sentences, without what stands between them.
    is_part = sum(block.sentence is not None for block in blocks) > len(indices)
    found: list[tuple[LineBlock, int | None]] = []
    for block in blocks:
        index = None
        if block.sentence is not None:
            index = indices.pop(block.sentence.lines[0], None)
            # Its tags too: the report is on those that were read for training.
            read = replace(block.sentence, tags=split.notation.read_all(block.sentence.tags or ()))
            if index is not None and _content(split.sentences[index]) != _content(read):
                return None
        is_header = reader.layout is not None and reader.layout.rows and not found
        if index is not None or (block.sentence is None and (is_header or not is_part)):
            found.append((block, index))
    if indices or reader.layout is None:
        return None
    return _ColumnLines(reader.layout, found, is_part or source.facts.ends_last_line)


def _content(sentence: Sentence) -> list[Sequence[str] | None]:
    return [sentence.words, sentence.tags, *(column.values for column in sentence.columns)]


def _with_predictions(
    found: _ColumnLines, predictor: "Predictor", split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """The lines of CoNLL-U with the predicted columns filled, others with a cell more for each.

    Raises:
        FormatError: a column cannot hold a prediction.
    """
    layout = found.layout
    for block, index in found.blocks:
        if index is None:
            names = [PREDICTED, *(f"{PREDICTED} {each.name}" for each in layout.columns[1:])]
            yield from block.lines if layout.conllu else append_column(block, layout, (), names)
            continue
        prediction = predictions[index]
        columns = [column.values for column in prediction.columns]
        columns = columns or [tuple(_tags(predictor, split, prediction))]
        if layout.conllu:
            values: dict[Column, Sequence[str]] = dict(
                zip(_gold_columns(layout), columns, strict=True)
            )
            yield from fill_columns(block, layout, values, split.path)
        else:
            rows = zip(*columns, strict=True)
            cells = [layout.separator.join(map(layout.cell, row)) for row in rows]
            yield from append_column(block, layout, cells)


def _gold_columns(layout: Layout) -> Iterator[Column]:
    """Names of the columns of CoNLL-U that the gold tags are in."""
    assert layout.tag is not None  # it was read with tags
    places = [(each.index, each.key) for each in layout.columns]
    for index, key in places or [(layout.tag, layout.tag_key)]:
        yield f"{CONLLU_COLUMNS[index]}.{key}" if key else CONLLU_COLUMNS[index]


def _tags(predictor: "Predictor", split: Split, prediction: Prediction) -> Sequence[str]:
    """The predicted tags in the scheme and the spelling of the gold ones."""
    return split.notation.written_all(predictor.tags_in(prediction, split.scheme or PLAIN))


def _in_columns(
    predictor: "Predictor", split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """Gold tag and predicted tag come last, where `tagkit eval` looks for them."""
    with_classes = predictor.task.needs.classes

    def row(sentence: Sentence, prediction: Prediction) -> Sentence:
        cells = sentence.features
        # The same cells at each token: gold classes, then predicted ones.
        for labels in (sentence.labels, prediction.labels) if with_classes else ():
            cells += ((",".join(labels) or _NO_CLASS,) * len(sentence),)
        if prediction.columns:  # all gold columns, then all predicted ones
            cells += tuple(column.values for column in (*sentence.columns, *prediction.columns))
            return Sentence(sentence.words, cells[-1], cells[:-1])
        cells += (split.notation.written_all(sentence.tags or ()),)
        return Sentence(sentence.words, tuple(_tags(predictor, split, prediction)), cells)

    rows = map(row, split.sentences, predictions)
    return (piece.text for piece in write_columns(rows, _WRITING))


def _in_format_of_texts(
    predictor: "Predictor", split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """The corpus with the predicted classes in place of its own."""
    format = _format_of_texts(split)
    if format is None or not predictor.task.needs.classes:
        return _as_json(predictor, split, predictions)
    documents = (
        _document(replace(sentence, labels=prediction.labels), split)
        for sentence, prediction in zip(split.sentences, predictions, strict=True)
    )
    return (piece.text for piece in format.write(documents, _writing(predictor)))


def _written(format: Format, documents: Sequence[Document], predictor: "Predictor") -> str:
    return "".join(piece.text for piece in format.write(documents, _writing(predictor)))


def _writing(predictor: "Predictor") -> Writing:
    return replace(_WRITING, several_classes=predictor.config.head.several_classes)


def _format_of_texts(split: Split) -> Format | None:
    """The format of a corpus of texts in one file; None of any other corpus."""
    format = FORMATS.get(split.format)
    return format if format and format.holds == "classes" and not format.many_files else None


def _document(sentence: Sentence, split: Split) -> Document:
    return replace(to_document(sentence, plain=True, source=split.path), tokens=None)


def _as_json(
    predictor: "Predictor", split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """A JSON object for each text, with what the model predicts."""
    style, tokenizer = Style(JSONL, predictor.answers), predictor.config.data.tokenizer
    for sentence, prediction in zip(split.sentences, predictions, strict=True):
        text = predictor.answers.read(sentence, tokenizer, whole=predictor.task.is_whole)
        origin = Origin(split.path, sentence.lines[0] if sentence.lines else 1)
        answer = predictor.answers.assemble(text, [prediction])
        yield from (f"{line}\n" for line in answer_lines(answer, style, origin))
