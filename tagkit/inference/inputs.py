"""What a model is given -> sentences; what it says of these -> places in what was given."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tagkit.corpus.alignment import tokens_of
from tagkit.errors import DataError
from tagkit.text.records import (
    Document,
    Prediction,
    Sentence,
    TaggedText,
    TaggedToken,
    TextSpan,
    joined,
)
from tagkit.wording import clipped

Input = str | Sequence[str] | Sentence | Document


@dataclass(frozen=True, slots=True)
class Text:
    """A text and what a model reads of it.

    Attributes:
        text: untouched, or words joined by blanks.
        sentences: its words; whole texts are one sentence.
        places: where the words of each sentence stand in it.
    """

    text: str
    sentences: list[Sentence]
    places: list[Sequence[tuple[int, int]]]


def as_text(item: Input, tokenizer: str, *, whole: bool) -> Text:
    """Any input as a text and its sentences.

    Args:
        item: a raw text, a sequence of words, a `Sentence`, or a `Document`.
        tokenizer: a name in `tokenizer.TOKENIZERS`, for raw texts.
        whole: whether a text is one sentence, as it is where it has a class.

    Raises:
        DataError: a sequence without words, or an empty word.
    """
    if isinstance(item, str):
        item = Document(item)
    if isinstance(item, Document):
        text, found = item.text, tokens_of(item, tokenizer, whole=whole)
        sentences = [Sentence(tuple(text[start:end] for start, end in places)) for places in found]
        return Text(text, sentences, [*found])
    sentence = item if isinstance(item, Sentence) else Sentence(tuple(item))
    if not sentence.words or "" in sentence.words:
        shown = clipped(repr(item))
        raise DataError(f"expected at least one word and none that is empty, found {shown}")
    if sentence.text is not None:
        return Text(sentence.text, [sentence], [sentence.places])
    text, places = joined(sentence.words)
    return Text(text, [sentence], [places])


def as_tagged(text: Text, predictions: Sequence[Prediction]) -> TaggedText:
    """Predictions for a text's sentences, each tag and span in its place."""
    sentences, spans = [], []
    for places, prediction in zip(text.places, predictions, strict=True):
        nothing = (None,) * len(places)
        rows = zip(
            prediction.words,
            places,
            prediction.tags or nothing,
            prediction.probabilities or nothing,
            prediction.attention or nothing,
            strict=True,
        )
        sentences.append(
            tuple(
                TaggedToken(word, start, end, tag, probability, share)
                for word, (start, end), tag, probability, share in rows
            )
        )
        for span in prediction.spans:
            start, end = places[span.start][0], places[span.end - 1][1]
            found = text.text[start:end]
            spans.append(TextSpan(found, start, end, span.label, span.probability))
    tagged = TaggedText(text.text, tuple(sentences), tuple(spans))
    if len(predictions) != 1:  # a text with a class is one sentence
        return tagged
    return replace(tagged, labels=predictions[0].labels, scores=predictions[0].scores)
