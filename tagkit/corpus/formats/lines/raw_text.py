"""Raw text: each line that is not blank is a text, without classes, spans or tags."""

from collections.abc import Iterable, Iterator

from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.pieces import OutputPiece, Writing, one_file, require_line
from tagkit.corpus.source.source import Source
from tagkit.text.records import Document, Sentence


def read_text_lines(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a line; blank ones are skipped."""
    for number, line in source.numbered():
        if line.strip():
            yield Document(line, source=source.name, line=number)


def write_text_lines(items: Iterable[Item], writing: Writing) -> Iterator[OutputPiece]:
    """A line a text; the words of a sentence whose text is not known are joined by blanks."""
    return one_file(_lines(items, writing))


def _lines(items: Iterable[Item], writing: Writing) -> Iterator[str]:
    noted: set[str] = set()
    for item in items:
        for what in _more_than_text(item):
            if what not in noted:
                noted.add(what)
                writing.note(f"raw text has no place for {what}: they are left out")
        if isinstance(item, Document):
            text = item.text
        else:
            # A blank before each comma, but nothing is known of the real text.
            text = " ".join(item.words) if item.text is None else item.text
        require_line(item, text, "raw text")
        yield text


def _more_than_text(item: Item) -> Iterator[str]:
    if isinstance(item, Sentence):
        if item.tags is not None:
            yield "tags"
        if item.features:
            yield "feature columns"
    elif item.spans:
        yield "spans"
    if item.labels:
        yield "labels"
