"""Files -> tagged lines, piece by piece: memory does not grow with the input, order is kept.

What one read of a file or a pipe brings is tagged and written before the next read, so that output
begins before the input ends, and nothing that has arrived waits for what has not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeVar

from tagkit.errors import DataError, FormatError
from tagkit.formats.answers import Origin, Style, answer_lines, class_cells
from tagkit.formats.columns import Block, ColumnReader
from tagkit.formats.columns_out import append_column
from tagkit.formats.layout import column_options
from tagkit.formats.lines import Source
from tagkit.formats.reading import Item, Reading
from tagkit.formats.table import recognise, settled
from tagkit.predictor import Predictor
from tagkit.sentence import Document, TaggedText

# Words that are tagged together: enough for batches of similar length.
_WINDOW_WORDS = 20_000

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How inputs are read and outputs written.

    Attributes:
        input_format: a format's name, or "auto".
        output_format: "columns", "tsv" (of a model of classes alone) or "jsonl".
        encoding: of the inputs.
        confidence: whether probabilities are computed and written.
        top: so many of a text's classes, the likeliest; 0 for those that are its own.
        threshold: probability from which on a class is one of a text's; None for the model's.
        batch_size: sentences a batch, at most.
        max_length: words of a sentence that is tagged in one.
        note: told what a person should know, in a sentence.
    """

    input_format: str
    output_format: Literal["columns", "tsv", "jsonl"]
    encoding: str
    confidence: bool
    top: int
    threshold: float | None
    batch_size: int
    max_length: int
    note: Callable[[str], None]


def style_of(predictor: Predictor, options: StreamOptions) -> Style:
    """How the model's answers are written.

    Raises:
        DataError: the model does not give what is asked for.
    """
    config = predictor.config
    classes = config.task != "tag"
    if not classes and (options.top or options.threshold is not None):
        raise DataError("this model tags: --top and --threshold are for classes of texts")
    if config.task != "classify" and options.output_format == "tsv":
        raise DataError("this model tags: expected --format columns or jsonl, found tsv")
    return Style(
        format=options.output_format,
        confidence=options.confidence,
        tags=config.task != "classify",
        classes=classes,
        several=config.head.multi_label == "yes",
        top=options.top,
        threshold=options.threshold or 0.0,
    )


def tag_file(predictor: Predictor, path: str, options: StreamOptions) -> Iterator[str]:
    """Output of one input, a file, a folder or '-', a few whole lines at a time.

    Raises:
        DataError: the input cannot be read.
        FormatError: a line of it cannot be.
    """
    source = Source(path, options.encoding)
    format = recognise(source, options.input_format, raw=True)
    tagger = _Tagger(predictor, source, options)
    if options.input_format == "auto" and tagger.has_content():
        options.note(f"{source.name}: read as {format.name} (--input-format says otherwise)")
    if format.name == "text":
        yield from tagger.text()
    elif format.name in ("columns", "conllu"):
        yield from tagger.columns()
    else:
        # A format that was told from the training file need not be this file's.
        data = predictor.config.data.model_copy(update={"encoding": options.encoding})
        reading = settled(Reading(data, with_tags=False, note=options.note), format)
        yield from tagger.items(format.read(source, reading))


