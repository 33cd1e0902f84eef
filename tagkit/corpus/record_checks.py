"""Records that a program has made: what does not fit together is refused by name."""

from tagkit.corpus.formats.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural


def check_item(item: Item, where: str) -> None:
    """Refuse a record whose parts do not fit together; those of a reader always do.

    Args:
        item: the record.
        where: names it in messages, such as "record 3".

    Raises:
        DataError: words are no strings, there is not one tag or place for each, or a span lies
            outside of its text.
    """
    if isinstance(item, Sentence):
        check_sentence(item, where)
        if item.tags is not None:
            _check_count("tag", len(item.tags), item, where)
        return
    for span in item.spans or ():
        if not 0 <= span.start < span.end <= len(item.text):
            size = plural(len(item.text), "character")
            raise DataError(
                f"{where}: expected spans within a text of {size}, found one from {span.start} to "
                f"{span.end}"
            )


def check_sentence(sentence: Sentence, where: str) -> None:
    """Refuse a sentence whose words cannot be read; arguments as of `check_item`.

    Raises:
        DataError: words are no strings, or there is not one place in the text for each.
    """
    words = sentence.words
    if not all(isinstance(word, str) for word in words):
        raise DataError(f"{where}: expected words, found {clipped(repr(words))}")
    if sentence.text is not None:
        _check_count("place in its text", len(sentence.places), sentence, where)


def _check_count(what: str, found: int, sentence: Sentence, where: str) -> None:
    if found != len(sentence):
        words = plural(len(sentence), "word")
        raise DataError(f"{where}: expected a {what} for each of {words}, found {found:,}")
