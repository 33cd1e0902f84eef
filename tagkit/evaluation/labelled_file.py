"""A file of gold labels or of predictions, in any format: its records and what they hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tagkit.config import DataConfig
from tagkit.corpus.formats.options import Item, Reading
from tagkit.corpus.formats.recognition import Found, find_format
from tagkit.corpus.formats.source import Source
from tagkit.corpus.formats.table import Format, by_name
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, Sentence


@dataclass(frozen=True, slots=True)
class LabelledFile:
    """The records of a file.

    Attributes:
        name: of the file.
        format: that it was read in.
        items: its records, all of them sentences or all of them documents.
        has_tags: whether they have tags or spans.
        has_classes: whether they have classes, one of them at least.
    """

    name: str
    format: Format
    items: Sequence[Item]
    has_tags: bool
    has_classes: bool

    @property
    def holds(self) -> str:
        """What it holds, in a few words, for people."""
        tags = "spans" if self.format.holds == "spans" else "tags"
        kinds = [(self.has_tags, tags), (self.has_classes, "classes")]
        return " and ".join(kind for is_there, kind in kinds if is_there) or "no labels"

    @property
    def is_bare(self) -> bool:
        """Whether its records are documents, and none of them has a span."""
        return all(isinstance(item, Document) and not item.spans for item in self.items)

    @property
    def sentences(self) -> list[Sentence] | None:
        """The records where they are sentences, each with tags; None where they are documents.

        Raises:
            FormatError: a sentence without tags.
        """
        found = [item for item in self.items if isinstance(item, Sentence)]
        if len(found) != len(self.items):
            return None
        for sentence in found:
            if sentence.tags is None:
                line = sentence.lines[0] if sentence.lines else 1
                raise FormatError(self.name, line, "expected tags, found none")
        return found


def find_format_of_gold(source: Source, data: DataConfig) -> Found:
    """The format of a file with gold labels.

    Raises:
        DataError: it cannot be read, or is a folder of no known kind.
    """
    return _unless_text(find_format(source, data.format), source)


def find_format_of_predictions(source: Source, data: DataConfig) -> Found:
    """The format of a file with predictions, which need not be that of the gold file.

    A format that the configuration names is that of the gold file; it is taken here only where
    the content shows none that could hold the same labels.

    Raises:
        DataError: it cannot be read, or is a folder of no known kind.
    """
    if data.format == "auto":
        return _unless_text(find_format(source, "auto"), source)
    try:
        found = find_format(source, "auto")
    except DataError:  # a file that fits two formats, which the name may decide
        return find_format(source, data.format)
    named = by_name(data.format)[0]
    has_classes = found.format.holds == "classes"
    if found.format.holds == "text" or has_classes != (named.holds == "classes"):
        return find_format(source, data.format)
    return found


def _unless_text(found: Found, source: Source) -> Found:
    """The format found; raw text is read as columns."""
    # Raw text has no labels. A column file with one broken line may look like it, and read as
    # columns, the error names that line.
    if found.format.holds != "text" or source.is_folder():
        return found
    return Found(by_name("columns")[0], found.note)


def read_labelled(
    source: Source,
    format: Format,
    data: DataConfig,
    note: Callable[[str], None],
    *,
    predicted: bool,
    with_text: bool,
) -> LabelledFile:
    """The records of a file with their labels.

    Args:
        source: the file.
        format: that it is in.
        data: how it is read.
        note: called with a sentence on what the records cannot hold.
        predicted: whether it holds predictions, of which a text may have none.
        with_text: whether the text that a sentence's words come from is wanted.

    Raises:
        DataError: it cannot be read.
        FormatError: a line of it cannot be.
    """
    # Feature columns are the input of a model, and no part of what is scored.
    data = data.model_copy(update={"feature_columns": ()})
    # A record of predictions without a class is one for which none was likely enough. Readers ask
    # for a class only where labels are wanted; that of JSON Lines takes the classes that are there.
    optional = predicted and format.name == "jsonl-texts"
    reading = Reading(data, with_tags=not optional, with_text=with_text, note=note)
    items = tuple(format.records(source, reading).items)
    return LabelledFile(
        name=source.name,
        format=format,
        items=items,
        has_tags=any(_has_tags(item) for item in items),
        has_classes=any(item.labels for item in items),
    )


def _has_tags(item: Item) -> bool:
    return (item.spans if isinstance(item, Document) else item.tags) is not None
