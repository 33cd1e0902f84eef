"""What writers yield: pieces of text, each for one of the files of the output; and their checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tagkit.errors import FormatError
from tagkit.text.records import Document, Sentence
from tagkit.wording import quoted

# The file of a record that does not know it.
_NO_FILE = "input"


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """A stretch of an output.

    Attributes:
        file: which of the output's files it belongs to, by its path inside the output folder;
            empty where the output is one file.
        text: to be appended to that file.
    """

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Writing:
    """Options of the writers of all formats.

    Attributes:
        plain: whether tags are plain labels (parts of speech, say) rather than those of spans.
        single: whether the output is to be one file (or one pair of files) where the format could
            also fill a folder with one a document.
        note: called with a sentence on what the format cannot hold and is therefore left out.
        blank_labels: whether a table may have a text without a label, as a model that finds none
            leaves it; a corpus to learn from may not.
        several_classes: whether a text may have several classes, and so none of them.
        names: of what records have beside their text and annotation, where all records are known;
            None for what the first one has.
    """

    plain: bool
    single: bool
    note: Callable[[str], None]
    blank_labels: bool = False
    several_classes: bool = False
    names: Sequence[str] | None = None


def naming_file(pieces: Iterable[OutputPiece], file: Callable[[], str]) -> Iterator[OutputPiece]:
    """The same pieces; errors of sentences, which do not know their file, name that of `file`.

    Raises:
        FormatError: what the writer raises.
    """
    try:
        yield from pieces
    except FormatError as error:
        if error.source != _NO_FILE:
            raise
        raise FormatError(file(), error.line, error.problem) from None


def one_file(lines: Iterable[str]) -> Iterator[OutputPiece]:
    """Lines, without their ends, as pieces of an output that is one file."""
    # A generator: a corpus is written as it is read, and need not fit in memory twice.
    return (OutputPiece("", f"{line}\n") for line in lines)


def cannot_hold(item: Sentence | Document, format: str, what: str) -> FormatError:
    """The error of a record that a format has no way to write.

    Args:
        item: the record.
        format: name of the format that is written.
        what: names what it cannot write, as in 'a line end in the text'.
    """
    if isinstance(item, Document):
        source, line, text = item.source, item.line, item.text
    else:
        source, line, text = "", item.lines[0] if item.lines else 1, " ".join(item.words)
    problem = f"{format} cannot hold {what}: {quoted(text)}. Try another format"
    return FormatError(source or _NO_FILE, line, problem)


def require_line(item: Sentence | Document, text: str, format: str) -> None:
    """Make sure that the text of a record is a line of its own.

    Raises:
        FormatError: it is not: it is blank or has a line end in it.
    """
    if not text.strip():
        raise cannot_hold(item, format, "a blank text")
    forbid_line_ends(item, text, format)


def forbid_line_ends(item: Sentence | Document, text: str, format: str) -> None:
    """Make sure that the text of a record does not go on in another line.

    Raises:
        FormatError: it does.
    """
    # A \r alone too: it would be taken for a part of a line end from Windows.
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
        shown = quoted(", ".join(item.labels))
        raise cannot_hold(item, format, f"several labels of one text ({shown})")
    # Whatever is written has to be read back, and readers refuse blank labels.
    if not item.labels[0].strip():
        raise cannot_hold(item, format, f"a blank label ({quoted(item.labels[0])})")
    return item.labels[0]


def note_left_out(item: Sentence, holder: str, writing: Writing) -> None:
    """Say that features and classes are left out, where a sentence has some.

    Args:
        item: a sentence that is written.
        holder: the format and its verb: "slash tags have".
        writing: how it is written.
    """
    found = ["feature columns"] * bool(item.features) + ["classes"] * bool(item.labels)
    if found:
        writing.note(f"{holder} no place for {' and '.join(found)}: they are left out")


def noting_spans(items: Iterable[Document], format: str, writing: Writing) -> Iterator[Document]:
    """The documents as they are; a note says once that spans are left out, where there are some."""
    noted = False
    for item in items:
        if item.spans and not noted:
            noted = True
            writing.note(f"{format} has no place for spans: the spans are left out")
        yield item


def note_changed_name(item: Document, name: str, format: str, writing: Writing) -> None:
    """Say that a file has another name than its document, where it has; `name` is the file's."""
    if item.name and name != item.name:
        writing.note(
            f"{format} names files after the ids of their texts: ids that are no names of files, "
            "or that come twice, are changed"
        )
