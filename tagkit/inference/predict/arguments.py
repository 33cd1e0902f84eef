"""What callers of a model give: options by name, sentences, and what belongs to sentences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from tagkit.corpus.records.record_checks import check_item
from tagkit.errors import DataError
from tagkit.models.answers.kind import PredictionOptions
from tagkit.models.answers.texts import words_of
from tagkit.text.records import Prediction, Sentence
from tagkit.wording import clipped, plural

_OPTIONS = tuple(field.name for field in fields(PredictionOptions))


def checked_sentences(sentences: Iterable[Sentence]) -> Sequence[Sentence]:
    """The sentences of a call, which are read more than once, with their words in tuples.

    Raises:
        DataError: a word is empty, or words are a single string.
    """
    found = sentences if isinstance(sentences, list | tuple) else list(sentences)
    if all(isinstance(each.words, tuple) and all(each.words) for each in found):
        return found
    # An answer has their words. A sentence of none is refused where that matters.
    return [replace(each, words=words_of(each) if each else ()) for each in found]


def options_of(options: PredictionOptions | None, named: Mapping[str, Any]) -> PredictionOptions:
    """The options that a caller gives, as a record, by their names, or both.

    Raises:
        DataError: one is unknown.
    """
    if unknown := [name for name in named if name not in _OPTIONS]:
        expected = ", ".join(_OPTIONS)
        raise DataError(f"unknown option {clipped(unknown[0])}; expected one of {expected}")
    if options is None:
        return PredictionOptions(**named)
    return replace(options, **named) if named else options


def check_predictions(sentences: Sequence[Sentence], predictions: Sequence[Any]) -> None:
    """Refuse predictions that are not those of these sentences.

    Raises:
        DataError: there is not one for each sentence, of as many words.
    """
    if len(predictions) != len(sentences):
        expected = plural(len(sentences), "sentence")
        raise DataError(
            f"predictions: expected one for each of {expected}, found {len(predictions):,}"
        )
    for number, (sentence, found) in enumerate(zip(sentences, predictions, strict=True), 1):
        if isinstance(found, Prediction) and len(found.words) != len(sentence):
            raise DataError(
                f"predictions: expected one of {plural(len(sentence), 'word')} for sentence "
                f"{number:,}, found {clipped(repr(found))}"
            )


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
        for start, end in places:
            if not 0 <= start < end <= len(sentence):
                raise DataError(
                    f"sentence {number:,}: expected stretches of {plural(len(sentence), 'word')}, "
                    f"found one from {start} to {end}"
                )
