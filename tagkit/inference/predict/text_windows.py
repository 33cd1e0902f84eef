"""Inputs without an end -> windows of some thousand words, which are predicted together."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tagkit.inference.predict.inputs import Input, materialized, words_of
from tagkit.text.documents import DocumentParts
from tagkit.text.records import Document, Sentence


def windows_of(
    inputs: Iterable[Any],
    words: int,
    check: Callable[[Sentence], None],
    *,
    document_words: int = 0,
    max_length: int | None = None,
    marked_only: bool = False,
) -> Iterator[list[Input]]:
    """Cut inputs into windows of about `words` words, each of at least one input.

    If the next input cannot be taken or read, the window before it is complete without it, and the
    error follows.

    Args:
        inputs: anything; what is no input is refused.
        words: number of words that end a window.
        check: raises a DataError for a sentence that the model cannot read.
        document_words: maximum number of words of a document that are predicted together, which no
            window cuts; 0 if each sentence is by itself.
        max_length: as for `DocumentParts`.
        marked_only: as for `DocumentParts`.
    """
    parts = (
        DocumentParts(document_words, max_length, marked_only=marked_only)
        if document_words
        else None
    )
    window: list[Input] = []
    count, failure = 0, None
    iterator = iter(inputs)
    while failure is None:
        try:
            item = materialized(next(iterator))
            size = _word_count(item, check)
        except StopIteration:
            break
        except Exception as error:  # of the caller's iterator too, whatever it is
            failure = error
            break
        if parts is not None and not isinstance(item, Sentence):
            parts.end()
        elif parts is not None and parts.begins(item) and count >= words:
            yield window
            window, count = [], 0
        window.append(item)
        count += size
        if count >= words and (parts is None or not parts.may_continue):
            yield window
            window, count = [], 0
    if window:
        yield window
    if failure is not None:
        raise failure


def _word_count(item: Any, check: Callable[[Sentence], None]) -> int:
    """Number of words of an input; of a raw text an estimate, as it is not tokenised yet.

    Raises:
        DataError: it is no input, or the model cannot read it.
    """
    if isinstance(item, Document):
        item = item.text
    if isinstance(item, str):
        return len(item) // 5 + 1  # a word and its blank have about 5 characters or more
    words = words_of(item)
    check(item if isinstance(item, Sentence) else Sentence(words))
    return len(words)
