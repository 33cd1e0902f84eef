"""Records with gold labels and with predictions, of files or of a program, and their pairing.

Tokens and texts of both sides are the same, one by one: the first that differs is an error with the
file and line of both.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat, zip_longest

from tagkit.config import DataConfig
from tagkit.corpus.records.answers import Answer, as_document, as_sentences, column_names
from tagkit.corpus.records.record_checks import check_answer, checked_item
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.text.scheme_detection import scheme_beside, scheme_of
from tagkit.text.schemes import convert
from tagkit.wording import clipped, quoted

TAGS, CLASSES = "tags", "classes"
# Of a record of JSON Lines, beside its classes; `tagkit predict` writes it.
PROBABILITIES = "probabilities"


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
    items: list[Item]
    where = f"{name}: record {number:,}"
    if isinstance(record, Sentence | Document):
        items = [checked_item(record, where)]
    elif isinstance(record, Prediction | TaggedText):
        check_answer(record, where)
        items = [*as_sentences(record)]
        if isinstance(record, TaggedText) and not record.sentences:
            items = [as_document(record)]  # a blank text is one record all the same
        if record.scores and len(items) == 1:
            known = {each.label: each.probability for each in record.scores}
            items = [replace(items[0], extra=((PROBABILITIES, known),))]
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


@dataclass(frozen=True, slots=True)
class Spot:
    """What stands at a place of a file.

    Attributes:
        file: its name.
        line: from 1; at an end the last line before it.
        text: that stands there; None at an end.
        end: of what it is the end there.
    """

    file: str
    line: int
    text: str | None
    end: str = "file"

    def __str__(self) -> str:
        """For an error."""
        return f"the end of the {self.end}" if self.text is None else quoted(self.text)


def difference(wanted: Spot, found: Spot) -> FormatError:
    """The error of two files that differ, with what both have at the first such place."""
    beside = "" if wanted.text is None else f" as on {wanted.file}:{wanted.line}"
    return FormatError(found.file, found.line, f"expected {wanted}{beside}, found {found}")


def origin(item: Item, name: str, word: int = 0) -> tuple[str, int]:
    """File and line of a record, or of one word of a sentence, in a file or folder of this name."""
    if isinstance(item, Document):
        return item.source or name, item.line
    return name, item.lines[word] if item.lines else 1


def text_of(item: Item) -> str:
    """The text of a record; that of a sentence as its words with blanks between them."""
    return item.text if isinstance(item, Document) else " ".join(item.words)


def same_tokens(
    gold_name: str, gold: Iterable[Sentence], beside: str, predicted: Iterable[Sentence]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Gold and predicted sentences side by side, as they are read.

    Raises:
        FormatError: a token or sentence that only one of the files has; with the file and line of
            both.
    """
    none = Sentence(())
    last_line = 1
    for ours, theirs in zip_longest(gold, predicted, fillvalue=none):
        if tuple(ours.words) != tuple(theirs.words):  # a program may have made lists
            spots = zip(_spots(ours, gold_name, 1), _spots(theirs, beside, last_line), strict=False)
            raise next(difference(*pair) for pair in spots if pair[0].text != pair[1].text)
        last_line = theirs.lines[-1] if theirs.lines else 1
        yield ours, theirs


def _spots(sentence: Sentence, name: str, last_line: int) -> Iterator[Spot]:
    """The words of a sentence, and then its end again and again; `last_line` is that before it."""
    for word, line in zip(sentence.words, sentence.lines or repeat(1), strict=False):
        yield Spot(name, line, word)
    line = sentence.lines[-1] if sentence.lines else last_line
    yield from repeat(Spot(name, line, None, "sentence" if sentence.words else "file"))


def predicted_tags(
    predicted: Labelled,
    sentences: Sequence[Sentence],
    data: DataConfig,
    scheme: str,
    *,
    strict: bool,
) -> list[Sequence[str]]:
    """The predicted tags of sentences, in the scheme of the gold ones.

    Args:
        predicted: whose sentences they are.
        sentences: with predictions, perhaps in another scheme.
        data: names the scheme of both files, perhaps.
        scheme: of the gold tags.
        strict: whether tags count as they are, in the scheme of the gold ones alone.

    Raises:
        FormatError: most tags are those of a span scheme, and some are not.
        DataError: the tags are plain labels where gold has spans, or the reverse.
    """
    named = scheme_beside(data.scheme, {tag for each in sentences for tag in each.tags or ()})
    found = scheme_of(sentences, predicted.name, named, scheme, predicted.remedy).scheme
    # The same spans, but the accuracy of tokens compares tags. Strict mode must not see tags that
    # `convert` has made well-formed.
    as_they_are = strict or found == scheme
    tags = (sentence.tags or () for sentence in sentences)
    return [each if as_they_are else convert(each, scheme) for each in tags]


def paired_texts(gold: Labelled, predicted: Labelled) -> tuple[Sequence[Item], Sequence[Item]]:
    """The records of two files of the same texts, in the order of the gold ones.

    A text is known by its characters without white space: texts of tokens have more of it than
    others.

    Raises:
        FormatError: a text that only one of the files has.
    """
    found: Sequence[Item | None] = predicted.items
    if not (gold.is_ordered and predicted.is_ordered):
        found = _in_order_of(gold.items, predicted.items)
    pairs: list[Item] = []
    for ours, theirs in zip_longest(gold.items, found):
        if ours is None or theirs is None or _key(ours) != _key(theirs):
            raise difference(_spot(ours, gold), _spot(theirs, predicted))
        pairs.append(theirs)
    return gold.items, pairs


def in_gold_order(gold: Labelled, predicted: Labelled) -> Labelled:
    """The predicted records in the order of the gold ones, where one of the files has none.

    They stay as they are where their texts are not the same: of a corpus that is divided elsewhere
    in the two files the order has to be that of the corpus.
    """
    if gold.is_ordered and predicted.is_ordered:
        return predicted
    if Counter(map(_key, gold.items)) != Counter(map(_key, predicted.items)):
        return predicted
    found = [item for item in _in_order_of(gold.items, predicted.items) if item is not None]
    return replace(predicted, items=found)


def _in_order_of(wanted: Sequence[Item], found: Sequence[Item]) -> list[Item | None]:
    """The records with the texts that are wanted, then all others; None for a missing one."""
    by_text: dict[str, deque[Item]] = defaultdict(deque)
    for item in found:
        by_text[_key(item)].append(item)
    # Equal texts are taken in their order, which is the best that is known of them.
    texts = [by_text[_key(item)] for item in wanted]
    ordered = [same.popleft() if same else None for same in texts]
    return [*ordered, *chain.from_iterable(by_text.values())]


def _key(item: Item) -> str:
    return "".join(text_of(item).split())


def _spot(item: Item | None, side: Labelled) -> Spot:
    if item is None:
        return Spot(*origin(side.items[-1], side.name, -1), None)
    return Spot(*origin(item, side.name), text_of(item))
