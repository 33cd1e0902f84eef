"""What callers of a model give: values of a wrong kind are refused by the parameter's name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagkit.corpus.record_checks import check_item
from tagkit.errors import BundleError, DataError
from tagkit.models.task import Task
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural


def ignore(_: object) -> None:
    """The default of `on_long` and `on_removed`; does nothing."""


def model_path(path: Any) -> Path:
    """The path of a model's folder.

    Raises:
        BundleError: it is no path.
    """
    if not isinstance(path, str | Path):
        raise BundleError(f"path: expected that of a model's folder, found {clipped(repr(path))}")
    return Path(path)


def check_count(name: str, value: Any, least: int = 1, most: int = 2**31 - 1) -> None:
    """Refuse a value that is no whole number, or one below `least` or above `most`.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    # True is an int too, and 1 is not what it was meant for.
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        found = clipped(repr(value))
        raise DataError(f"{name}: expected a whole number, at least {least}, found {found}")
    if value > most:  # the libraries below count in 32 or 64 bits
        found = clipped(repr(value))
        raise DataError(f"{name}: expected at most {most:,}, found {found}")


def check_probability(name: str, value: Any) -> None:
    """Refuse a value that is no number from 0 to 1.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise DataError(f"{name}: expected a number from 0 to 1, found {clipped(repr(value))}")


def check_words(sentences: Sequence[Sentence]) -> None:
    """Refuse sentences of no words.

    Raises:
        DataError: there is one.
    """
    if not all(sentences):  # a Sentence without words is false, and has nothing to encode
        raise DataError("expected at least one word in each sentence, found a sentence of none")


def check_stretches(
    sentences: Sequence[Sentence], stretches: Sequence[Sequence[tuple[int, int]]]
) -> None:
    """Refuse sentences without tags, and stretches that are none of theirs.

    Raises:
        DataError: there is one.
    """
    if len(sentences) != len(stretches):
        raise DataError(
            f"stretches: expected some for each of {plural(len(sentences), 'sentence')}, found "
            f"{len(stretches):,}"
        )
    for number, (sentence, places) in enumerate(zip(sentences, stretches, strict=True), 1):
        check_item(sentence, f"sentence {number:,}")
        if sentence.tags is None:
            raise DataError(f"sentence {number:,}: expected tags, found none")
        for place in places:
            try:
                start, end = place
            except (TypeError, ValueError):
                found = clipped(repr(place))
                raise DataError(
                    f"sentence {number:,}: expected start and end of each stretch, found {found}"
                ) from None
            if not 0 <= start < end <= len(sentence):
                raise DataError(
                    f"sentence {number:,}: expected stretches of {plural(len(sentence), 'word')}, "
                    f"found one from {start} to {end}"
                )


def check_function(name: str, value: Any) -> None:
    """Refuse what cannot be called with a number.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    if not callable(value):
        found = clipped(repr(value))
        raise DataError(f"{name}: expected a function that takes a number, found {found}")


def check_annotates(task: Task) -> None:
    """Refuse sentences that are to be annotated, where the task annotates nothing.

    Raises:
        DataError: they are refused.
    """
    if not task.annotates:
        raise DataError(
            "this is a language model, which annotates nothing: tagkit generate continues a text, "
            "and tagkit eval scores one"
        )
