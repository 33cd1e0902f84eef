"""A scored corpus with the predictions beside its gold labels: `dev.pred` and `test.pred` of a run.

    column files          their lines with the predicted tag appended, as `tagkit predict` writes
    other tagged corpora  word, feature columns, classes, gold tag and predicted tag in columns
    texts with classes    the format of the corpus, with the predicted classes
    what these cannot hold, and corpora in folders: JSON Lines as `tagkit predict` writes them

Predictions are those that the corpus was scored with. Words and gold labels come from memory; a
column file is read again for its comments and other columns only if it is a file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tagkit.config import DataConfig
from tagkit.corpus.alignment import to_document
from tagkit.corpus.dataset import Split
from tagkit.corpus.formats.columns.layout import column_options
from tagkit.corpus.formats.columns.reader import Block, ColumnReader
from tagkit.corpus.formats.columns.writer import append_column, write_columns
from tagkit.corpus.formats.options import silent, source_of
from tagkit.corpus.formats.pieces import Writing
from tagkit.corpus.formats.source import is_pipe
from tagkit.corpus.formats.table import FORMATS, Format
from tagkit.errors import DataError, FormatError
from tagkit.inference.annotate import AnswerOptions, style_of
from tagkit.inference.inputs import as_tagged, as_text
from tagkit.inference.predictor import Predictor
from tagkit.inference.render import answer_lines
from tagkit.inference.style import Origin
from tagkit.limits import BATCH_SIZE
from tagkit.text.records import Document, Prediction, Sentence
from tagkit.text.schemes import PLAIN

_NO_CLASS = "_"  # in a column, which cannot be empty
_WRITING = Writing(plain=False, single=True, note=silent)
_JSONL = AnswerOptions("jsonl", False, 0, None, BATCH_SIZE, None)


def predicted_text(
    predictor: Predictor, split: Split, predictions: Sequence[Prediction], file: str
) -> str:
    """The content of a file with a corpus's predictions.

    Args:
        predictor: the model.
        split: the corpus.
        predictions: for its sentences, in order.
        file: that the corpus was read from, perhaps as a part of it.
    """
    gives_tags = predictor.task.gives.tags
    if gives_tags and split.layout is not None:
        lines = _appended(predictor, split, predictions, file)
        if lines is not None:
            return "".join(f"{line}\n" for line in lines)
    write = _in_columns if gives_tags else _in_format_of_texts
    try:
        return "".join(write(predictor, split, predictions))
    except FormatError:  # JSON holds what a line of cells cannot, such as a tab
        return "".join(_as_json(predictor, split, predictions))


def _appended(
    predictor: Predictor, split: Split, predictions: Sequence[Prediction], file: str
) -> list[str] | None:
    """The corpus's lines with the predicted tags; None where the file does not hold it any more."""
    if is_pipe(file):
        return None
    data = predictor.config.data.model_copy(update={"format": split.format})
    # A sentence is known by its first line: a part that was split off is not in one piece.
    found = {
        sentence.lines[0]: (sentence, prediction)
        for sentence, prediction in zip(split.sentences, predictions, strict=True)
    }
    lines: list[str] = []
    try:
        reader, blocks = _blocks(file, data)
    except DataError:  # removed, or another file by now
        return None
    # Of a part of a file only its own sentences, without what stands between them.
    is_part = sum(block.sentence is not None for block in blocks) > len(found)
    for block in blocks:
        tags: Sequence[str] = ()
        if block.sentence is not None:
            sentence, prediction = found.pop(block.sentence.lines[0], (None, None))
            if sentence is None or prediction is None:
                continue
            if sentence.words != block.sentence.words:
                return None
            tags = _tags(predictor, split, prediction)
            if prediction.columns:  # one more cell a column, as `tagkit predict` writes them
                separator = "\t" if reader.layout is None or reader.layout.tabs else " "
                values = (column.values for column in prediction.columns)
                tags = [separator.join(cells) for cells in zip(*values, strict=True)]
        elif is_part:
            continue
        lines += append_column(block, reader.layout, tags)
    return None if found else lines


def _blocks(file: str, data: DataConfig) -> tuple[ColumnReader, list[Block]]:
    source = source_of(file, data)
    reader = ColumnReader(source.name, column_options(data, with_tags=True))
    return reader, list(reader.blocks(source.pieces()))


def _tags(predictor: Predictor, split: Split, prediction: Prediction) -> Sequence[str]:
    """The predicted tags in the scheme of the gold ones beside them."""
    return predictor.tags_in(prediction, split.scheme or PLAIN)


def _in_columns(
    predictor: Predictor, split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """Gold tag and predicted tag come last, where `tagkit eval` looks for them."""
    with_classes = predictor.task.gives.classes

    def row(sentence: Sentence, prediction: Prediction) -> Sentence:
        cells = sentence.features
        # The same cells at each token: gold classes, then predicted ones.
        for labels in (sentence.labels, prediction.labels) if with_classes else ():
            cells += ((",".join(labels) or _NO_CLASS,) * len(sentence),)
        if prediction.columns:  # all gold columns, then all predicted ones
            cells += tuple(column.values for column in (*sentence.columns, *prediction.columns))
            return Sentence(sentence.words, cells[-1], cells[:-1])
        cells += (sentence.tags or (),)
        return Sentence(sentence.words, tuple(_tags(predictor, split, prediction)), cells)

    rows = map(row, split.sentences, predictions)
    return (piece.text for piece in write_columns(rows, _WRITING))


def _in_format_of_texts(
    predictor: Predictor, split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """The corpus with the predicted classes in place of its own."""
    format = _format_of_texts(split)
    if format is None:
        return _as_json(predictor, split, predictions)
    documents = (
        _document(replace(sentence, labels=prediction.labels), split)
        for sentence, prediction in zip(split.sentences, predictions, strict=True)
    )
    return (piece.text for piece in format.write(documents, _WRITING))


def gold_text(split: Split) -> str:
    """The content of a file with a corpus of texts and its own classes, in its format or JSON."""
    format = _format_of_texts(split) or FORMATS["jsonl-texts"]
    documents = [_document(sentence, split) for sentence in split.sentences]
    return "".join(piece.text for piece in format.write(documents, _WRITING))


def _format_of_texts(split: Split) -> Format | None:
    """The format of a corpus of texts in one file; None of any other corpus."""
    format = FORMATS.get(split.format)
    return format if format and format.holds == "classes" and not format.many_files else None


def _document(sentence: Sentence, split: Split) -> Document:
    return replace(to_document(sentence, plain=True, source=split.path), tokens=None)


def _as_json(
    predictor: Predictor, split: Split, predictions: Sequence[Prediction]
) -> Iterator[str]:
    """A JSON object for each text, with what the model predicts."""
    style, tokenizer = style_of(predictor, _JSONL), predictor.config.data.tokenizer
    for sentence, prediction in zip(split.sentences, predictions, strict=True):
        text = as_text(sentence, tokenizer, whole=predictor.task.is_whole)
        origin = Origin(split.path, sentence.lines[0] if sentence.lines else 1)
        tagged = as_tagged(text, [prediction])
        yield from (f"{line}\n" for line in answer_lines(tagged, style, origin))
