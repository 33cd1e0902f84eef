"""What is known of records only when all of them have been seen, gathered in one pass."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tagkit.corpus.records.alignment import overlaps, side_by_side
from tagkit.corpus.source.options import Item
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Step, count_steps


@dataclass(slots=True)
class RecordFacts:
    """What all records together are; the records themselves are not held, except two.

    Attributes:
        count: number of records.
        has_sentences: whether there are sentences among them.
        has_documents: whether there are documents among them.
        tags: those of sentences.
        steps: how often each of these follows each other one; empty where no sentence has tags.
        classes: those of whole records.
        has_several_classes: whether a record has more than one.
        without_class: the first record that has none.
        without_labels: the first record that has neither a class nor tags or spans.
        names: of what records have beside their text and annotation; those of the first one as they
            are, as a table may have two columns of one name.
        has_ids: whether a record has an id.
        ids_are_names: whether all records with an id are documents that have a name.
        has_marks: whether a mark stands where a document of sentences begins.
        has_features: whether a sentence has feature columns.
        has_texts: whether the text of a sentence is known.
        may_overlap: whether spans of characters of a record overlap, or words of it that share a
            place may be in two spans.
    """

    count: int = 0
    has_sentences: bool = False
    has_documents: bool = False
    tags: set[str] = field(default_factory=set)
    steps: Counter[Step] = field(default_factory=Counter)
    classes: set[str] = field(default_factory=set)
    has_several_classes: bool = False
    without_class: Item | None = None
    without_labels: Item | None = None
    names: list[str] = field(default_factory=list)
    has_ids: bool = False
    ids_are_names: bool = True
    has_marks: bool = False
    has_features: bool = False
    has_texts: bool = False
    may_overlap: bool = False


def facts_of(items: Iterable[Item]) -> RecordFacts:
    """The facts of all records, which are taken once."""
    facts = RecordFacts()
    # The counting takes the tags as they are seen: a step at a time would double its time.
    facts.steps = count_steps(_seen(items, facts))
    return facts


def _seen(items: Iterable[Item], facts: RecordFacts) -> Iterator[tuple[str, ...]]:
    """The tags of each sentence that has some; all else is noted in `facts`."""
    for item in items:
        facts.count += 1
        if item.labels:
            facts.classes.update(item.labels)
            facts.has_several_classes |= len(item.labels) > 1
        elif facts.without_class is None:
            facts.without_class = item
        if item.extra:
            _see_names(item, facts)
        if isinstance(item, Sentence):
            facts.has_sentences = True
            facts.has_marks |= (item.document or 0) > 0
            facts.has_features |= bool(item.features)
            if item.text is not None:
                facts.has_texts = True
                facts.may_overlap |= not side_by_side(item.places)
            if item.tags:
                facts.tags.update(item.tags)
                yield item.tags
            bare = item.tags is None
        else:
            facts.has_documents = True
            facts.may_overlap |= bool(item.spans) and bool(overlaps(item))
            bare = item.spans is None
        if bare and not item.labels and facts.without_labels is None:
            facts.without_labels = item


def _see_names(item: Item, facts: RecordFacts) -> None:
    names = [name for name, _ in item.extra]
    known = facts.names
    known += names if facts.count == 1 else dict.fromkeys(n for n in names if n not in known)
    if "id" in names:
        facts.has_ids = True
        facts.ids_are_names &= not isinstance(item, Sentence) and bool(item.name)
