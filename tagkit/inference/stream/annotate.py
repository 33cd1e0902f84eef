"""One chunk of input -> its lines of output; chunks are independent of each other."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tagkit.corpus.formats.columns.conllu_text import with_text
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.layout import CONLLU, Layout
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.inference.predict.arguments import READS_WHOLE
from tagkit.inference.predict.min_confidence import Removed
from tagkit.inference.predict.prediction_sets import refuse_removal, require_sets
from tagkit.inference.stream.chunks import Blocks, Chunk, Lines, Output, Records, Refused
from tagkit.inference.write.answers import class_cells, require_written, to_items
from tagkit.inference.write.conllu_lines import column_values
from tagkit.inference.write.render import answer_lines
from tagkit.inference.write.style import (
    AUTO,
    COLUMNS,
    JSONL,
    Origin,
    Style,
    conllu_columns,
    origin_of,
    require_format,
)
from tagkit.inference.write.tag_cells import rows_of
from tagkit.limits import MAX_LENGTH
from tagkit.text.records import Prediction, Sentence, TagColumn, TaggedText
from tagkit.text.schemes import has_spans
from tagkit.wording import quoted

if TYPE_CHECKING:  # whose module imports torch
    from tagkit.inference.predict.predictor import Predictor

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is predicted for each text, and how it is written.

    Attributes:
        output_format: one of `style.formats_for`; "auto": CoNLL-U where the input is CoNLL-U and
            the model tags, else columns; or "show", whose lines are those of
            `highlight.Highlighted`.
        confidence: whether probabilities are computed and written.
        top: number of classes written for each text, the most probable; 0 for its labels.
        threshold: minimum class probability; None for that of the model.
        batch_size: maximum number of sentences in a batch.
        max_length: maximum number of words in a sentence before it is read in windows; None for
            the default.
        checked: whether each record is written once on trial, where its format is written from
            records: those that it cannot hold are then `Output.refused`, and its writer, which
            would end with the first of them, never gets them.
        min_confidence: probability from which on a span, label or class is kept; None to keep all.
        coverage: share of sets of answers that are to hold the right one, where sets are written
            beside each answer; None for none.
        beam: of the search for a continuation; None for a greedy search.
        max_units: most units of a continuation; None for the default.
    """

    output_format: str
    confidence: bool
    top: int
    threshold: float | None
    batch_size: int
    max_length: int | None
    checked: bool = False
    min_confidence: float | None = None
    coverage: float | None = None
    beam: int | None = None
    max_units: int | None = None


def style_of(predictor: "Predictor", options: AnswerOptions) -> Style:
    """The style in which the model's predictions are written.

    Raises:
        DataError: the options need labels that the model does not predict.
    """
    # Before the first chunk, so that a wrong option does not show after an hour of reading.
    gives = predictor.task.gives
    if not gives.classes and (options.top or options.threshold is not None):
        top, threshold = "top=...", "threshold=..."
        raise DataError(f"this model tags: {top} and {threshold} are for classes of texts")
    if predictor.task.is_whole and options.max_length is not None:
        raise DataError(READS_WHOLE)
    data = predictor.config.data
    spans = gives.tags and has_spans(data.scheme)
    require_format(
        options.output_format,
        gives,
        spans=spans,
        confidence=options.confidence,
        top=bool(options.top),
        several=bool(data.tag_columns),
        classes=sorted(predictor.classes()),
    )
    if options.coverage is not None:
        require_sets(predictor, options.coverage)
        refuse_removal(options.min_confidence)
        _require_room_for_sets(options.output_format)
    return Style(
        format=options.output_format,
        confidence=options.confidence,
        gives=gives,
        # A set of strings has another order in each process; columns of tsv must not.
        classes=tuple(sorted(predictor.classes())),
        multi_label=predictor.config.head.several_classes,
        top=options.top,
        # Of the classes that `top` lists, which need not be the labels of the text.
        threshold=max(options.threshold or 0.0, options.min_confidence or 0.0),
        spans=spans,
        columns=conllu_columns(data, spans=spans),
    )


def _require_room_for_sets(output_format: str) -> None:
    """Refuse a format that holds one answer for each sentence.

    Raises:
        DataError: it is one.
    """
    if output_format != JSONL:
        coverage, format = "coverage=...", f"output_format={JSONL}"
        found = "" if output_format == "auto" else f", found {output_format}"
        raise DataError(
            f"the sets of {coverage} need {format}{found}: other formats hold one answer for each "
            "sentence"
        )


