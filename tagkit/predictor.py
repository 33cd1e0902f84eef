"""Text or Sentences -> tags, spans, probabilities, offsets: the whole road."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

import torch

from tagkit.alignment import tokens_of
from tagkit.batch import Batch, batches_in_order, encode
from tagkit.bundle import load_bundle
from tagkit.config import Config
from tagkit.corpus import training_scheme
from tagkit.device import choose_device
from tagkit.errors import DataError
from tagkit.model import Decoded, Tagger
from tagkit.schemes import OUTSIDE, from_spans, split_tag, to_spans
from tagkit.sentence import (
    Document,
    Prediction,
    Sentence,
    Span,
    TaggedText,
    TaggedToken,
    TextSpan,
    joined,
)
from tagkit.vocab import Vocabulary
from tagkit.windows import cut, join, windows

# Tokens of one batch of prediction, padding included: bounds memory where sentences are long.
_BATCH_TOKENS = 16_384
BATCH_SIZE = 64  # sentences a batch
MAX_LENGTH = 4096  # words; longer sentences are tagged in windows

Input = str | Sequence[str] | Sentence | Document


def _silent(_: int) -> None:
    """Hears of a long sentence and does nothing."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text and its sentences, and where their words stand in it."""

    text: str
    sentences: list[Sentence]
    places: list[Sequence[tuple[int, int]]]


def load(path: str | Path, device: str = "auto") -> "Predictor":
    """The model in a folder, ready to tag.

    Args:
        path: of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N"; wherever the model was trained.

    Raises:
        BundleError: the folder holds no whole model, or one of a newer format.
        DeviceError: that device is not there.
    """
    bundle = load_bundle(Path(path))
    return Predictor(bundle.model, bundle.vocabulary, bundle.config, choose_device(device))


