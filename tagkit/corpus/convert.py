"""`tagkit convert`: a corpus in one format -> the same corpus in another.

Column files that stay column files keep every line, and get other tags alone. Everything else goes
through sentences or documents; what the new format cannot hold is said.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tagkit.config import DataConfig
from tagkit.corpus.alignment import overlaps, to_document, to_sentences
from tagkit.corpus.formats.columns.layout import column_options
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.columns.writer import replace_tags
from tagkit.corpus.formats.options import Item, Reading, source_of
from tagkit.corpus.formats.pieces import Piece, Writing, one_file
from tagkit.corpus.formats.table import Format, find_format, settled
from tagkit.errors import DataError, FormatError, SchemeError, SpanErrors
from tagkit.text.records import Document, Sentence
from tagkit.text.schemes import DISPLAY, Detection, convert, detect

_COLUMNS = ("columns", "conllu")


class Conversion:
    """One corpus on its way from one format to another."""

    def __init__(
        self,
        path: str,
        data: DataConfig,
        target: Callable[[Format], Format],
        scheme: str | None,
        *,
        single: bool,
        note: Callable[[str], None],
    ) -> None:
        """Look at the corpus, as far as its format shows.

        Args:
            path: of the corpus, a file or a folder, or '-'.
            data: how it is read.
            target: the format to write, given the one that is read.
            scheme: of the tags that are written; None for that of the corpus (IOB2 for spans of
                characters).
            single: whether a format that could fill a folder is to write one file or pair.
            note: told, in a sentence, what the target cannot hold.

        Raises:
            DataError: the corpus cannot be read.
        """
        self.source = source_of(path, data)
        found = find_format(self.source, data.format)
        self.format = found.format
        self.target = target(self.format)
        self.scheme = scheme
        self.single = single
        self.note = _once(note)
        if found.note:
            self.note(found.note)
        self.records = 0  # that have been written
        reading = Reading(data, all_features=True, with_text=True, note=self.note)
        self.reading = settled(reading, self.format)

    def pieces(self) -> Iterator[Piece]:
        """The corpus in its new format.

        Raises:
            DataError: it cannot be read, or holds nothing that the target could hold.
            FormatError: a line of it cannot be read, or a record cannot be written.
        """
        if self.format.name in _COLUMNS and self.format is self.target:
            yield from self._same_lines()
            return
        items = list(self.format.read(self.source, self.reading))
        if not items:
            raise DataError(f"{self.source.name}: holds nothing to convert")
        written: Iterator[Item]
        if self.target.holds == "tags":
            written = self._as_sentences(items)
        elif self.target.holds == "text":
            written = iter(items)
        else:
            written = self._as_documents(items)
        writing = Writing(self._plain(items), self.single, self.note)
        yield from self.target.write(self._counted(written), writing)

    def _counted(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.records += 1
            yield item

    def _same_lines(self) -> Iterator[Piece]:
        """Every line as it is, with other tags where another scheme is wanted."""
        options = column_options(self.reading.data, with_tags=self.scheme is not None)
        reader = ColumnReader(self.source.name, options)
        fed = chain(map(reader.feed, self.source.pieces()), [reader.close()])
        blocks = [block for found in fed for block in found]
        sentences = [block.sentence for block in blocks if block.sentence]
        if not sentences:
            raise DataError(f"{self.source.name}: holds nothing to convert")
        if self.scheme:
            self._detect(sentences)
        for block in blocks:
            self.records += block.sentence is not None
            if self.scheme and block.sentence and reader.layout:
                tags = convert(block.sentence.tags or (), self.scheme)
                yield from one_file(replace_tags(block, reader.layout, tags))
            else:
                yield from one_file(block.lines)

    def _as_sentences(self, items: Sequence[Item]) -> Iterator[Sentence]:
        """For formats of tagged tokens."""
        self._say_what_columns_lose(items)
        sentences = list(to_sentences(items, self.reading))
        if self.target.name != "conllu" and any(s.text is not None for s in sentences):
            self.note(
                f"{self.target.name} holds words alone: the white space between them is not kept"
            )
        scheme = self.scheme
        if self.scheme and any(sentence.tags for sentence in sentences):
            self._detect(sentences)
        for sentence in sentences:
            if scheme and sentence.tags:
                yield replace(sentence, tags=convert(sentence.tags, scheme))
            else:
                yield sentence

    def _as_documents(self, items: Sequence[Item]) -> Iterator[Document]:
        """For formats of spans of characters, or of classes."""
        self._say_what_columns_lose(items)
        plain = self._plain(items)
        documents = [item for item in items if isinstance(item, Document)]
        problems = [problem for document in documents for problem in overlaps(document)]
        if problems and self.target.holds == "spans":
            raise SpanErrors(problems, "Keep one of each two")
        for item in items:
            if isinstance(item, Document):
                self._check(item)
                yield item
                continue
            if plain and self.target.holds == "spans":
                raise DataError(
                    f"{self.source.name}: its tags are plain labels, which are no spans: "
                    f"{self.target.name} cannot hold them, jsonl-tokens or columns can"
                )
            if self.target.holds == "classes" and item.tags:
                self.note(f"{self.target.name} has no place for tags: they are left out")
            if item.features:
                self.note(f"{self.target.name} has no place for feature columns: they are left out")
            document = to_document(item, plain=plain, source=self.source.name)
            self._check(document)
            # A span of tokens is one of the text, whose tokens others find for themselves.
            keeps_tokens = self.target.name == "jsonl-spans"
            yield document if keeps_tokens else replace(document, tokens=None)

    def _check(self, document: Document) -> None:
        if self.target.holds == "classes" and not document.labels:
            raise FormatError(
                document.source or self.source.name,
                document.line,
                f"{self.target.name} wants a class for each text, and {self.format.name} has none "
                "here",
            )

    def _say_what_columns_lose(self, items: Sequence[Item]) -> None:
        if self.format.name == "conllu":
            self.note("of CoNLL-U, words and tags are taken: other columns and comments are left "
                      "out, multiword tokens and empty nodes too")  # fmt: skip

    def _plain(self, items: Iterable[Item]) -> bool:
        """Whether the corpus has plain labels; documents never have."""
        tags = [item.tags for item in items if isinstance(item, Sentence) and item.tags]
        return bool(tags) and self._judge(tags).scheme == "labels"

    def _detect(self, sentences: Sequence[Sentence]) -> None:
        """Say what is converted.

        Raises:
            DataError: the tags are plain labels, which are in no scheme.
        """
        found = self._judge([sentence.tags or () for sentence in sentences])
        if found.scheme == "labels":
            raise DataError(
                f"{self.source.name}: its tags are plain labels, which no scheme can be given to"
            )
        if found.illegal:
            self.note(f"{self.source.name}: {found}; ill-formed spans are read as conlleval does")
        if self.scheme:
            self.note(f"tags: {DISPLAY[found.scheme]} to {DISPLAY[self.scheme]}")

    def _judge(self, tags: Sequence[Sequence[str]]) -> Detection:
        named = self.reading.data.scheme
        if named != "auto":
            return Detection(named, 0, 0)
        try:
            return detect(tags)
        except SchemeError as error:
            raise DataError(f"{self.source.name}: {error.problem}") from None


def _once(note: Callable[[str], None]) -> Callable[[str], None]:
    """Says each sentence once."""
    said: set[str] = set()

    def say(text: str) -> None:
        if text not in said:
            said.add(text)
            note(text)

    return say
