"""Files -> annotated lines, piece by piece: memory does not grow with the input, order is kept.

What one read(2) of a file or a pipe returns is annotated and written before the next one. So output
begins before the input ends, and a conversation over two pipes (write a line, wait for its answer)
does not deadlock.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from tagkit.config import Config, DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.recognition import Found, find_format
from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.layout import CONLLU, Layout, begins_document, column_options
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import STDIN, Source
from tagkit.corpus.splits.expected_labels import refuse_unread_columns
from tagkit.errors import DataError, FormatError
from tagkit.inference.stream.annotate import Annotator
from tagkit.inference.stream.chunks import Blocks, Chunk, Line, Lines, Output, Records
from tagkit.inference.stream.journal import Journal
from tagkit.limits import WINDOW_WORDS
from tagkit.models.answers.kind import COLUMNS, Style
from tagkit.text.documents import DocumentParts
from tagkit.text.records import Document, Sentence

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How inputs are read.

    Attributes:
        input_format: a format's name, or "auto".
        encoding: of the inputs.
        max_length: words of the longest sentence that is tagged as a whole; quoted in a note.
        note: called with messages for the user, one sentence each.
        progress: called with the number of tokens of each piece that is ready to be written, and
            with how many bytes of the input it and all before it come from; 0 if not known.
        on_bad_record: called with the error of each record that cannot be read or written, which
            is then left out; where it is None, the first such error is raised, after the output
            of all records before it.
        on_removed: called with the counts of what each piece is without, as it is too improbable.
        columns: options of [data] that name columns of the inputs; those that are not here are
            those of training.
        noted_formats: that were recognised and noted, each with the reason.
        document: name of the document that raw text is, in a folder of such; empty for none.
        journal: takes note of what is written, and knows what was before.
    """

    input_format: str
    encoding: str
    max_length: int
    note: Callable[[str], None]
    progress: Callable[[int, int], None]
    on_bad_record: Callable[[FormatError], None] | None = None
    on_removed: Callable[[Mapping[str, tuple[int, int]]], None] = lambda _: None
    columns: Mapping[str, int | str] = field(default_factory=dict)
    noted_formats: set[tuple[str, str]] = field(default_factory=set)
    document: str = ""
    journal: Journal = field(default_factory=Journal)


class Workers(Protocol):
    """Annotates chunks: a `SerialWorker` or a `WorkerPool`."""

    def submit(self, chunk: Chunk) -> Iterator[Output]:
        """Hand over a chunk; yields the outputs that are ready, in the order of the chunks."""

    def drain(self) -> Iterator[Output]:
        """Yield the outputs that are still due, waiting for them."""


class SerialWorker:
    """Annotates each chunk in this process, as soon as it is submitted."""

    def __init__(self, annotator: Annotator) -> None:
        """`annotator` holds the model."""
        self._annotator = annotator

    def submit(self, chunk: Chunk) -> Iterator[Output]:
        """Hand over a chunk; yields the outputs that are ready, in the order of the chunks."""
        yield self._annotator.annotate(chunk)

    def drain(self) -> Iterator[Output]:
        """Yield the outputs that are still due: none here."""
        yield from ()


