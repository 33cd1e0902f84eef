"""Records that a program has made: what does not fit together is refused by name."""

from collections.abc import Iterable
from typing import Any

from tagkit.corpus.formats.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Document, Sentence
from tagkit.wording import clipped, plural


def check_item(item: Item, where: str) -> None:
    """Refuse a record whose parts do not fit together; those of a reader always do.

    Args:
        item: the record.
        where: names it in messages, such as "record 3".

    Raises:
        DataError: words, tags or classes are no strings, there is not one tag or place for each
            word, or a place or span lies outside of its text.
    """
    _check_strings("classes", item.labels, where)
    if isinstance(item, Sentence):
        check_sentence(item, where)
        if item.tags is not None:
            _check_strings("tags", item.tags, where)
            _check_count("tag", len(item.tags), item, where)
        return
    check_document(item, where)
    for span in item.spans or ():
        if not 0 <= span.start < span.end <= len(item.text):
            raise _outside("spans", item.text, (span.start, span.end), where)


def check_sentence(sentence: Sentence, where: str) -> None:
    """Refuse a sentence whose words cannot be read; arguments as of `check_item`.

    Raises:
        DataError: words are no strings, or there is not one place in the text for each.
    """
    _check_strings("words", sentence.words, where)
    if sentence.text is not None:
        _check_count("place in its text", len(sentence.places), sentence, where)
        # Words of one multiword token of CoNLL-U share a place.
        _check_places("places", sentence.text, sentence.places, where, apart=False)


def check_document(document: Document, where: str) -> None:
    """Refuse a document whose text cannot be read; arguments as of `check_item`.

    Raises:
        DataError: the text is no string, or a token lies outside of it.
    """
    if not isinstance(document.text, str):
        raise DataError(f"{where}: expected a text, found {clipped(repr(document.text))}")
    if document.tokens is not None:
        _check_places("tokens", document.text, document.tokens, where, apart=True)


def _check_strings(what: str, values: Any, where: str) -> None:
    # A string is a sequence of strings too, whose words would be its characters.
    is_one = isinstance(values, str) or not isinstance(values, Iterable)
    if is_one or not all(isinstance(value, str) for value in values):
        raise DataError(f"{where}: expected {what}, found {clipped(repr(values))}")


def _check_count(what: str, found: int, sentence: Sentence, where: str) -> None:
    if found != len(sentence):
        words = plural(len(sentence), "word")
        raise DataError(f"{where}: expected a {what} for each of {words}, found {found:,}")


def _check_places(
    what: str, text: str, places: Iterable[tuple[int, int]], where: str, *, apart: bool
) -> None:
    """Refuse places outside of a text, or out of its order; `apart` ones do not overlap either."""
    least = 0
    for place in places:
        try:
            start, end = place
            fits = least <= start < end <= len(text)
        except (TypeError, ValueError):  # it is no pair, or one of something else
            pair = "start and end of each"
            raise DataError(
                f"{where}: {what}: expected {pair}, found {clipped(repr(place))}"
            ) from None
        if not fits:
            raise _outside(what, text, (start, end), where)
        least = end if apart else start


def _outside(what: str, text: str, place: tuple[int, int], where: str) -> DataError:
    size = plural(len(text), "character")
    order = "" if what == "spans" else ", in its order"
    start, end = place
    return DataError(
        f"{where}: expected {what} within a text of {size}{order}, found one from {start} to {end}"
    )