class Annotator:
    """Predicts and renders chunks of input with one model."""

    def __init__(self, predictor: "Predictor", options: AnswerOptions) -> None:
        """`options` apply to all chunks."""
        self.predictor = predictor
        self.options = options
        self.style = style_of(predictor, options)
        self._longest = self._tokens = 0
        self._removed = Removed()
        self._ready: list[Any] = []
        self._refused: list[Refused] = []

    def input_format(self, given: str) -> str:
        """The format to read inputs in, where `given` is asked for."""
        return given

    def annotate(self, chunk: Chunk) -> Output:
        """The output for a chunk.

        Raises:
            DataError: the model cannot read it.
        """
        # Counted while the lines below are consumed: they come from generators.
        self._longest = self._tokens = 0
        self._removed = Removed()
        self._ready, self._refused = [], []
        for part in self._parts(chunk):  # one at a time: a refusal counts those before it
            self._ready.append(part)
        text, items = "", tuple[Item | TaggedText, ...]()
        if self.style.row is not None:
            items = tuple(self._ready)
        else:
            text = "".join(f"{line}\n" for line in self._ready)
            if isinstance(chunk, Blocks) and not chunk.ends_last_line and self._fills(chunk):
                text = text.removesuffix("\n")
        refused = tuple(self._refused)
        removed = self._removed.counts
        return Output(chunk.file, text, items, self._longest, self._tokens, refused, removed)

    def _parts(self, chunk: Chunk) -> Iterator[Any]:
        """The records of a format that is written from records; of any other the lines."""
        style = self.style
        if style.row is not None:
            for answer, origin in self._answers(chunk):
                if answer is not None:
                    yield from self._whole(self._items(answer, style.row, origin))
            return
        if style.format == AUTO:
            style = replace(style, format=CONLLU if self._fills(chunk) else COLUMNS)
        if isinstance(chunk, Blocks) and style.gives.tags:
            if style.format == COLUMNS or self._fills(chunk):
                yield from self._blocks(chunk, style)
                return
        for answer, origin in self._answers(chunk):
            if answer is None:  # so that line n of the output belongs to line n of the input
                yield ""
            else:
                yield from self._whole(answer_lines(answer, style, origin))

    def _items(
        self, answer: TaggedText, format: Format, origin: Origin
    ) -> Iterator[Item | TaggedText]:
        """The records of a text."""
        items = [*to_items(answer, format, self.style, origin)]
        if self.options.checked:
            require_written(items, format, self.style, origin)
        yield from items

    def _whole(self, parts: Iterator[_Part]) -> Sequence[_Part]:
        """The parts of a record: all of them or, where the format cannot hold it, none."""
        try:
            return [*parts]
        except FormatError as error:
            self._refused.append(Refused(error, len(self._ready)))
            return ()

    def _fills(self, chunk: Chunk) -> bool:
        """Whether the lines of CoNLL-U come back with their column filled."""
        is_conllu = isinstance(chunk, Blocks) and chunk.layout and chunk.layout.conllu
        style = self.style
        return bool(is_conllu) and style.gives.tags and style.format in (AUTO, CONLLU)

    def _answers(self, chunk: Chunk) -> Iterator[tuple[TaggedText | None, Origin]]:
        """The prediction for each text with its origin; None for a blank line."""
        match chunk:
            case Lines():
                # Blank lines as well: a text without sentences costs nothing, and the lists stay
                # parallel.
                texts = [line.text for line in chunk.lines]
                for line, answer in zip(chunk.lines, self._predict(texts), strict=True):
                    origin = Origin(chunk.file, line.number, line.offset)
                    yield answer if line.text.strip() else None, origin
                return
            case Records():
                items: Sequence[Item] = chunk.items
            case Blocks():
                items = _sentences(chunk)
        for item, answer in zip(items, self._predict(items), strict=True):
            yield answer, origin_of(item, chunk.file)

    def _blocks(self, chunk: Blocks, style: Style) -> Iterator[str]:
        """The lines of a column file with the predicted tags."""
        sentences = [block.sentence for block in chunk.blocks if block.sentence]
        # `annotate`, not `predict`: columns need no offsets of tokens, which cost as much time as
        # the network.
        predictions = self.predictor.annotate(sentences, **self._predict_options())
        self._tokens += sum(map(len, sentences))
        found = zip(sentences, predictions, strict=True)
        for block in chunk.blocks:
            if block.sentence is None:  # copied unchanged, but for fillers
                if style.format == CONLLU:
                    yield from block.lines
                else:
                    yield from append_column(block, chunk.layout, ())
                continue
            sentence, prediction = next(found)
            origin = origin_of(sentence, chunk.file)
            lines = self._filled if style.format == CONLLU else self._appended
            yield from self._whole(lines(block, chunk, prediction, style, origin))

    def _appended(
        self, block: LineBlock, chunk: Blocks, answer: Prediction, style: Style, origin: Origin
    ) -> Iterator[str]:
        """The lines of a sentence, each with what is predicted for its token."""
        yield from append_column(block, chunk.layout, self._columns(answer, chunk.layout, origin))

    def _filled(
        self, block: LineBlock, chunk: Blocks, answer: Prediction, style: Style, origin: Origin
    ) -> Iterator[str]:
        """The lines of a sentence of CoNLL-U with the predicted columns."""
        assert chunk.layout is not None  # there is a sentence
        cells = class_cells(_as_text(answer), style, origin)
        columns = answer.columns or (TagColumn("", answer.tags, answer.probabilities),)
        values = column_values(columns, cells, style.columns)
        yield from fill_columns(block, chunk.layout, values, chunk.file)

    def _columns(self, answer: Prediction, layout: Layout | None, origin: Origin) -> Sequence[str]:
        """The text to append to each token's line."""
        # The separator of the input, so that the output is read as the input was.
        separator = "\t" if layout is None or layout.tabs else " "
        cells = class_cells(_as_text(answer), self.style, origin)
        # A class may contain spaces ("New York"), and would then be read back as two columns.
        if any(" " in cell for cell in cells) and separator == " ":
            problem = f"columns separated by blanks cannot hold the class {quoted(cells[0])}"
            raise FormatError(origin.file, origin.line, f"{problem}; try output_format=jsonl")
        suffix = "".join(f"{separator}{cell}" for cell in cells)
        if answer.columns:
            return [f"{separator.join(row)}{suffix}" for row in rows_of(answer.columns)]
        if answer.probabilities is None:
            # The usual case without a copy of every tag.
            return [f"{tag}{suffix}" for tag in answer.tags] if suffix else answer.tags
        return [
            f"{tag}{separator}{probability:.4f}{suffix}"
            for tag, probability in zip(answer.tags, answer.probabilities, strict=True)
        ]

    def _predict(self, inputs: Iterable[Any]) -> list[TaggedText]:
        options, coverage = self._predict_options(), self.options.coverage
        answers: Sequence[TaggedText]
        if coverage is None:
            answers = self.predictor.predict(inputs, **options)
        else:
            answers = self.predictor.predict_sets(inputs, coverage, **options)
        self._tokens += sum(len(part) for each in answers for part in each.sentences)
        return [*answers]

    def _predict_options(self) -> dict[str, Any]:
        return {
            "batch_size": self.options.batch_size,
            "confidence": self.options.confidence,
            "max_length": self.options.max_length or MAX_LENGTH,
            "threshold": self.options.threshold,
            "min_confidence": self.options.min_confidence,
            "on_long": self._note_long,
            "on_removed": self._note_removed,
        }

    def _note_long(self, words: int) -> None:
        self._longest = max(self._longest, words)

    def _note_removed(self, removed: Removed) -> None:
        self._removed.merge(removed.counts)


def _sentences(chunk: Blocks) -> list[Sentence]:
    """The sentences of a column file; those of CoNLL-U with their texts."""
    found = []
    for block in chunk.blocks:
        if block.sentence is None:
            continue
        found.append(block.sentence)
        if chunk.layout is not None and chunk.layout.conllu:
            # A range that is none says nothing of the words, which can be tagged without a text.
            with suppress(FormatError):
                found[-1] = with_text(block, chunk.file, chunk.layout)
    return found


def _as_text(answer: Prediction) -> TaggedText:
    """A prediction with its classes alone."""
    return TaggedText(" ".join(answer.words), (), (), answer.labels, answer.scores)
