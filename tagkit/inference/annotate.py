"""One window of input -> the text that is written for it; nothing is remembered in between."""

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
from tagkit.limits import MAX_LENGTH
from tagkit.text.records import Document, Prediction, TaggedText
from tagkit.wording import Message, Setting


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is to be said of each text, and how it is written.

    Attributes:
        output_format: "columns", "tsv" (of a model of classes alone) or "jsonl".
        confidence: whether probabilities are computed and written.
        top: so many of a text's classes, the likeliest; 0 for those that are its own.
        threshold: probability from which on a class is one of a text's; None for the model's.
        batch_size: sentences a batch, at most.
        max_length: words of a sentence that is tagged in one; None for the usual number.
    """

    output_format: Literal["columns", "tsv", "jsonl"]
    confidence: bool
    top: int
    threshold: float | None
    batch_size: int
    max_length: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """A text of its own, its number in the file, and its offset in the file's text."""

    text: str
    number: int
    offset: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of raw text.

    Attributes:
        file: its name.
        lines: to be annotated; blank ones stay as they are.
    """

    file: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of any corpus.

    Attributes:
        file: its name.
        items: the records.
    """

    file: str
    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Stretches of a column file.

    Attributes:
        file: its name.
        blocks: whole sentences and what stands between them.
        layout: of its lines.
    """

    file: str
    blocks: Sequence[Block]
    layout: Layout | None


Window = Lines | Records | Blocks


@dataclass(frozen=True, slots=True)
class Output:
    """What comes of one window.

    Attributes:
        text: whole lines.
        longest: words of the longest sentence that was tagged in windows; 0 where none was.
    """

    text: str
    longest: int


def style_of(predictor: Predictor, options: AnswerOptions) -> Style:
    """How the model's answers are written.

    Raises:
        DataError: the model does not give what is asked for.
    """
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
        tags=gives.tags,
        classes=tuple(sorted(predictor.classes())),
        several=predictor.config.head.several_classes,
        top=options.top,
        threshold=options.threshold or 0.0,
    )


class Annotator:
    """A model and how its answers are written."""

    def __init__(self, predictor: Predictor, options: AnswerOptions) -> None:
        """`options` are those of all windows."""
        self.predictor = predictor
        self.options = options
        self.style = style_of(predictor, options)
        self._longest = 0

    def annotate(self, window: Window) -> Output:
        """The window's output.

        Raises:
            DataError: the model cannot read it, or the format cannot hold the answer.
        """
        self._longest = 0
        match window:
            case Lines():
                lines = self._texts(window)
            case Records():
                lines = self._records(window)
            case Blocks():
                lines = self._blocks(window)
        return Output("".join(f"{line}\n" for line in lines), self._longest)

    def _texts(self, window: Lines) -> Iterator[str]:
        answers = self._predict([line.text for line in window.lines])
        for line, answer in zip(window.lines, answers, strict=True):
            if line.text.strip():
                origin = Origin(window.file, line.number, line.offset)
                yield from answer_lines(answer, self.style, origin)
            else:
                yield ""

    def _records(self, window: Records) -> Iterator[str]:
        for item, answer in zip(window.items, self._predict(window.items), strict=True):
            yield from answer_lines(answer, self.style, _origin(item, window.file))

    def _blocks(self, window: Blocks) -> Iterator[str]:
        sentences = [block.sentence for block in window.blocks if block.sentence]
        if self.style.format != "columns" or not self.style.tags:
            for sentence, answer in zip(sentences, self._predict(sentences), strict=True):
                yield from answer_lines(answer, self.style, _origin(sentence, window.file))
            return
        # Only tags are wanted: without the tokens' places, which cost as much as the model.
        found = zip(sentences, self.predictor.annotate(sentences, **self._how()), strict=True)
        for block in window.blocks:
            columns: Sequence[str] = ()
            if block.sentence:
                sentence, prediction = next(found)
                columns = self._columns(prediction, window.layout, _origin(sentence, window.file))
            yield from append_column(block, window.layout, columns)

    def _columns(self, answer: Prediction, layout: Layout | None, origin: Origin) -> Sequence[str]:
        """What stands behind each token's line."""
        separator = "\t" if layout is None or layout.tabs else " "
        text = TaggedText(" ".join(answer.words), (), (), answer.labels, answer.scores)
        of_text = class_cells(text, self.style, origin)
        if any(" " in cell for cell in of_text) and separator == " ":
            problem = f"columns that blanks part cannot hold the class {shorten(of_text[0])}"
            remedy = Setting("output_format", "jsonl")
            raise FormatError(origin.file, origin.line, Message(f"{problem}; try ", remedy))
        behind = "".join(f"{separator}{cell}" for cell in of_text)
        if answer.probabilities is None:
            return [f"{tag}{behind}" for tag in answer.tags] if behind else answer.tags
        return [
            f"{tag}{separator}{probability:.4f}{behind}"
            for tag, probability in zip(answer.tags, answer.probabilities, strict=True)
        ]

    def _predict(self, inputs: Iterable[Any]) -> list[TaggedText]:
        return self.predictor.predict(inputs, **self._how())

    def _how(self) -> dict[str, Any]:
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
    if isinstance(item, Document):
        return Origin(item.source or file, item.line)
    return Origin(file, item.lines[0] if item.lines else 1)
