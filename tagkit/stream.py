"""Files -> tagged lines, piece by piece: memory does not grow with the input, order is kept.

What one read of a file or a pipe brings is tagged and written before the next read, so that output
begins before the input ends, and nothing that has arrived waits for what has not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from tagkit.corpus import column_options
from tagkit.formats.columns import Block, ColumnReader, append_column, looks_like_columns
from tagkit.formats.jsonl import to_json
from tagkit.formats.lines import open_bytes, read_lines, source_name
from tagkit.predictor import Predictor
from tagkit.sentence import Prediction, TaggedText

# Words that are tagged together: enough for batches of similar length.
_WINDOW_WORDS = 20_000

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How inputs are read and outputs written.

    Attributes:
        input_format: "text", "columns", or "auto".
        output_format: "columns" or "jsonl".
        encoding: of the inputs.
        confidence: whether probabilities are computed and, in JSON Lines, written.
        batch_size: sentences a batch, at most.
    """

    input_format: str
    output_format: str
    encoding: str
    confidence: bool
    batch_size: int


def tag_file(
    predictor: Predictor,
    path: str,
    options: StreamOptions,
    on_format: Callable[[str, str], None],
) -> Iterator[str]:
    """Output of one input file, or of standard input for '-', a few whole lines at a time.

    Args:
        predictor: the model.
        path: of the input.
        options: how to read and write.
        on_format: told the input's name and what it is read as, where that was to be found out.

    Raises:
        DataError: the input cannot be read.
        FormatError: a line of it cannot be.
    """
    source = source_name(path)
    with open_bytes(path) as file:
        pieces = read_lines(file, source, options.encoding)
        first = next(pieces, None)
        if first is None:
            return
        kind = options.input_format
        if kind == "auto":
            kind = "columns" if looks_like_columns(source, first) else "text"
            on_format(source, kind)
        tag = _tag_columns if kind == "columns" else _tag_text
        yield from tag(predictor, source, chain([first], pieces), options)


def _tag_text(
    predictor: Predictor, source: str, pieces: Iterator[list[str]], options: StreamOptions
) -> Iterator[str]:
    """Each line is a text of its own; a blank one is passed over."""
    number = 0
    for lines in pieces:
        numbered = [
            (place, line.removesuffix("\r"))
            for place, line in enumerate(lines, number + 1)
            if line.strip()
        ]
        number += len(lines)
        for window in _windows(numbered, [len(line) // 5 + 1 for _, line in numbered]):
            texts = predictor.predict(
                [line for _, line in window],
                batch_size=options.batch_size,
                confidence=options.confidence,
            )
            yield _joined(
                line
                for (place, _), tagged in zip(window, texts, strict=True)
                for line in _text_lines(tagged, source, place, options)
            )


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _text_lines(
    tagged: TaggedText, source: str, place: int, options: StreamOptions
) -> Iterator[str]:
    if options.output_format == "jsonl":
        yield to_json(tagged, source, place)
        return
    for sentence in tagged.sentences:
        for token in sentence:
            sure = f"\t{token.probability:.4f}" if options.confidence else ""
            yield f"{token.text}\t{token.tag}{sure}"
        yield ""


def _tag_columns(
    predictor: Predictor, source: str, pieces: Iterator[list[str]], options: StreamOptions
) -> Iterator[str]:
    """Lines as they were with a column more, or a JSON object a sentence."""
    # A format that was told from the training file need not be this file's.
    data = replace(column_options(predictor.config.data, with_tags=False), format="auto")
    reader = ColumnReader(source, data)
    for blocks in chain(map(reader.feed, pieces), [reader.close()]):
        ready = list(blocks)
        for window in _windows(ready, [len(block.rows) for block in ready]):
            yield _joined(_block_lines(predictor, reader, source, window, options))


def _block_lines(
    predictor: Predictor,
    reader: ColumnReader,
    source: str,
    blocks: Sequence[Block],
    options: StreamOptions,
) -> Iterator[str]:
    sentences = [block.sentence for block in blocks if block.sentence]
    size, confidence = options.batch_size, options.confidence
    if options.output_format == "jsonl":
        texts = iter(predictor.predict(sentences, batch_size=size, confidence=confidence))
        for block in blocks:
            if block.sentence:
                yield to_json(next(texts), source, block.first_line + block.rows[0])
        return
    found = iter(predictor.tag(sentences, batch_size=size, confidence=confidence))
    for block in blocks:
        columns = _columns(next(found), reader) if block.sentence else ()
        yield from append_column(block, reader.layout, columns)


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