class Predictor:
    """A trained model with its vocabulary and configuration, ready to tag."""

    def __init__(
        self, model: Tagger, vocabulary: Vocabulary, config: Config, device: torch.device
    ) -> None:
        """`config` is the model's resolved one; the model is moved to `device`."""
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device

    @overload  # a str is an iterable of str too, but is meant as one text
    def predict(  # type: ignore[overload-overlap]
        self,
        inputs: str,
        *,
        batch_size: int = ...,
        confidence: bool = ...,
        max_length: int = ...,
        on_long: Callable[[int], None] = ...,
    ) -> TaggedText: ...

    @overload
    def predict(
        self,
        inputs: Iterable[Input],
        *,
        batch_size: int = ...,
        confidence: bool = ...,
        max_length: int = ...,
        on_long: Callable[[int], None] = ...,
    ) -> list[TaggedText]: ...

    def predict(
        self,
        inputs: str | Iterable[Input],
        *,
        batch_size: int = BATCH_SIZE,
        confidence: bool = False,
        max_length: int = MAX_LENGTH,
        on_long: Callable[[int], None] = _silent,
    ) -> TaggedText | list[TaggedText]:
        """Tokens with tags, and spans, each with its place in its text.

        Args:
            inputs: one raw text, or several inputs, each a raw text (its sentences and tokens are
                found), a sequence of words, a `Sentence`, or a `Document`. A line's end is a
                sentence's end.
            batch_size: sentences a batch, at most.
            confidence: whether to compute probabilities.
            max_length: words; longer sentences are cut into windows that overlap, whose tags are
                joined as `tagkit.windows` says.
            on_long: told the number of words of each such sentence.

        Returns:
            What is tagged of the one text; a list with one for each of several inputs.

        Raises:
            DataError: a sequence without words, an empty word, or a `Sentence` without the
                feature columns that the model was trained with.
        """
        texts = [_as_text(item) for item in ([inputs] if isinstance(inputs, str) else inputs)]
        predictions = self.tag(
            [sentence for text in texts for sentence in text.sentences],
            batch_size=batch_size,
            confidence=confidence,
            max_length=max_length,
            on_long=on_long,
        )
        found = iter(predictions)
        tagged = [_tagged(text, [next(found) for _ in text.sentences]) for text in texts]
        return tagged[0] if isinstance(inputs, str) else tagged

    def tag(
        self,
        sentences: Sequence[Sentence],
        *,
        batch_size: int,
        confidence: bool,
        max_length: int = MAX_LENGTH,
        on_long: Callable[[int], None] = _silent,
    ) -> list[Prediction]:
        """Tags and spans of each sentence, in the sentences' order.

        Args:
            sentences: their own tags are not looked at; their feature columns are those of
                training.
            batch_size: sentences a batch, at most.
            confidence: whether to compute probabilities.
            max_length: words; longer sentences are cut into windows that overlap, whose tags are
                joined as `tagkit.windows` says.
            on_long: told the number of words of each such sentence.
        """
        if not sentences:
            return []
        columns = len(self.vocabulary.features)
        if any(len(sentence.features) != columns for sentence in sentences):
            raise DataError(
                f"this model reads {columns} feature columns beside the words "
                f"({list(self.config.data.feature_columns)}): give it column files that have them"
            )
        for sentence in sentences:
            if len(sentence) > max_length:
                on_long(len(sentence))
        plans = [windows(len(sentence), max_length) for sentence in sentences]
        bare = [
            cut(replace(sentence, tags=None), window)
            for sentence, plan in zip(sentences, plans, strict=True)
            for window in plan
        ]
        found = iter(self._tag(bare, batch_size, confidence))
        predictions = []
        for sentence, plan in zip(sentences, plans, strict=True):
            parts = [(start, next(found)) for start, _ in plan]
            whole = parts[0][1] if len(parts) == 1 else None
            predictions.append(whole or join(sentence.words, parts, self.config.data.scheme))
        return predictions

    def _tag(
        self, sentences: Sequence[Sentence], batch_size: int, confidence: bool
    ) -> list[Prediction]:
        encoded = encode(sentences, self.vocabulary, chars=self.model.embed.chars is not None)
        batches = batches_in_order(encoded.lengths, batch_size, _BATCH_TOKENS)
        decode = self._sure if confidence else self._plain
        predictions: list[Prediction | None] = [None] * len(sentences)
        self.model.eval()
        for indices in batches:
            batch = encoded.batch(indices).to(self.device)
            found = decode([sentences[i] for i in indices], batch)
            for i, prediction in zip(indices, found, strict=True):
                predictions[i] = prediction
        return [prediction for prediction in predictions if prediction is not None]

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """A prediction's tags in a scheme, which may differ from that of the training corpus."""
        if scheme in ("labels", self.config.data.scheme):
            return prediction.tags
        return from_spans(prediction.spans, len(prediction.words), scheme)

    def labels(self) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict."""
        tags = self.vocabulary.tags
        if training_scheme(self.config) == "labels":
            return frozenset(tags)
        # seqeval's name for the label of a bare prefix
        return frozenset(split_tag(tag)[1] or "_" for tag in tags if tag != OUTSIDE)

    def _plain(self, sentences: Sequence[Sentence], batch: Batch) -> Iterator[Prediction]:
        paths = self.model.decode(batch).cpu().numpy()
        for sentence, path in zip(sentences, paths, strict=True):
            yield self._prediction(sentence, path[: len(sentence)].tolist())

    def _sure(self, sentences: Sequence[Sentence], batch: Batch) -> Iterator[Prediction]:
        decoded = self.model.decode_with_confidence(batch)
        decoded = Decoded(
            decoded.tag_ids.cpu(),
            decoded.probs.cpu(),
            decoded.step_log_probs.cpu(),
            decoded.goes_on.cpu(),
        )
        for row, sentence in enumerate(sentences):
            yield self._sure_prediction(sentence, decoded, row)

    def _sure_prediction(self, sentence: Sentence, decoded: Decoded, row: int) -> Prediction:
        length = len(sentence)
        probs = decoded.probs[row, :length].tolist()
        steps = decoded.step_log_probs[row, :length].tolist()
        goes_on = decoded.goes_on[row, :length].tolist()

        def probability(span: Span) -> float:
            within = math.exp(sum(steps[span.start + 1 : span.end]))
            return float(probs[span.start] * within * (1 - goes_on[span.end - 1]))

        tag_ids = decoded.tag_ids[row, :length].tolist()
        return self._prediction(sentence, tag_ids, probs, probability)

    def _prediction(
        self,
        sentence: Sentence,
        tag_ids: list[int],
        probs: list[float] | None = None,
        probability: Callable[[Span], float] | None = None,
    ) -> Prediction:
        tags = tuple(self.vocabulary.tags[number] for number in tag_ids)
        spans: tuple[Span, ...] = ()
        if training_scheme(self.config) != "labels":
            spans = to_spans(tags)
            tags = from_spans(spans, len(tags), self.config.data.scheme)
            if probability:
                spans = tuple(replace(span, probability=probability(span)) for span in spans)
        return Prediction(sentence.words, tags, spans, tuple(probs) if probs else None)


def _as_text(item: Input) -> _Text:
    if isinstance(item, str):
        item = Document(item)
    if isinstance(item, Document):
        text, found = item.text, tokens_of(item)
        sentences = [Sentence(tuple(text[start:end] for start, end in places)) for places in found]
        return _Text(text, sentences, [*found])
    sentence = item if isinstance(item, Sentence) else Sentence(tuple(item))
    if not sentence.words or "" in sentence.words:
        raise DataError(f"expected at least one word and none that is empty, found {item!r}")
    if sentence.text is not None:
        return _Text(sentence.text, [sentence], [sentence.places])
    text, places = joined(sentence.words)
    return _Text(text, [sentence], [places])


def _tagged(text: _Text, predictions: Sequence[Prediction]) -> TaggedText:
    sentences, spans = [], []
    for places, prediction in zip(text.places, predictions, strict=True):
        rows = zip(
            prediction.words,
            places,
            prediction.tags,
            prediction.probabilities or [None] * len(places),
            strict=True,
        )
        sentences.append(
            tuple(
                TaggedToken(word, start, end, tag, probability)
                for word, (start, end), tag, probability in rows
            )
        )
        for span in prediction.spans:
            start, end = places[span.start][0], places[span.end - 1][1]
            found = text.text[start:end]
            spans.append(TextSpan(found, start, end, span.label, span.probability))
    return TaggedText(text.text, tuple(sentences), tuple(spans))
