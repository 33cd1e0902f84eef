"""What writers give: stretches of text, each for one of the files of the output."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tagkit.errors import FormatError, shorten
from tagkit.text.records import Document, Sentence


@dataclass(frozen=True, slots=True)
class Piece:
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
    """What the writers of all formats are given.

    Attributes:
        plain: whether tags are plain labels (parts of speech, say) rather than those of spans.
        single: whether the output is to be one file (or one pair of files) where the format could
            also fill a folder with one a document.
        note: told, in a sentence, what the format cannot hold and is therefore left out.
    """

    plain: bool
    single: bool
    note: Callable[[str], None]


def one_file(lines: Iterable[str]) -> Iterator[Piece]:
    """Lines, without their ends, as pieces of an output that is one file."""
    return (Piece("", f"{line}\n") for line in lines)


def cannot_hold(item: Sentence | Document, format: str, what: str) -> FormatError:
    """The error of a record that a format has no way to write.

    Args:
        item: the record.
        format: name of the format that is written.
        what: is in its way, as in 'a line end in the text'.
    """
    if isinstance(item, Document):
        source, line, text = item.source, item.line, item.text
    else:
        source, line, text = "", item.lines[0] if item.lines else 1, " ".join(item.words)
    return FormatError(
        source or "input", line, f"{format} cannot hold {what}: {shorten(text)}. Try another format"
    )
