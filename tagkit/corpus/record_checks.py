"""Records that a program has made: what does not fit together is refused by name."""

from tagkit.corpus.formats.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural


def check_item(item: Item, where: str) -> None:
    """Refuse a record whose parts do not fit; as a reader makes it, it always does.

    Args:
        item: the record.
        where: names it in messages, such as "record 3".

    Raises:
        DataError: words are no strings, there is not one tag or place for each, or a span lies
            outside of its text.
    """
    if isinstance(item, Sentence):
        check_sentence(item, where)
        return
    for span in item.spans or ():
        if not 0 <= span.start < span.end <= len(item.text):
            size = plural(len(item.text), "character")
            raise DataError(
                f"{where}: expected spans within a text of {size}, found one from {span.start} to "
                f"{span.end}"
            )


def check_sentence(sentence: Sentence, where: str) -> None:
    """Refuse a sentence whose parts do not fit; arguments as of `check_item`.

    Raises:
        DataError: words are no strings, or there is not one tag or place for each.
    """
    words = sentence.words
    if not all(isinstance(word, str) for word in words):
        raise DataError(f"{where}: expected words, found {clipped(repr(words))}")
    parts = {"tag": sentence.tags, "place in its text": sentence.places}
    if sentence.text is None:
        del parts["place in its text"]
    for name, values in parts.items():
        if values is not None and len(values) != len(words):
            raise DataError(
                f"{where}: expected a {name} for each of {plural(len(words), 'word')}, found "
                f"{len(values):,}"
            )
