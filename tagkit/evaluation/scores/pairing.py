"""Gold records and predicted ones of the same tokens or the same texts, one by one."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat, zip_longest

from tagkit.config import DataConfig
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.scores.labelled_records import Labelled
from tagkit.text.records import Document, Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import PLAIN, convert
from tagkit.wording import quoted

_Word = tuple[str, int]  # and its line; "" and 0 at the end of a sentence
_END: _Word = ("", 0)


def require_same_tokens(
    gold_name: str, gold: Sequence[Sentence], beside: str, predicted: Sequence[Sentence]
) -> None:
    """Raise at the first token or sentence that only one of the files has.

    Raises:
        FormatError: there is one; with the file and line of both.
    """
    for _ in same_tokens(gold_name, gold, beside, predicted):
        pass


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
            raise _difference(gold_name, ours, beside, theirs, last_line)
        last_line = theirs.lines[-1] if theirs.lines else 1
        yield ours, theirs


def _difference(
    gold_name: str, ours: Sentence, beside: str, theirs: Sentence, last_line: int
) -> FormatError:
    """The error of the first token that differs; `last_line` is that before the predicted one."""
    pairs = zip_longest(_words(ours), _words(theirs), fillvalue=_END)
    wanted, found = next((one, other) for one, other in pairs if one[0] != other[0])
    # At the end of a sentence or file there is no line: the one before it is named.
    line = found[1] or (theirs.lines[-1] if theirs.lines else last_line)
    place = f" as on {gold_name}:{wanted[1]}" if wanted[1] else ""
    texts = [
        quoted(word[0]) if word[1] else f"the end of the {'sentence' if side.words else 'file'}"
        for word, side in ((wanted, ours), (found, theirs))
    ]
    return FormatError(beside, line, f"expected {texts[0]}{place}, found {texts[1]}")


def _words(sentence: Sentence) -> Iterable[_Word]:
    return zip(sentence.words, sentence.lines or repeat(1), strict=False)


def predicted_tags(
    sentences: Sequence[Sentence], name: str, data: DataConfig, scheme: str, *, strict: bool
) -> list[Sequence[str]]:
    """The predicted tags of sentences, in the scheme of the gold ones.

    Args:
        sentences: with predictions, perhaps in another scheme.
        name: of their file, for messages.
        data: says whether tags are plain labels, even if they look like those of spans.
        scheme: of the gold tags.
        strict: whether tags count as they are, in the scheme of the gold ones alone.

    Raises:
        FormatError: most tags are those of a span scheme, and some are not.
        DataError: the tags are plain labels where gold has spans, or the reverse.
    """
    named = PLAIN if data.scheme == PLAIN else "auto"
    found = scheme_of(sentences, name, named, scheme).scheme
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
        DataError: a file holds no text.
        FormatError: a text that only one of the files has.
    """
    for file in (gold, predicted):
        if not file.items:
            raise DataError(f"{file.name}: holds no text")
    found: Sequence[Item | None] = predicted.items
    if not (gold.is_ordered and predicted.is_ordered):
        found = _in_order_of(gold.items, predicted.items)
    pairs: list[Item] = []
    for ours, theirs in zip_longest(gold.items, found):
        if ours is None or theirs is None or _key(ours) != _key(theirs):
            place = f" as on {_place(ours, gold.name)}" if ours else ""
            where = theirs or predicted.items[-1]
            source, line = _source(where, predicted.name), _line(where, last=theirs is None)
            raise FormatError(source, line, f"expected {_text(ours)}{place}, found {_text(theirs)}")
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
    text = item.text if isinstance(item, Document) else " ".join(item.words)
    return "".join(text.split())


def _text(item: Item | None) -> str:
    if item is None:
        return "the end of the file"
    return quoted(item.text if isinstance(item, Document) else " ".join(item.words))


def _source(item: Item, name: str) -> str:
    return (item.source if isinstance(item, Document) else "") or name


def _line(item: Item, *, last: bool = False) -> int:
    if isinstance(item, Document):
        return item.line
    return item.lines[-1 if last else 0] if item.lines else 1


def _place(item: Item, name: str) -> str:
    return f"{_source(item, name)}:{_line(item)}"