def annotate_file(
    workers: Workers, config: Config, style: Style, path: str, options: StreamOptions
) -> Iterator[Output]:
    """The outputs for one input (a file, a folder or '-'), chunk by chunk.

    Args:
        workers: annotate the chunks.
        config: of the model.
        style: of the output.
        path: of the input.
        options: how it is read.

    Raises:
        DataError: the input cannot be read.
        FormatError: a line of it cannot be read.
    """
    journal = options.journal
    source = Source(path, options.encoding, config.data.max_line_chars, journal.digests)
    found = find_format(source, options.input_format, raw=True, texts=not style.answers.by_token)
    format = found.format
    config = _with_columns(config, dict(options.columns), source, format)
    _note_format(found, source, options)
    is_conllu = format.name == CONLLU
    if style.format == COLUMNS and is_conllu and style.keeps_lines(conllu=True):
        # Ranges and empty nodes are among its lines, which a column file would take for words.
        options.note(
            f"{source.name}: its lines get a column more, and are no CoNLL-U any more; "
            f"output_format={CONLLU} fills in its own columns"
        )
    chunks: Iterator[Chunk]
    if format.name == "text":
        chunks = _text(source, options.document, keep_blank=style.keeps_blank)
    elif format.is_grid:
        chunks = _columns(source, config, options, format)
    else:
        chunks = _items(source, config, options, format)
    noted = has_begun = False
    for output, bytes_read, taken in _outputs(workers, chunks, source, journal, style):
        has_begun |= bool(output.text)
        if taken is None:
            yield output
            continue
        if output.longest and not noted:  # once: a file of long lines has thousands
            noted = True
            options.note(
                f"{source.name}: a sentence has {output.longest:,} words; those over "
                f"{options.max_length:,} are tagged in overlapping windows (max_length)"
            )
        options.progress(output.tokens, bytes_read)
        options.on_removed(output.removed)
        if output.refused and options.on_bad_record is None:
            yield output.until_refused()
            raise output.refused[0].error
        if options.on_bad_record is not None:
            for refused in output.refused:
                options.on_bad_record(refused.error)
        yield output
        # Whoever asks for the next output has written this one.
        journal.add(output, taken, has_begun=has_begun)


def _with_columns(
    config: Config, columns: dict[str, int | str], source: Source, format: Format
) -> Config:
    """The configuration with other columns of the input than those of training."""
    if columns:
        refuse_unread_columns(DataConfig.model_validate(columns), source.name, [format])
    return config.model_copy(update={"data": config.data.model_copy(update=columns)})


def _note_format(found: Found, source: Source, options: StreamOptions) -> None:
    """Say once how inputs that are alike are read; not of what is piped as text, and looks so."""
    if source.path == STDIN and found.name == "text" and not found.is_doubtful:
        return
    # Not for an empty input, and without waiting for the first line of a pipe.
    if found.note and (source.is_folder() or source.beginning(waiting=False)):
        if (found.name, found.why) not in options.noted_formats:
            options.note(found.note)
        options.noted_formats.add((found.name, found.why))


def joined_texts(
    inputs: Iterable[Iterable[Output]], style: Style, before: str = ""
) -> Iterator[str]:
    """The lines of several inputs, one after the other.

    Args:
        inputs: the outputs for each.
        style: of the output, in a format that the answers write.
        before: the last characters that are written already.
    """
    end = "\n" * style.apart + before
    for outputs in inputs:
        is_first = True
        for text in (output.text for output in outputs if output.text):
            if is_first:
                end = end.replace("\r", "")
                yield "\n" * (style.apart - (len(end) - len(end.rstrip("\n"))))
            is_first = False
            yield text
            end = f"{end}{text[-4:]}"[-4:]


def _outputs(
    workers: Workers, chunks: Iterator[Chunk], source: Source, journal: Journal, style: Style
) -> Iterator[tuple[Output, int, tuple[int, str] | None]]:
    """The chunks' outputs; all of them before a read that may have to wait, or has failed.

    Each comes with the number of bytes that had been read when its chunk was taken, since reading
    may be many chunks ahead, and with what the journal has noted then. With None in its place
    come those that are written already, for what is joined with them.
    """
    places: deque[tuple[int, tuple[int, str]]] = deque()

    def placed(outputs: Iterator[Output]) -> Iterator[tuple[Output, int, tuple[int, str]]]:
        return ((output, *places.popleft()) for output in outputs)

    while True:
        try:
            chunk = next(chunks, None)
        except DataError:  # of the input: what was read before it is answered first
            yield from placed(workers.drain())
            raise
        if chunk is None:
            break
        if journal.is_behind:
            again = partial(_again, workers, chunk)
            for output in journal.repeated(again, by_record=style.row is not None):
                yield output, 0, None
            journal.skip()
            continue
        places.append((source.bytes_read, journal.take()))
        yield from placed(workers.submit(chunk))
        # Taking the next chunk reads on. If that would block, whoever writes the input may be
        # waiting for our output first.
        if source.waits():
            yield from placed(workers.drain())
    yield from placed(workers.drain())


