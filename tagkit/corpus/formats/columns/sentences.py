"""Column files -> sentences, with the layout of their lines."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from tagkit.corpus.formats.columns.conllu_text import has_other_text, with_text
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.source.layout import BLANK, Layout, column_options
from tagkit.corpus.source.options import ReaderOptions, ReadRecords
from tagkit.corpus.source.source import Source
from tagkit.errors import FormatError
from tagkit.text.records import Sentence
from tagkit.wording import plural


def read_columns(source: Source, reading: ReaderOptions) -> ReadRecords:
    """Sentences of a column file, CoNLL-U among them; with their text where that is wanted."""
    options = column_options(reading.data, with_tags=reading.with_tags)
    # None asks for every column: what convert must not lose, a model must not see unasked.
    if reading.all_features and not options.features:
        options = replace(options, features=None)
    if reading.all_features:  # as they are written
        options = replace(options, vectors=())
    options = replace(options, predicted=reading.own_columns)
    reader = ColumnReader(source.name, options, reading.on_error)
    blocks = reader.blocks(source.pieces())
    if reading.with_extra and reading.all_features:
        blocks = _noting_comments(blocks, reader, reading)
    # The layout is known from the first sentence on, so one is read before anything is returned.
    first = next((block for block in blocks if block.sentence is not None), None)
    if first is None or first.sentence is None:
        return ReadRecords(iter(()), reader.layout)
    layout = reader.layout
    has_probability = layout is not None and not layout.rows and layout.tag == layout.width - 2
    if layout is not None and reader.options.tag is None and has_probability:
        found = f"column {layout.width - 1} holds probabilities, and the tags are in column"
        reading.note(f"{source.name}: {found} {layout.tag}")
    ending = _required_keys(reader) if reading.require_keys else iter(())
    if reading.with_text and layout is not None and layout.conllu:
        following = (block for block in blocks if block.sentence is not None)
        with_texts = _with_texts(chain([first], following), source, reading, layout)
        return ReadRecords(chain(with_texts, ending), layout)
    # Every iterator that a sentence passes through costs time, so there is one.
    sentences = (block.sentence for block in blocks if block.sentence is not None)
    return ReadRecords(chain([first.sentence], sentences, ending), layout)


def _noting_comments(
    blocks: Iterator[LineBlock], reader: ColumnReader, reading: ReaderOptions
) -> Iterator[LineBlock]:
    """The blocks; of a file with comments, but not of CoNLL-U, it is said that they are left out.

    What is left out of CoNLL-U depends on the format that is written.
    """
    has_comments = False
    for block in blocks:
        others = len(block.lines) - len(block.rows)
        if not has_comments and others > (not block.lines[-1].strip(BLANK)):  # but a blank line
            rows = {*block.rows}
            lines = enumerate(block.lines)
            has_comments = any(line.startswith("#") and n not in rows for n, line in lines)
        yield block
    if has_comments and reader.layout is not None and not reader.layout.conllu:
        reading.note(f"{reader.source}: comments are left out")


def _required_keys(reader: ColumnReader) -> Iterator[Sentence]:
    """No sentence; asked for one at the end of a file, it makes sure of the keys there."""
    reader.require_keys()
    yield from ()


def _with_texts(
    blocks: Iterator[LineBlock], source: Source, reading: ReaderOptions, layout: Layout
) -> Iterator[Sentence]:
    """The sentences of CoNLL-U with their texts; those with an impossible range are refused."""
    other = first_other = 0  # sentences whose `# text` has other words; the line of the first
    for block in blocks:
        try:
            sentence = with_text(block, source.name, layout)
        except FormatError as error:
            reading.refuse(error.source, error.line, error.problem)
            continue
        if has_other_text(block, sentence):
            other += 1
            first_other = first_other or block.first_line
        yield sentence
    if other:
        count = plural(other, "sentence")
        reading.note(
            f"{source.name}:{first_other}: '# text' has other words than the sentence, whose text "
            f"is put together from these ({count})"
        )
