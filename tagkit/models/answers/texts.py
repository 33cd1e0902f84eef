"""Inputs of a model -> texts with their sentences; predictions -> tags and spans with offsets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from tagkit.corpus.records.alignment import tokens_of
from tagkit.corpus.records.record_checks import check_document, check_sentence
from tagkit.errors import DataError
from tagkit.text.records import (
    Document,
    Prediction,
    Sentence,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextSpan,
    joined,
    new_document,
)
from tagkit.wording import clipped

Input = str | Sequence[str] | Sentence | Document
# Iterable, and neither words in order nor inputs in order.
_UNORDERED = (bytes, bytearray, Mapping, Set)


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its sentences, and the offsets of their words.

    Attributes:
        text: the unchanged input, or its words joined by spaces.
        sentences: the words; a text that is read whole is one sentence.
        places: (start, end) of each word of each sentence in `text`, in code points.
    """

    text: str
    sentences: list[Sentence]
    places: list[Sequence[tuple[int, int]]]


def is_one(inputs: Any) -> bool:
    """Whether this is one input, and not several."""
    return isinstance(inputs, str | Sentence | Document)


def inputs_of(inputs: Any) -> Iterable[Any]:
    """The inputs that a caller gave, each still to be checked.

    Args:
        inputs: one raw text, `Sentence` or `Document`, or several inputs.

    Raises:
        DataError: it is neither.
    """
    if is_one(inputs):
        return [inputs]
    if isinstance(inputs, _UNORDERED) or not _can_be_read(inputs):
        raise DataError(
            "inputs: expected a text, a Sentence, a Document, or several of them or of sequences "
            f"of words, found {_shown(inputs)}"
        )
    found: Iterable[Any] = inputs
    return found


def _can_be_read(value: Any) -> bool:
    try:  # an array without a dimension is an Iterable too
        iter(value)
    except TypeError:
        return False
    return True


def materialized(item: Any) -> Any:
    """An input that may be read several times: the words of an iterator as a tuple."""
    return tuple(item) if isinstance(item, Iterator) else item


def words_of(item: Any) -> tuple[str, ...]:
    """The words of a `Sentence` or of a sequence of words.

    Raises:
        DataError: it is neither, or has no words or an empty one.
    """
    if isinstance(item, Sentence):
        check_sentence(item, "input")  # not its tags, which no answer depends on
        words = tuple(item.words)
    elif isinstance(item, _UNORDERED) or not _can_be_read(item):
        raise _unexpected(item)
    else:
        words = tuple(item)
        if not all(isinstance(word, str) for word in words):
            raise _unexpected(item)
    if not words or "" in words:
        # An empty word has no characters to read, and no line in a column file.
        raise DataError(f"expected at least one word and none that is empty, found {_shown(item)}")
    return words


def _unexpected(item: Any) -> DataError:
    return DataError(
        "input: expected a text, a sequence of words, a Sentence or a Document, found "
        f"{_shown(item)}"
    )


def _shown(value: Any) -> str:
    return clipped(repr(value))


def as_text(item: Input, tokenizer: str, *, whole: bool) -> Text:
    """Any input as a text and its sentences.

    Args:
        item: a raw text, a sequence of words, a `Sentence`, or a `Document`.
        tokenizer: a name in `tokenizer.TOKENIZERS`, for raw texts.
        whole: whether a text is read as one sentence, as it is if texts have classes.

    Raises:
        DataError: an item of another type, a sequence without words, or an empty word.
    """
    # A str first: it is a sequence of strings too, whose words would be its characters.
    if isinstance(item, str):
        item = Document(item)
    if isinstance(item, Document):
        check_document(item, "input")
        # Without the spans that a corpus may have for it: a sentence would not end inside one, and
        # what is predicted follows from the text alone.
        text, found = item.text, tokens_of(replace(item, spans=None), tokenizer, whole=whole)
        # Tokens are substrings of the text, so offsets of predictions are exact.
        document = new_document()
        sentences = [
            Sentence(tuple(text[start:end] for start, end in places), document=document)
            for places in found
        ]
        return Text(text, sentences, [*found])
    words = words_of(item)
    sentence = item if isinstance(item, Sentence) else Sentence(words)
    # A corpus may keep the text that its words come from, and their offsets in it.
    if sentence.text is not None:
        return Text(sentence.text, [sentence], [sentence.places])
    text, places = joined(sentence.words)
    return Text(text, [sentence], [places])


def as_tagged(text: Text, predictions: Sequence[Prediction]) -> TaggedText:
    """Predictions for a text's sentences, with the offsets of each token and span."""
    sentences, spans = [], []
    for places, prediction in zip(text.places, predictions, strict=True):
        # In place of what the model does not predict, so that one loop serves every task.
        nothing = (None,) * len(places)
        rows = zip(
            prediction.words,
            places,
            prediction.tags or nothing,
            prediction.probabilities or nothing,
            prediction.attention or nothing,
            strict=True,
        )
        tokens = [
            TaggedToken(word, start, end, tag, probability, attention)
            for word, (start, end), tag, probability, attention in rows
        ]
        if prediction.columns:
            tokens = _with_columns(tokens, prediction.columns)
        sentences.append(tuple(tokens))
        for span in prediction.spans:
            # `span.end` is exclusive: the last word is the one before it.
            start, end = places[span.start][0], places[span.end - 1][1]
            found = text.text[start:end]
            spans.append(TextSpan(found, start, end, span.label, span.probability))
    tagged = TaggedText(text.text, tuple(sentences), tuple(spans))
    if len(predictions) != 1:  # a text that has classes is one sentence
        return tagged
    return replace(tagged, labels=predictions[0].labels, scores=predictions[0].scores)


def _with_columns(tokens: Sequence[TaggedToken], columns: Sequence[TagColumn]) -> list[TaggedToken]:
    """The tokens with their value in each column."""
    names = [column.name for column in columns]
    values = zip(*(column.values for column in columns), strict=True)
    found = [
        replace(token, tags=dict(zip(names, cells, strict=True)))
        for token, cells in zip(tokens, values, strict=True)
    ]
    if any(column.probabilities is None for column in columns):
        return found
    probs = zip(*(column.probabilities or () for column in columns), strict=True)
    return [
        replace(token, probabilities=dict(zip(names, cells, strict=True)))
        for token, cells in zip(found, probs, strict=True)
    ]
