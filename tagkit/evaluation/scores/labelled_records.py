"""Records with gold labels or predictions, of a file in any format or of a program."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.prose import looks_like_prose
from tagkit.corpus.formats.recognition import Found, find_format
from tagkit.corpus.formats.table import Format, by_name
from tagkit.corpus.records.answers import Answer, as_document, as_sentences, column_names
from tagkit.corpus.records.record_checks import check_answer, checked_item
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.wording import clipped


@dataclass(frozen=True, slots=True)
class Labelled:
    """Records with labels.

    Attributes:
        name: of their file; "gold" or "pred" for records of a program.
        items: the records; those of a file are all sentences or all documents.
        is_ordered: whether their order is that of the corpus.
        format: of their file; empty for records of a program.
        gives_classes: whether they are answers of a model with classes, likely ones or not.
    """

    name: str
    items: Sequence[Item]
    is_ordered: bool = True
    format: str = ""
    gives_classes: bool = False

    @property
    def has_tags(self) -> bool:
        """Whether they have tags or spans, one of them at least."""
        return any(
            (item.spans if isinstance(item, Document) else item.tags) is not None
            for item in self.items
        )

    @property
    def has_classes(self) -> bool:
        """Whether they have classes, one of them at least."""
        return any(item.labels for item in self.items)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the tag columns where there are several; else none."""
        return next(filter(None, map(column_names, self.items)), ())

    @property
    def holds(self) -> str:
        """What they hold, in a few words, for people."""
        has_spans = any(
            isinstance(item, Document) and item.spans is not None for item in self.items
        )
        tags = "spans" if has_spans else "tags"
        kinds = [(self.has_tags, tags), (self.has_classes, "classes")]
        return " and ".join(kind for is_there, kind in kinds if is_there) or "no labels"

    @property
    def is_bare(self) -> bool:
        """Whether they are documents, and none of them has a span."""
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
        DataError: it cannot be read, is a folder of no known kind, or is raw text.
    """
    return _unless_text(find_format(source, data.format), source, data)


def find_format_of_predictions(source: Source, data: DataConfig) -> Found:
    """The format of a file with predictions, which need not be that of the gold file.

    A format that the configuration names is that of the gold file; it is taken here only where
    the content shows none that could hold the same labels.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or is raw text.
    """
    if data.format == "auto":
        return _unless_text(find_format(source, "auto"), source, data)
    try:
        found = find_format(source, "auto")
    except DataError:  # a file that fits two formats, which the name may decide
        return find_format(source, data.format)
    named = by_name(data.format)[0]
    has_classes = found.format.holds == "classes"
    if found.format.holds == "text" or has_classes != (named.holds == "classes"):
        return find_format(source, data.format)
    return found


def _unless_text(found: Found, source: Source, data: DataConfig) -> Found:
    """The format found; what may be raw text or columns is read as columns.

    Raises:
        DataError: it is raw text.
    """
    # Raw text has no labels. A column file with one broken line may look like it, and read as
    # columns, the error names that line.
    if found.format.holds != "text" or source.is_folder():
        return found
    # As columns of a regular width, such lines would be scored: the last word of each as a tag.
    if not found.note or (data.tag_column is None and looks_like_prose(source.beginning())):
        raise DataError(
            f"{source.name}: expected labels, found raw text, a line a text; name a file with "
            "labels, or, for a token a line, data.format=columns"
        )
    note = (
        f"{source.name}: read as columns, though nothing in its lines looks like labels "
        "(data.format chooses another format)"
    )
    return Found(by_name("columns")[0], note if found.note else "")


@dataclass(frozen=True, slots=True)
class LabelledFile:
    """A file with gold labels or predictions, which has not been read yet.

    Attributes:
        source: the file.
        format: that it is in.
        data: how it is read.
        predicted: whether it holds predictions, of which a text may have none.
        with_text: whether the text that a sentence's words come from is wanted.
        note: called with a sentence on what the records cannot hold.
        with_probabilities: whether those of predictions are wanted, where the file has them.
        compared_with: path of the gold labels, if it holds predictions.
    """

    source: Source
    format: Format
    data: DataConfig
    predicted: bool
    with_text: bool
    note: Callable[[str], None]
    with_probabilities: bool = False
    compared_with: str = ""

    @property
    def has_only_tags(self) -> bool:
        """Whether its records are sentences with tags, none of which can have a class."""
        return self.format.holds == "tags" and not self.format.has_classes

    def records(self) -> Iterator[Item]:
        """The records, as they are read.

        Raises:
            DataError: it cannot be read.
            FormatError: a line of it cannot be.
        """
        # Feature columns are the input of a model, and no part of what is scored.
        data = self.data.model_copy(update={"feature_columns": ()})
        # A record of predictions without a class is one for which none was likely enough. Readers
        # ask for a class only where labels are wanted; that of JSON Lines takes those there are.
        optional = self.predicted and self.format.may_lack_classes
        reading = ReaderOptions(
            data,
            with_tags=not optional,
            with_text=self.with_text,
            blank_labels=self.predicted,
            own_columns=self.predicted,
            # Predictions in which nothing was found have no such key.
            require_keys=not self.predicted,
            # JSON Lines alone are read by it, and only with tags of several columns.
            column=None if data.first_tag_column is None else str(data.first_tag_column),
            with_probabilities=self.with_probabilities,
            with_extra=self.with_probabilities,  # where those of classes are
            compared_with=self.compared_with,
            note=self.note,
        )
        return self.format.records(self.source, reading).items

    def read(self) -> Labelled:
        """All of it; raises what `records` does."""
        name, format = self.source.name, self.format
        return Labelled(
            name, tuple(self.records()), is_ordered=format.is_ordered, format=format.name
        )


def labelled_records(records: Iterable[Item | Answer], name: str) -> Labelled:
    """Records of a program, in which the number of a record stands for a line that it lacks.

    Raises:
        DataError: something is no record, or there are none.
    """
    items: list[Item] = []
    gives_classes = False
    for number, record in enumerate(records, 1):
        items += _items_of(record, number, name)
        gives_classes |= bool(isinstance(record, Prediction | TaggedText) and record.scores)
    if not items:
        raise DataError(f"{name}: expected at least one record, found none")
    return Labelled(name, tuple(items), gives_classes=gives_classes)


def _items_of(record: Item | Answer, number: int, name: str) -> Iterator[Item]:
    """A record as it is; an answer as its sentences.

    Raises:
        DataError: it is no record, or one whose parts do not fit together.
    """
    items: Iterable[Item]
    where = f"{name}: record {number:,}"
    if isinstance(record, Sentence | Document):
        items = [checked_item(record, where)]
    elif isinstance(record, Prediction | TaggedText):
        check_answer(record, where)
        items = as_sentences(record)
        if isinstance(record, TaggedText) and not record.sentences:
            items = [as_document(record)]  # a blank text is one record all the same
    else:
        raise DataError(
            f"{name}: expected a Sentence, a Document, or a model's answer, found "
            f"{clipped(repr(record))}"
        )
    for item in items:
        if isinstance(item, Sentence) and not item.lines:
            item = replace(item, lines=(number,) * len(item))
        if isinstance(item, Document) and not item.source:
            item = replace(item, source=name, line=number)
        yield item
