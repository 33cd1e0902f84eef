"""Records with gold labels or predictions, of a file in any format or of a program."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.corpus.records.answers import Answer, as_document, as_sentences, column_names
from tagkit.corpus.records.record_checks import check_answer, checked_item
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.wording import clipped

TAGS, CLASSES = "tags", "classes"


@dataclass(frozen=True, slots=True)
class Labelled:
    """Records with labels.

    Attributes:
        name: of their file; "gold" or "pred" for records of a program.
        items: the records; those of a file are all sentences or all documents.
        is_ordered: whether their order is that of the corpus.
        gives_classes: whether they are answers of a model with classes, likely ones or not.
        has_cells: whether they are of a table, where a text has one cell for its classes.
        remedy: the end of a message on tags that are not the expected ones.
    """

    name: str
    items: Sequence[Item]
    is_ordered: bool = True
    gives_classes: bool = False
    has_cells: bool = False
    remedy: str = ""

    @property
    def kinds(self) -> set[str]:
        """Which of `TAGS`, spans among them, and `CLASSES` they have, one of them at least."""
        has_tags = any(
            (item.spans if isinstance(item, Document) else item.tags) is not None
            for item in self.items
        )
        has_classes = any(item.labels for item in self.items)
        return {kind for kind, is_there in ((TAGS, has_tags), (CLASSES, has_classes)) if is_there}

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
        names = {TAGS: "spans" if has_spans else "tags", CLASSES: "classes"}
        kinds = self.kinds
        return " and ".join(name for kind, name in names.items() if kind in kinds) or "no labels"

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
