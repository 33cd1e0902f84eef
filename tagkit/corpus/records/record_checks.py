"""Records that a program has made: what does not fit together is refused by name.

What a reader makes fits together always. What is known of records only when all of them have been
seen is gathered in one pass (`facts_of`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tagkit.corpus.records.alignment import overlaps, side_by_side
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Document, Prediction, Sentence, TaggedText, TextSpan
from tagkit.text.scheme_detection import Step, count_steps
from tagkit.text.trees import Tree
from tagkit.wording import clipped, plural


def checked_item(item: Item, where: str) -> Item:
    """A record with Python's own sequences and numbers, as files can hold them.

    Args:
        item: the record; arrays and numbers of NumPy are taken.
        where: as of `check_item`.

    Raises:
        DataError: as of `check_item`.
    """
    check_item(item, where)
    if isinstance(item, Sentence):
        if any(hasattr(values, "__array__") for values in (item.words, item.tags)):
            tags = None if item.tags is None else tuple(map(str, item.tags))
            return replace(item, words=tuple(map(str, item.words)), tags=tags)
        return item
    places = [(span.start, span.end) for span in item.spans or ()] + list(item.tokens or ())
    if all(type(number) is int for place in places for number in place):
        return item
    spans, tokens = item.spans, item.tokens
    if spans is not None:
        spans = tuple(replace(each, start=int(each.start), end=int(each.end)) for each in spans)
    if tokens is not None:
        tokens = tuple((int(start), int(end)) for start, end in tokens)
    return replace(item, spans=spans, tokens=tokens)


def check_item(item: Item, where: str) -> None:
    """Refuse a record whose parts do not fit together; those of a reader always do.

    Args:
        item: the record.
        where: names it in messages, such as "record 3".

    Raises:
        DataError: a single string stands for words, tags or classes, there is not one tag, place,
            feature or vector for each word, or a place or span lies outside of its text, or has
            another text than stands there.
    """
    _refuse_string("classes", item.labels, where)
    if isinstance(item, Sentence):
        check_sentence(item, where)
        if item.tags is not None:
            _check_values("tag", item.tags, item.words, where)
        for column in item.features:
            _check_values("feature", column, item.words, where)
        for vectors in item.vectors:
            _check_count("vector", len(vectors), item.words, where)
    else:
        check_document(item, where)
        if item.spans is not None:
            _check_spans(item.text, item.spans, where)


def check_answer(answer: Prediction | TaggedText, where: str) -> None:
    """Refuse a model's answer that was changed into what no model gives; arguments as of an item.

    Raises:
        DataError: as of `check_item`.
    """
    _refuse_string("classes", answer.labels, where)
    if isinstance(answer, Prediction):
        _refuse_string("words", answer.words, where)
        if answer.tags:  # none of a model without tags
            _check_values("tag", answer.tags, answer.words, where)
        return
    places = [(token.start, token.end) for sentence in answer.sentences for token in sentence]
    # Words of one multiword token of CoNLL-U share a place, here and below.
    _check_places("tokens", answer.text, places, where, apart=False)
    _check_spans(answer.text, answer.spans, where)


def check_sentence(sentence: Sentence, where: str) -> None:
    """Refuse a sentence whose words cannot be read; arguments as of `check_item`.

    Raises:
        DataError: words are a single string, there is not one place in the text for each, or the
            tree is not over them.
    """
    _refuse_string("words", sentence.words, where)
    if sentence.text is not None:
        _check_count("place in its text", len(sentence.places), sentence.words, where)
        _check_places("places", sentence.text, sentence.places, where, apart=False)
    _check_tree(sentence.tree, len(sentence.words), where)


def check_document(document: Document, where: str) -> None:
    """Refuse a document whose text cannot be read; arguments as of `check_item`.

    Raises:
        DataError: a token lies outside of its text, or the tree is not over the tokens.
    """
    if document.tokens is not None:
        _check_places("tokens", document.text, document.tokens, where, apart=True)
    _check_tree(document.tree, len(document.tokens or ()), where)


def _check_tree(tree: Tree | None, words: int, where: str) -> None:
    if tree is not None and not tree.is_over(words):
        raise DataError(
            f"{where}: expected a tree over {plural(words, 'word')}, each of them a node, and each "
            f"node after its children, found {clipped(repr(tree))}"
        )


def _refuse_string(what: str, values: Sequence[str], where: str) -> None:
    # A string is a sequence of strings too, whose words would be its characters.
    if isinstance(values, str):
        raise DataError(f"{where}: expected {what}, found {clipped(repr(values))}")


def _check_values(what: str, values: Sequence[str], words: Sequence[str], where: str) -> None:
    _refuse_string(f"{what}s", values, where)
    _check_count(what, len(values), words, where)


def _check_count(what: str, found: int, words: Sequence[str], where: str) -> None:
    if found != len(words):
        expected = f"a {what} for each of {plural(len(words), 'word')}"
        raise DataError(f"{where}: expected {expected}, found {found:,}")


def _check_spans(text: str, spans: Iterable[TextSpan], where: str) -> None:
    least = 0
    for span in spans:
        start, end = span.start, span.end
        if not 0 <= start < end <= len(text):
            raise _outside("spans", text, (start, end), where)
        if start < least:  # one that overlaps the one before is refused where that matters
            raise DataError(f"{where}: expected spans in the order of the text, found {span}")
        least = start
        if span.text != text[start:end]:
            raise DataError(
                f"{where}: spans: expected the text from {start} to {end}, "
                f"{clipped(repr(text[start:end]))}, found {clipped(repr(span.text))}"
            )


def _check_places(
    what: str, text: str, places: Iterable[tuple[int, int]], where: str, *, apart: bool
) -> None:
    """Refuse places outside of a text, or out of its order; `apart` ones do not overlap either."""
    least = 0
    for start, end in places:
        if not least <= start < end <= len(text):
            raise _outside(what, text, (start, end), where)
        least = end if apart else start


def _outside(what: str, text: str, place: tuple[int, int], where: str) -> DataError:
    size = plural(len(text), "character")
    order = "" if what == "spans" else ", in its order"
    start, end = place
    return DataError(
        f"{where}: expected {what} within a text of {size}{order}, found one from {start} to {end}"
    )


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
