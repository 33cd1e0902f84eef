"""One window of input -> its lines of output; windows are independent of each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tagkit.corpus.formats.columns.layout import Layout
from tagkit.corpus.formats.columns.reader import Block
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.formats.options import Item
from tagkit.errors import DataError, FormatError, shorten
from tagkit.inference.predictor import Predictor
from tagkit.inference.render import Origin, Style, answer_lines, class_cells
from tagkit.inference.tag_cells import rows_of
from tagkit.limits import MAX_LENGTH
from tagkit.text.records import Document, Prediction, TaggedText
from tagkit.wording import Message, Setting


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is predicted for each text, and how it is written.

    Attributes:
        output_format: "columns", "tsv" (only for a classifier) or "jsonl".
        confidence: whether probabilities are computed and written.
        top: number of classes written for each text, the most probable; 0 for its labels.
        threshold: minimum class probability; None for that of the model.
        batch_size: maximum number of sentences in a batch.
        max_length: maximum number of words in a sentence before it is read in windows; None for
            the default.
    """

    output_format: Literal["columns", "tsv", "jsonl"]
    confidence: bool
    top: int
    threshold: float | None
    batch_size: int
    max_length: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """One text.

    Attributes:
        text: without its line end.
        number: of the line in the file, from 1.
        offset: of its first code point in the file's text.
    """

    text: str
    number: int
    offset: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of raw text.

    Attributes:
        file: name of the file.
        lines: the texts; blank ones are written as blank lines.
    """

    file: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a corpus in any format.

    Attributes:
        file: name of the file, for records that do not name theirs.
        items: the records.
    """

    file: str
    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A part of a column file.

    Attributes:
        file: name of the file.
        blocks: whole sentences, and the comments and blank lines between them.
        layout: of the lines; None before the first sentence.
    """

    file: str
    blocks: Sequence[Block]
    layout: Layout | None


Window = Lines | Records | Blocks


@dataclass(frozen=True, slots=True)
class Output:
    """The output for one window.

    Attributes:
        text: whole lines.
        longest: number of words in the longest sentence that was cut; 0 if none was.
        tokens: number of tokens in the window.
    """

    # Strings and numbers alone: workers send it from one process to another.
    text: str
    longest: int
    tokens: int


def style_of(predictor: Predictor, options: AnswerOptions) -> Style:
    """The style in which the model's predictions are written.

    Raises:
        DataError: the options need labels that the model does not predict.
    """
    # Before the first window, so that a wrong option does not show after an hour of reading.
    gives = predictor.task.gives
    if not gives.classes and (options.top or options.threshold is not None):
        top, threshold = Setting("top"), Setting("threshold")
        raise DataError(
            Message("this model tags: ", top, " and ", threshold, " are for classes of texts")
        )
    if predictor.task.is_whole and options.max_length is not None:
        limit = Setting("max_length")
        raise DataError(
            Message("this model classifies: ", limit, " is for tags, a text is read whole")
        )
    if gives.tags and options.output_format == "tsv":
        expected = Setting("output_format", "columns")
        raise DataError(Message("this model tags: expected ", expected, " or jsonl, found tsv"))
    return Style(
        format=options.output_format,
        confidence=options.confidence,
        gives=gives,
        # A set of strings has another order in each process; columns of tsv must not.
        classes=tuple(sorted(predictor.classes())),
        multi_label=predictor.config.head.several_classes,
        top=options.top,
        threshold=options.threshold or 0.0,
    )


class Annotator:
    """Predicts and renders windows of input with one model."""

    def __init__(self, predictor: Predictor, options: AnswerOptions) -> None:
        """`options` apply to all windows."""
        self.predictor = predictor
        self.options = options
        self.style = style_of(predictor, options)
        self._longest = self._tokens = 0

    def annotate(self, window: Window) -> Output:
        """The output for a window.

        Raises:
            DataError: the model cannot read it, or the format cannot hold the prediction.
        """
        # Counted while the lines below are consumed: they come from generators.
        self._longest = self._tokens = 0
        match window:
            case Lines():
                lines = self._texts(window)
            case Records():
                lines = self._records(window)
            case Blocks():
                lines = self._blocks(window)
        text = "".join(f"{line}\n" for line in lines)
        return Output(text, self._longest, self._tokens)

    def _texts(self, window: Lines) -> Iterator[str]:
        # Blank lines as well: a text without sentences costs nothing, and the lists stay parallel.
        answers = self._predict([line.text for line in window.lines])
        for line, answer in zip(window.lines, answers, strict=True):
            if line.text.strip():
                origin = Origin(window.file, line.number, line.offset)
                yield from answer_lines(answer, self.style, origin)
            else:  # so that line n of the output belongs to line n of the input
                yield ""

    def _records(self, window: Records) -> Iterator[str]:
        for item, answer in zip(window.items, self._predict(window.items), strict=True):
            yield from answer_lines(answer, self.style, _origin(item, window.file))

    def _blocks(self, window: Blocks) -> Iterator[str]:
        sentences = [block.sentence for block in window.blocks if block.sentence]
        if self.style.format != "columns" or not self.style.gives.tags:
            for sentence, answer in zip(sentences, self._predict(sentences), strict=True):
                yield from answer_lines(answer, self.style, _origin(sentence, window.file))
            return
        # `annotate`, not `predict`: columns need no offsets of tokens, which cost as much time as
        # the network.
        predictions = self.predictor.annotate(sentences, **self._predict_options())
        self._tokens += sum(map(len, sentences))
        found = zip(sentences, predictions, strict=True)
        for block in window.blocks:
            columns: Sequence[str] = ()
            if block.sentence:  # blocks without one are copied unchanged
                sentence, prediction = next(found)
                columns = self._columns(prediction, window.layout, _origin(sentence, window.file))
            yield from append_column(block, window.layout, columns)

    def _columns(self, answer: Prediction, layout: Layout | None, origin: Origin) -> Sequence[str]:
        """The text to append to each token's line."""
        # The separator of the input, so that the output is read as the input was.
        separator = "\t" if layout is None or layout.tabs else " "
        text = TaggedText(" ".join(answer.words), (), (), answer.labels, answer.scores)
        cells = class_cells(text, self.style, origin)
        # A class may contain spaces ("New York"), and would then be read back as two columns.
        if any(" " in cell for cell in cells) and separator == " ":
            problem = f"columns separated by blanks cannot hold the class {shorten(cells[0])}"
            remedy = Setting("output_format", "jsonl")
            raise FormatError(origin.file, origin.line, Message(f"{problem}; try ", remedy))
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
        answers = self.predictor.predict(inputs, **self._predict_options())
        self._tokens += sum(len(part) for each in answers for part in each.sentences)
        return answers

    def _predict_options(self) -> dict[str, Any]:
        return {
            "batch_size": self.options.batch_size,
            "confidence": self.options.confidence,
            "max_length": self.options.max_length or MAX_LENGTH,
            "threshold": self.options.threshold,
            "on_long": self._note_long,
        }

    def _note_long(self, words: int) -> None:
        self._longest = max(self._longest, words)


def _origin(item: Item, file: str) -> Origin:
    # A folder of documents is one input of many files, so a document names its own.
    if isinstance(item, Document):
        return Origin(item.source or file, item.line)
    return Origin(file, item.lines[0] if item.lines else 1)
