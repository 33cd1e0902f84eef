"""Inputs without an end -> windows of some thousand words, which are predicted together."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tagkit.inference.inputs import Input, words_of
from tagkit.text.records import Document, Sentence


def windows_of(
    inputs: Iterable[Any], words: int, check: Callable[[Sentence], None]
) -> Iterator[list[Input]]:
    """Cut inputs into windows of about `words` words, each of at least one input.

    If the next input cannot be taken or read, the window before it is complete without it, and the
    error follows.

    Args:
        inputs: anything; what is no input is refused.
        words: number of words that end a window.
        check: raises a DataError for a sentence that the model cannot read.
    """
    window: list[Input] = []
    count, failure = 0, None
    iterator = iter(inputs)
    while failure is None:
        try:
            item = next(iterator)
            count += _word_count(item, check)
        except StopIteration:
            break
        except Exception as error:  # of the caller's iterator too, whatever it is
            failure = error
            break
        window.append(item)
        if count >= words:
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
