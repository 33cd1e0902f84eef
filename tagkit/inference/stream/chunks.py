"""A chunk of input, which a worker gets, and the output for it, which it gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import Layout
from tagkit.corpus.source.options import Item
from tagkit.errors import FormatError
from tagkit.text.records import TaggedText


@dataclass(frozen=True, slots=True)
class Line:
    """One text.

    Attributes:
        text: without its line end.
        number: of the line in the file, from 1.
        offset: of its first code point in the file's text.
    """

    text: str
    number: int
    offset: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of raw text.

    Attributes:
        file: name of the file.
        lines: the texts; blank ones are written as blank lines.
        document: name of the document that they are, in a folder of such; empty for none.
        begins: whether they are its first ones.
    """

    file: str
    lines: Sequence[Line]
    document: str = ""
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a corpus in any format.

    Attributes:
        file: name of the file, for records that do not name theirs.
        items: the records.
    """

    file: str
    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A part of a column file.

    Attributes:
        file: name of the file.
        blocks: whole sentences, and the comments and blank lines between them.
        layout: of the lines; None before the first sentence.
        ends_last_line: whether the last line has a line end.
    """

    file: str
    blocks: Sequence[LineBlock]
    layout: Layout | None
    ends_last_line: bool = True


Chunk = Lines | Records | Blocks


@dataclass(frozen=True, slots=True)
class Refused:
    """A record whose prediction the format of the output cannot hold.

    Attributes:
        error: says why.
        before: number of lines, or of records, of the output before it.
    """

    error: FormatError
    before: int


@dataclass(frozen=True, slots=True)
class Output:
    """The output for one chunk.

    Attributes:
        file: name of the input.
        text: whole lines, in a format that the answers write; the last one of a file of CoNLL-U
            has a line end where the file's has one.
        items: records for the writer of any other format.
        longest: number of words in the longest sentence that was cut; 0 if none was.
        tokens: number of tokens in the chunk.
        refused: records of which `text` and `items` have nothing.
        removed: as in `Removed`.
        starts: of each record, in order, how sure its answer is, and the number of lines, or of
            records of a format, before it; empty where nobody asks for an order.
    """

    # Strings, numbers, records and errors alone: workers send it from one process to another.
    file: str
    text: str
    items: tuple[Item | TaggedText, ...]
    longest: int
    tokens: int
    refused: tuple[Refused, ...] = ()
    removed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    starts: tuple[tuple[float, int], ...] = ()

    def until_refused(self) -> "Output":
        """What there is before the first record that was refused."""
        before = self.refused[0].before
        lines = self.text.split("\n")[:before]
        text = "".join(f"{line}\n" for line in lines) if self.text else ""
        return replace(self, text=text, items=self.items[:before])
