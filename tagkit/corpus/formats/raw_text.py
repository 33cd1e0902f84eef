"""Raw text: each line that is not blank is a text, without classes, spans or tags.

What all formats of a text a line ask of a document stands here too.
"""

from collections.abc import Iterable, Iterator

from tagkit.corpus.formats.options import Item, Reading
from tagkit.corpus.formats.pieces import Piece, Writing, cannot_hold, one_file
from tagkit.corpus.formats.source import Source
from tagkit.errors import shorten
from tagkit.text.records import Document, Sentence


def read_text_lines(source: Source, reading: Reading) -> Iterator[Document]:
    """A document a line; blank ones are passed over."""
    for number, line in source.numbered():
        if line.strip():
            yield Document(line, source=source.name, line=number)


def write_text_lines(items: Iterable[Item], writing: Writing) -> Iterator[Piece]:
    """A line a text; the words of a sentence whose text is not known are joined by blanks."""
    return one_file(_lines(items, writing))


def _lines(items: Iterable[Item], writing: Writing) -> Iterator[str]:
    told: set[str] = set()
    for item in items:
        for what in _more_than_text(item):
            if what not in told:
                told.add(what)
                writing.note(f"raw text has no place for {what}: they are left out")
        if isinstance(item, Document):
            text = item.text
        else:
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


def require_line(item: Item, text: str, format: str) -> None:
    """Make sure that the text of a record is a line of its own.

    Raises:
        FormatError: it is not: it is blank or has a line end in it.
    """
    if not text.strip():
        raise cannot_hold(item, format, "a blank text")
    forbid_line_ends(item, text, format)


def forbid_line_ends(item: Item, text: str, format: str) -> None:
    """Make sure that the text of a record does not go on in another line.

    Raises:
        FormatError: it does.
    """
    if "\n" in text or "\r" in text:
        raise cannot_hold(item, format, "a line end in the text")


def require_label(item: Document, format: str) -> str:
    """The one label of a document.

    Raises:
        FormatError: it has none, several, or a blank one.
    """
    if not item.labels:
        raise cannot_hold(item, format, "a text without a label")
    if len(item.labels) > 1:
        shown = shorten(", ".join(item.labels))
        raise cannot_hold(item, format, f"several labels of one text ({shown})")
    if not item.labels[0].strip():
        raise cannot_hold(item, format, f"a blank label ({shorten(item.labels[0])})")
    return item.labels[0]


def noting_spans(items: Iterable[Document], format: str, writing: Writing) -> Iterator[Document]:
    """The documents as they are; with the first one that has spans it is said that they go."""
    told = False
    for item in items:
        if item.spans and not told:
            told = True
            writing.note(f"{format} has no place for spans: the spans are left out")
        yield item
