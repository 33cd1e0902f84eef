"""Files -> tagged lines, piece by piece: memory does not grow with the input, order is kept.

What one read of a file or a pipe brings is tagged and written before the next read, so that output
begins before the input ends, and nothing that has arrived waits for what has not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from tagkit.formats.columns import Block, ColumnReader
from tagkit.formats.columns_out import append_column
from tagkit.formats.jsonl import to_json
from tagkit.formats.layout import column_options
from tagkit.formats.lines import Source
from tagkit.formats.reading import Item, Reading
from tagkit.formats.table import recognise, settled
from tagkit.predictor import Predictor
from tagkit.sentence import Document, Prediction, TaggedText

# Words that are tagged together: enough for batches of similar length.
_WINDOW_WORDS = 20_000

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How inputs are read and outputs written.

    Attributes:
        input_format: a format's name, or "auto".
        output_format: "columns" or "jsonl".
        encoding: of the inputs.
        confidence: whether probabilities are computed and, in JSON Lines, written.
        batch_size: sentences a batch, at most.
        max_length: words of a sentence that is tagged in one.
        note: told what a person should know, in a sentence.
    """

    input_format: str
    output_format: str
    encoding: str
    confidence: bool
    batch_size: int
    max_length: int
    note: Callable[[str], None]


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
        self._said = False

    def has_content(self) -> bool:
        """Whether there is anything to read; a folder has."""
        return self.source.is_folder() or bool(self.source.beginning())

    def text(self) -> Iterator[str]:
        """Each line is a text of its own; a blank one is passed over."""
        number, offset = 0, 0
        for lines in self.source.pieces():
            texts: list[tuple[int, int, str]] = []
            for number, line in enumerate(lines, number + 1):  # noqa: B020 - it goes on counting
                if line.strip():
                    texts.append((number, offset, line.removesuffix("\r")))
                offset += len(line) + 1
            for window in _windows(texts, [len(line) // 5 + 1 for _, _, line in texts]):
                tagged = self._predict([line for _, _, line in window])
                yield _joined(
                    line
                    for (place, start, _), text in zip(window, tagged, strict=True)
                    for line in self._lines(text, self.source.name, place, start)
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
            for line in self._lines(text, *self._origin(item))
        )

    def _origin(self, item: Item) -> tuple[str, int]:
        """File and line that a record comes from."""
        if isinstance(item, Document):
            return item.source or self.source.name, item.line
        return self.source.name, item.lines[0] if item.lines else 1

    def _predict(self, inputs: Sequence[Any]) -> list[TaggedText]:
        return self.predictor.predict(
            inputs,
            batch_size=self.options.batch_size,
            confidence=self.options.confidence,
            max_length=self.options.max_length,
            on_long=self._say_long,
        )

    def _say_long(self, words: int) -> None:
        if not self._said:
            self._said = True
            self.options.note(
                f"{self.source.name}: a sentence has {words:,} words; those over "
                f"{self.options.max_length:,} are tagged in overlapping windows (--max-length)"
            )

    def _lines(
        self, tagged: TaggedText, document: str, line: int, offset: int | None = None
    ) -> Iterator[str]:
        if self.options.output_format == "jsonl":
            yield to_json(tagged, document, line, offset)
            return
        for sentence in tagged.sentences:
            for token in sentence:
                sure = f"\t{token.probability:.4f}" if self.options.confidence else ""
                yield f"{token.text}\t{token.tag}{sure}"
            yield ""

    def _block_lines(self, reader: ColumnReader, blocks: Sequence[Block]) -> Iterator[str]:
        sentences = [block.sentence for block in blocks if block.sentence]
        if self.options.output_format == "jsonl":
            for sentence, text in zip(sentences, self._predict(sentences), strict=True):
                yield to_json(text, self.source.name, sentence.lines[0])
            return
        found = iter(
            self.predictor.tag(
                sentences,
                batch_size=self.options.batch_size,
                confidence=self.options.confidence,
                max_length=self.options.max_length,
                on_long=self._say_long,
            )
        )
        for block in blocks:
            columns = _columns(next(found), reader) if block.sentence else ()
            yield from append_column(block, reader.layout, columns)


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _columns(prediction: Prediction, reader: ColumnReader) -> Sequence[str]:
    if prediction.probabilities is None:
        return prediction.tags
    separator = "\t" if reader.layout is None or reader.layout.tabs else " "
    return [
        f"{tag}{separator}{probability:.4f}"
        for tag, probability in zip(prediction.tags, prediction.probabilities, strict=True)
    ]


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