class _Tagger:
    """Tags one input."""

    def __init__(self, predictor: Predictor, source: Source, options: StreamOptions) -> None:
        self.predictor = predictor
        self.source = source
        self.options = options
        self.style = style_of(predictor, options)
        self._said = False

    def has_content(self) -> bool:
        """Whether there is anything to read; a folder has."""
        return self.source.is_folder() or bool(self.source.beginning())

    def text(self) -> Iterator[str]:
        """Each line is a text of its own; a blank one is passed over.

        Where a text's classes are a line, a blank line stays one, so that lines keep their numbers.
        """
        keep = not self.style.tags and self.style.format == "columns"
        number, offset = 0, 0
        for lines in self.source.pieces():
            texts: list[tuple[int, int, str]] = []
            for number, line in enumerate(lines, number + 1):  # noqa: B020 - it goes on counting
                if keep or line.strip():
                    texts.append((number, offset, line.removesuffix("\r")))
                offset += len(line) + 1
            for window in _windows(texts, [len(line) // 5 + 1 for _, _, line in texts]):
                tagged = self._predict([line for _, _, line in window])
                yield _joined(
                    line
                    for (place, start, _), text in zip(window, tagged, strict=True)
                    for line in self._lines(text, Origin(self.source.name, place, start))
                )

    def columns(self) -> Iterator[str]:
        """Lines as they were with a column more, or a JSON object a sentence."""
        data = self.predictor.config.data.model_copy(update={"format": self.options.input_format})
        reader = ColumnReader(self.source.name, column_options(data, with_tags=False))
        for blocks in chain(map(reader.feed, self.source.pieces()), [reader.close()]):
            ready = list(blocks)
            for window in _windows(ready, [len(block.rows) for block in ready]):
                yield _joined(self._block_lines(reader, window))

    def items(self, items: Iterable[Item]) -> Iterator[str]:
        """The records of any other format, as if their texts or words were given."""
        ready: list[Item] = []
        words = 0
        for item in items:
            ready.append(item)
            words += len(item.text) // 5 + 1 if isinstance(item, Document) else len(item)
            # What has arrived is not to wait for what has not.
            if words >= _WINDOW_WORDS or self.source.drained:
                yield self._record_lines(ready)
                ready, words = [], 0
        if ready:
            yield self._record_lines(ready)

    def _record_lines(self, items: Sequence[Item]) -> str:
        return _joined(
            line
            for item, text in zip(items, self._predict(items), strict=True)
            for line in self._lines(text, self._origin(item))
        )

    def _origin(self, item: Item) -> Origin:
        if isinstance(item, Document):
            return Origin(item.source or self.source.name, item.line)
        return Origin(self.source.name, item.lines[0] if item.lines else 1)

    def _predict(self, inputs: Sequence[Any]) -> list[TaggedText]:
        return self.predictor.predict(
            inputs,
            batch_size=self.options.batch_size,
            confidence=self.options.confidence,
            max_length=self.options.max_length,
            threshold=self.options.threshold,
            on_long=self._say_long,
        )

    def _say_long(self, words: int) -> None:
        if not self._said:
            self._said = True
            self.options.note(
                f"{self.source.name}: a sentence has {words:,} words; those over "
                f"{self.options.max_length:,} are tagged in overlapping windows (--max-length)"
            )

    def _lines(self, answer: TaggedText, origin: Origin) -> Iterator[str]:
        if not answer.text.strip():
            yield ""  # a blank line, which is only here where it is to stay one
            return
        yield from answer_lines(answer, self.style, origin)

    def _block_lines(self, reader: ColumnReader, blocks: Sequence[Block]) -> Iterator[str]:
        sentences = [block.sentence for block in blocks if block.sentence]
        answers = self._predict(sentences)
        if self.style.format != "columns" or not self.style.tags:
            for sentence, answer in zip(sentences, answers, strict=True):
                yield from self._lines(answer, self._origin(sentence))
            return
        found = zip(sentences, answers, strict=True)
        for block in blocks:
            columns: Sequence[str] = ()
            if block.sentence:
                sentence, answer = next(found)
                columns = self._columns(answer, reader, self._origin(sentence))
            yield from append_column(block, reader.layout, columns)

    def _columns(self, answer: TaggedText, reader: ColumnReader, origin: Origin) -> Sequence[str]:
        """What stands behind each token's line."""
        separator = "\t" if reader.layout is None or reader.layout.tabs else " "
        of_text = class_cells(answer, self.style, origin)
        if any(" " in cell for cell in of_text) and separator == " ":
            raise FormatError(
                origin.file, origin.line, f"columns that blanks part cannot hold the class "
                f"{of_text[0]!r}; try --format jsonl"
            )  # fmt: skip
        return [
            separator.join(
                [
                    token.tag or "",
                    *([] if token.probability is None else [f"{token.probability:.4f}"]),
                    *of_text,
                ]
            )
            for token in answer.tokens
        ]


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _windows(items: Sequence[_Item], words: Sequence[int]) -> Iterator[Sequence[_Item]]:
    """Cut items into windows of `_WINDOW_WORDS` words, each of at least one item."""
    start, total = 0, 0
    for end, count in enumerate(words):
        if end > start and total + count > _WINDOW_WORDS:
            yield items[start:end]
            start, total = end, 0
        total += count
    if start < len(items):
        yield items[start:]
