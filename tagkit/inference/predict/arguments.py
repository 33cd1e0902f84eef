"""What callers of a model give: values of a wrong kind are refused by the parameter's name."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.record_checks import check_item, pair
from tagkit.errors import BundleError, DataError
from tagkit.inference.predict.inputs import words_of
from tagkit.limits import MAX_LENGTH
from tagkit.models.base.task import Task
from tagkit.text.records import Prediction, Sentence
from tagkit.wording import clipped, plural

# Of a model whose texts are not cut.
READS_WHOLE = "this model classifies: max_length is for tags, a text is read whole"


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


def checked_sentences(sentences: Iterable[Sentence]) -> Sequence[Sentence]:
    """The sentences of a call, which are read more than once.

    Raises:
        DataError: they are not sentences, or a single one.
    """
    if not isinstance(sentences, Iterable) or isinstance(sentences, str):
        raise DataError(f"sentences: expected Sentence records, found {clipped(repr(sentences))}")
    found = sentences if isinstance(sentences, list | tuple) else list(sentences)
    for sentence in found:
        if not isinstance(sentence, Sentence):
            raise DataError(
                f"sentences: expected Sentence records, found {clipped(repr(sentence))}"
            )
    if not all(_has_plain_words(sentence) for sentence in found):  # an answer has their words
        found = [replace(each, words=words_of(each) if each else ()) for each in found]
    return found


def _has_plain_words(sentence: Sentence) -> bool:
    """Whether its words are a tuple of strings, none of which is empty."""
    words = sentence.words
    try:  # a word at a time would take as long as to encode it
        return isinstance(words, tuple) and all(words) and "".join(words) is not None
    except TypeError:  # no strings
        return False


def refuse_ineffective(task: Task, threshold: float | None, max_length: int) -> None:
    """Refuse options that have no effect on what a task predicts, as `tagkit predict` does.

    Raises:
        DataError: there is one.
    """
    if threshold is not None and not task.gives.classes:
        raise DataError("this model tags: threshold=... is for classes of texts")
    if max_length != MAX_LENGTH and task.is_whole:
        raise DataError(READS_WHOLE)


def check_split(split: Any) -> None:
    """Refuse what is no part of a corpus.

    Raises:
        DataError: it is refused.
    """
    if not isinstance(split, Split):
        raise DataError(f"split: expected a Split, found {clipped(repr(split))}")


def check_predictions(split: Split, predictions: Sequence[Prediction]) -> None:
    """Refuse predictions that are not those of a corpus's sentences.

    Raises:
        DataError: there is not one for each sentence, of as many words.
    """
    if not isinstance(predictions, Sequence):
        raise DataError(f"predictions: expected a list, found {clipped(repr(predictions))}")
    sentences = split.sentences
    if len(predictions) != len(sentences):
        expected = plural(len(sentences), "sentence")
        raise DataError(
            f"predictions: expected one for each of {expected}, found {len(predictions):,}"
        )
    for number, (sentence, found) in enumerate(zip(sentences, predictions, strict=True), 1):
        if not isinstance(found, Prediction) or len(found.words) != len(sentence):
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
    if not isinstance(stretches, Sequence):
        raise DataError(f"stretches: expected a list, found {clipped(repr(stretches))}")
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
            start, end = pair("stretches", place, f"sentence {number:,}")
            if not 0 <= start < end <= len(sentence):
                raise DataError(
                    f"sentence {number:,}: expected stretches of {plural(len(sentence), 'word')}, "
                    f"found one from {start} to {end}"
                )


def check_annotates(task: Task, config: Config) -> None:
    """Refuse sentences that are to be annotated, where the task annotates nothing.

    Raises:
        DataError: they are refused.
    """
    if not task.annotates:
        commands = (
            "tagkit predict continues prefixes, and tagkit eval scores pairs"
            if config.data.pairs
            else "tagkit generate continues a text, and tagkit eval scores one (in Python, "
            "tagkit.load_language_model loads it, and tagkit.evaluate scores a text)"
        )
        raise DataError(f"this is a language model, which annotates nothing: {commands}")
