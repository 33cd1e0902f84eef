"""Inputs of a model -> texts with their sentences; predictions -> tags and spans with offsets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.records.alignment import tokens_of
from tagkit.corpus.records.objects import records_to_predict
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

# One input alone; a dictionary is a record, with the keys of JSON Lines.
OneInput = str | Sentence | Document | Mapping[str, Any]
# One of several; records of other kinds are in `corpus.records.objects`.
Input = OneInput | Sequence[Any]


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
    """Whether this is one input, and not several; a dictionary is a record."""
    return isinstance(inputs, str | Sentence | Document | Mapping)


def inputs_of(inputs: Any, data: DataConfig) -> Iterable[Any]:
    """The inputs that a caller gave, each still to be checked.

    Args:
        inputs: one raw text, `Sentence`, `Document` or record, or several inputs.
        data: of the model.

    Raises:
        DataError: it is a set, or a record cannot be read.
    """
    if is_one(inputs) and not isinstance(inputs, Mapping):
        return [inputs]
    if isinstance(inputs, list) and inputs and isinstance(inputs[0], str | Sentence | Document):
        return inputs  # the usual case without a look at each
    if isinstance(inputs, Set):
        _refuse_unordered(inputs)
    return records_to_predict(inputs, data)


def _refuse_unordered(value: Any) -> None:
    """Refuse a dictionary, whose keys would be read in silence, and a set, which has no order.

    Raises:
        DataError: it is one.
    """
    if isinstance(value, Mapping | Set):
        raise DataError(
            "expected a text, a Sentence, a Document, a list of words, or a list of such inputs, "
            f"found {clipped(repr(value))}"
        )


def materialized(item: Any) -> Any:
    """An input that may be read several times: the words of an iterator as a tuple."""
    return tuple(item) if isinstance(item, Iterator) else item


def words_of(item: Sentence | Iterable[str]) -> tuple[str, ...]:
    """The words of a `Sentence` or of a sequence of words.

    Raises:
        DataError: it has no words or an empty one, or its words have no order.
    """
    if isinstance(item, Sentence):
        check_sentence(item, "input")  # not its tags, which no answer depends on
        words = tuple(item.words)
    else:
        _refuse_unordered(item)
        words = tuple(item)
    if not words or not all(words):
        # An empty word has no characters to read, and no line in a column file.
        found = clipped(repr(item))
        raise DataError(f"expected at least one word and none that is empty, found {found}")
    return words


def as_text(item: Input, tokenizer: str, *, whole: bool) -> Text:
    """Any input as a text and its sentences.

    Args:
        item: a raw text, a sequence of words, a `Sentence`, or a `Document`.
        tokenizer: a name in `tokenizer.TOKENIZERS`, for raw texts.
        whole: whether a text is read as one sentence, as it is if texts have classes.

    Raises:
        DataError: a sequence without words, an empty word, or words without an order.
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
            Sentence(
                tuple(text[start:end] for start, end in places),
                document=document,
                tree=item.tree,  # over tokens that are one sentence
            )
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
    only = predictions[0]
    return replace(tagged, labels=only.labels, scores=only.scores, tree=only.tree)


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