def _again(workers: Workers, chunk: Chunk) -> list[Output]:
    """The output of a chunk, while no other one is due."""
    return [*workers.submit(chunk), *workers.drain()]


def _text(source: Source, document: str, *, keep_blank: bool) -> Iterator[Lines]:
    """Each line is one text."""
    number, offset, begins = 0, 0, bool(document)
    for lines in source.pieces():
        texts: list[Line] = []
        for number, line in enumerate(lines, number + 1):  # noqa: B020 - continues to count
            if keep_blank or line.strip():
                texts.append(Line(line.removesuffix("\r"), number, offset))
            offset += len(line) + 1  # in code points, \n included; \r is still part of the line
        # Tokens are not known yet; a word and its blank have about 5 characters or more.
        for chunk in _chunks(texts, [len(line.text) // 5 + 1 for line in texts]):
            yield Lines(source.name, chunk, document, begins)
            begins = False


def _columns(
    source: Source, config: Config, options: StreamOptions, format: Format
) -> Iterator[Blocks]:
    """Sentences of a column file, with the comments and blank lines between them."""
    data = config.data.model_copy(update={"format": format.name})
    chunks = _document_chunks(config, options)
    errors: list[FormatError] = []
    reader = ColumnReader(source.name, column_options(data, with_tags=False), errors.append)

    def usable(blocks: Iterable[LineBlock]) -> tuple[list[LineBlock], FormatError | None]:
        """The blocks up to an error that ends the job, and this error."""
        ready: list[LineBlock] = []
        for block in blocks:
            # A sentence without one of its lines is another sentence, so all of it is left out.
            if errors and options.on_bad_record is None:
                return ready, errors[0]
            if errors and options.on_bad_record is not None:
                options.on_bad_record(errors[0])
                errors.clear()
            else:
                ready.append(block)
        return ready, None

    try:
        for blocks in map(reader.feed, source.pieces()):
            ready, error = usable(blocks)
            for chunk in _added(chunks, ready, reader.layout):
                yield Blocks(source.name, chunk, reader.layout)
            if error is not None:
                raise error
    except DataError:  # what was read before it is answered first
        if rest := chunks.rest():
            yield Blocks(source.name, rest, reader.layout)
        raise
    # The last sentence, where no blank line follows it. Only now all bytes have been seen.
    ready, error = usable(reader.close())
    for block in ready:
        for chunk in chunks.add(block, len(block.rows), block.sentence):
            yield Blocks(source.name, chunk, reader.layout)
    if rest := chunks.rest():
        yield Blocks(source.name, rest, reader.layout, source.facts.ends_last_line)
    _note_cut(chunks, source, config, options)
    if error is not None:
        raise error


class DocumentChunks(Generic[_Item]):
    """Gathers items, and gives them back in chunks of some words, each of at least one item.

    No chunk cuts a document. Where the model reads documents, an item waits until its document
    ends, or the part of it that is read as one sequence: `text/documents.py`. Else none waits.
    """

    def __init__(
        self, window_words: int, document_words: int, max_length: int, *, marked_only: bool = False
    ) -> None:
        """A chunk ends before it has more than `window_words`; the others as `DocumentParts`.

        With `document_words` of 0 each item is a document.
        """
        self._window_words = window_words
        self._parts = (
            DocumentParts(document_words, max_length, marked_only=marked_only)
            if document_words
            else None
        )
        self._chunk: list[_Item] = []
        self._words = 0  # of the chunk
        self._open: list[_Item] = []  # of a document that may go on
        self._open_words = 0

    @property
    def cut(self) -> bool:
        """Whether a document was longer than is read as one sequence."""
        return self._parts is not None and self._parts.cut

    def add(self, item: _Item, words: int, sentence: Sentence | None) -> Iterator[list[_Item]]:
        """Take an item; yields the chunks that are complete.

        Args:
            item: the next one.
            words: number of them in it.
            sentence: that it is; None where it is something else, such as lines between sentences
                or a text that is a document of its own.
        """
        parts = self._parts
        if parts is not None and sentence is not None and parts.begins(sentence):
            yield from self._close()
        self._open.append(item)
        self._open_words += words
        if parts is not None and sentence is None and words:  # lines between sentences have none
            parts.end()
        if parts is None or not parts.may_continue:
            yield from self._close()

    def end(self) -> Iterator[list[_Item]]:
        """End the document: a mark has come. Yields the chunks that are complete."""
        if self._parts is not None:
            self._parts.end()
        yield from self._close()

    def ready(self) -> Iterator[list[_Item]]:
        """The items that wait for no other one, as a chunk."""
        if self._chunk:
            yield self._chunk
        self._chunk, self._words = [], 0

    def rest(self) -> list[_Item]:
        """All items that have not been given back: the input has ended."""
        found = [*self._chunk, *self._open]
        self._chunk, self._open, self._words, self._open_words = [], [], 0, 0
        return found

    def _close(self) -> Iterator[list[_Item]]:
        """Move what is open, and complete now, into the chunk."""
        if self._words + self._open_words > self._window_words:
            yield from self.ready()
        self._chunk += self._open
        self._words += self._open_words
        self._open, self._open_words = [], 0


def _added(
    chunks: DocumentChunks[LineBlock], blocks: Sequence[LineBlock], layout: Layout | None
) -> Iterator[list[LineBlock]]:
    """The chunks that these blocks complete, and all of them that wait for no other one."""
    for block in blocks:
        # A document ends with the mark of the next one, not only with its first sentence.
        if block.sentence is None and layout is not None and begins_document(block.lines, layout):
            yield from chunks.end()
        yield from chunks.add(block, len(block.rows), block.sentence)
    yield from chunks.ready()


def _document_chunks(config: Config, options: StreamOptions) -> DocumentChunks[Any]:
    """Chunks of `WINDOW_WORDS` words, each of whole documents where these matter."""
    return DocumentChunks(
        WINDOW_WORDS,
        config.document_words,
        options.max_length,
        marked_only=config.marked_documents_only,
    )


def _note_cut(
    chunks: DocumentChunks[Any], source: Source, config: Config, options: StreamOptions
) -> None:
    if chunks.cut and config.encoder.document_words:
        limit = config.encoder.context_words
        options.note(
            f"{source.name}: a document has more than {limit:,} words; such documents are read in "
            "parts of up to so many, as in training"
        )


def _items(
    source: Source, config: Config, options: StreamOptions, format: Format
) -> Iterator[Records]:
    """The records of any other format."""
    # The model's configuration has the format and encoding of its training file. The columns of a
    # TSV and the label's key still come from there.
    data = config.data.model_copy(update={"encoding": options.encoding})
    reading = ReaderOptions(
        data,
        with_tags=False,
        with_refused=True,
        with_extra=True,
        digests=options.journal.digests,
        note=options.note,
        on_error=options.on_bad_record,
    )
    chunks = _document_chunks(config, options)
    try:
        for item in format.records(source, reading).items:
            sentence = None if isinstance(item, Document) else item
            words = len(item.text) // 5 + 1 if isinstance(item, Document) else len(item)
            for chunk in chunks.add(item, words, sentence):
                yield Records(source.name, chunk)
            # `drained`: all that has arrived is read, so the next record may have to be waited for.
            if source.drained:
                for chunk in chunks.ready():
                    yield Records(source.name, chunk)
    except DataError:  # what was read before it is answered first
        if rest := chunks.rest():
            yield Records(source.name, rest)
        raise
    if rest := chunks.rest():
        yield Records(source.name, rest)
    _note_cut(chunks, source, config, options)


def _chunks(items: Sequence[_Item], words: Sequence[int]) -> Iterator[Sequence[_Item]]:
    """Cut items into chunks of `WINDOW_WORDS` words, each of at least one item."""
    start, total = 0, 0
    for end, count in enumerate(words):
        if end > start and total + count > WINDOW_WORDS:
            yield items[start:end]
            start, total = end, 0
        total += count
    if start < len(items):
        yield items[start:]
