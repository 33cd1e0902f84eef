"""Text or Sentences -> tags, spans, classes, probabilities, offsets: the whole road."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import torch

from tagkit.config import Config, training_scheme
from tagkit.errors import DataError, DeviceError
from tagkit.features.batch import Tokens, index
from tagkit.features.bucketing import Ids, batches_in_order
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.inputs import Input, as_tagged, as_text
from tagkit.inference.word_cache import WordTable
from tagkit.limits import BATCH_SIZE, MAX_LENGTH
from tagkit.models.bundle import load_bundle
from tagkit.models.device import choose_device
from tagkit.models.model import Model
from tagkit.models.output import Answer, require_number, with_certainty
from tagkit.nn.inference import CachedWords
from tagkit.text.records import Alternative, LabelScore, Prediction, Sentence, Span, TaggedText
from tagkit.text.schemes import OUTSIDE, from_spans, split_tag, to_spans
from tagkit.text.windows import cut, join, windows

# Tokens of one batch of prediction, padding included: bounds memory where sentences are long.
_BATCH_TOKENS = 16_384
# From which on a class is likelier than not; where a text has one class the likeliest is taken.
_EVEN = 0.5


def _silent(_: int) -> None:
    """Hears of a long sentence and does nothing."""


def load(path: str | Path, device: str = "auto", precision: str = "fp32") -> "Predictor":
    """The model in a folder, ready to read texts.

    Args:
        path: of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N"; wherever the model was trained.
        precision: of the encoder's recurrent products: "fp32", or, on a CPU, "bf16" or "int8".

    Raises:
        BundleError: the folder holds no whole model, or one of a newer format.
        DeviceError: that device is not there, or has not that precision.
    """
    bundle = load_bundle(Path(path))
    chosen = choose_device(device)
    return Predictor(
        bundle.model,
        bundle.vocabulary,
        bundle.config,
        chosen,
        keep_words=True,
        precision=precision,
    )


class Predictor:
    """A trained model with its vocabulary and configuration, ready to read texts."""

    def __init__(
        self,
        model: Model,
        vocabulary: Vocabulary,
        config: Config,
        device: torch.device,
        *,
        keep_words: bool = False,
        precision: str = "fp32",
    ) -> None:
        """`config` is the model's resolved one; the model is moved to `device`.

        With `keep_words` what is known of a word is kept from call to call: the model's weights
        must not change. `precision` is that of the encoder's recurrent products: fp32, bf16, int8.

        Raises:
            DeviceError: a precision that the device does not have.
        """
        if precision != "fp32" and device.type != "cpu":
            raise DeviceError(f"device {device}: expected precision fp32, found {precision}")
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device
        self.precision = precision
        self._words = self._new_words() if keep_words else None

    @overload  # a str is an iterable of str too, but is meant as one text
    def predict(  # type: ignore[overload-overlap]
        self,
        inputs: str,
        *,
        batch_size: int = ...,
        confidence: bool = ...,
        max_length: int = ...,
        threshold: float | None = ...,
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
        threshold: float | None = ...,
        on_long: Callable[[int], None] = ...,
    ) -> list[TaggedText]: ...

    def predict(
        self,
        inputs: str | Iterable[Input],
        *,
        batch_size: int = BATCH_SIZE,
        confidence: bool = False,
        max_length: int = MAX_LENGTH,
        threshold: float | None = None,
        on_long: Callable[[int], None] = _silent,
    ) -> TaggedText | list[TaggedText]:
        """Tokens with tags, and spans, each with its place in its text; classes of the text.

        Args:
            inputs: one raw text, or several inputs, each a raw text (its sentences and tokens are
                found), a sequence of words, a `Sentence`, or a `Document`. A line's end is a
                sentence's end; where texts have classes each is read as one sequence.
            batch_size: sentences a batch, at most.
            confidence: whether to compute probabilities.
            max_length: words; a model of tags alone reads longer sentences in windows that overlap,
                and their tags are joined as `tagkit.text.windows` says.
            threshold: probability from which on a class is among the labels; None for the
                configured one, or, where a text has one class, for the likeliest in any case.
            on_long: told the number of words of each such sentence.

        Returns:
            What is said of the one text; a list with one for each of several inputs.

        Raises:
            DataError: a sequence without words, an empty word, or a `Sentence` without the
                feature columns that the model was trained with.
        """
        items = [inputs] if isinstance(inputs, str) else inputs
        tokenizer = self.config.data.tokenizer
        texts = [as_text(item, tokenizer, whole=self.config.task != "tag") for item in items]
        predictions = self.annotate(
            [sentence for text in texts for sentence in text.sentences],
            batch_size=batch_size,
            confidence=confidence,
            max_length=max_length,
            threshold=threshold,
            on_long=on_long,
        )
        found = iter(predictions)
        tagged = [as_tagged(text, [next(found) for _ in text.sentences]) for text in texts]
        return tagged[0] if isinstance(inputs, str) else tagged

    def annotate(
        self,
        sentences: Sequence[Sentence],
        *,
        batch_size: int,
        confidence: bool,
        max_length: int = MAX_LENGTH,
        threshold: float | None = None,
        on_long: Callable[[int], None] = _silent,
    ) -> list[Prediction]:
        """Tags and spans of each sentence, or its classes, in the sentences' order.

        Args:
            sentences: their own tags and classes are not looked at; their feature columns are
                those of training.
            batch_size: sentences a batch, at most.
            confidence: whether to compute probabilities.
            max_length: words; a model of tags alone reads longer sentences in windows that overlap,
                and their tags are joined as `tagkit.text.windows` says.
            threshold: probability from which on a class is among the labels; None for the
                configured one, or, where a text has one class, for the likeliest in any case.
            on_long: told the number of words of each such sentence.
        """
        if not sentences:
            return []
        if self.config.task != "tag":  # a class is of the whole
            max_length = max(len(sentence) for sentence in sentences)
        for sentence in sentences:
            if len(sentence) > max_length:
                on_long(len(sentence))
        plans = [windows(len(sentence), max_length) for sentence in sentences]
        pieces = [
            sentence if len(plan) == 1 else cut(sentence, window)
            for sentence, plan in zip(sentences, plans, strict=True)
            for window in plan
        ]
        found = iter(self._read(pieces, batch_size, confidence, threshold))
        predictions = []
        for sentence, plan in zip(sentences, plans, strict=True):
            parts = [(start, next(found)) for start, _ in plan]
            whole = parts[0][1] if len(parts) == 1 else None
            predictions.append(whole or join(sentence.words, parts, self.config.data.scheme))
        return predictions

    def _read(
        self,
        sentences: Sequence[Sentence],
        batch_size: int,
        confidence: bool,
        threshold: float | None,
    ) -> list[Prediction]:
        thresholds = self._thresholds(threshold)
        predictions: list[Prediction | None] = [None] * len(sentences)
        for indices, tokens, table in self._batches(sentences, batch_size):
            answer = self.model.answer(tokens, table, confidence=confidence)
            paths = [] if answer.tag_ids is None else answer.tag_ids.tolist()
            for row, i in enumerate(indices):
                path = paths[row][: len(sentences[i])] if paths else []
                predictions[i] = self._prediction(sentences[i], path, answer, row, thresholds)
        return [prediction for prediction in predictions if prediction is not None]

    def _batches(
        self, sentences: Sequence[Sentence], batch_size: int
    ) -> Iterator[tuple[Ids, Tokens, CachedWords]]:
        """Batches of sentences of similar length: which they are, and their words.

        Raises:
            DataError: a sentence without the feature columns that the model was trained with.
        """
        columns = len(self.vocabulary.features)
        if any(len(sentence.features) != columns for sentence in sentences):
            raise DataError(
                f"this model reads {columns} feature columns beside the words "
                f"({list(self.config.data.feature_columns)}): give it column files that have them"
            )
        words = self._words or self._new_words()
        indexed = index(sentences, self.vocabulary)
        row_of = words.rows(indexed.distinct)
        table = words.table()
        self.model.eval()
        for indices in batches_in_order(indexed.lengths, batch_size, _BATCH_TOKENS):
            yield indices, indexed.tokens(indices, row_of).to(self.device), table

    def _new_words(self) -> WordTable:
        return WordTable(self.model, self.vocabulary, self.device, self.precision)

    def _thresholds(self, given: float | None) -> list[float]:
        """Probability from which on a text has each class."""
        usual = _EVEN if self.config.head.multi_label == "yes" else 0.0
        chosen = self.config.head.threshold if given is None else given
        if isinstance(chosen, dict):
            return [chosen.get(label, usual) for label in self.vocabulary.classes]
        return [usual if chosen is None else chosen] * len(self.vocabulary.classes)

    def n_best(
        self, sentences: Sequence[Sentence], count: int, *, batch_size: int = BATCH_SIZE
    ) -> list[list[Alternative]]:
        """The likeliest sequences of tags of each sentence, the likeliest first, exactly.

        Args:
            sentences: as for `annotate`; none is cut.
            count: of sequences; a short sentence may have fewer.
            batch_size: sentences a batch, at most.

        Raises:
            DataError: the model gives no tags, or reads feature columns that are not there.
        """
        if self.config.task == "classify":
            raise DataError("this model classifies texts: it has no sequences of tags")
        found: list[list[Alternative]] = [[] for _ in sentences]
        for indices, tokens, table in self._batches(sentences, batch_size):
            paths, probs = (part.tolist() for part in self.model.n_best(tokens, table, count))
            for row, i in enumerate(indices):
                length = len(sentences[i])
                require_number(sum(probs[row]))
                found[i] = [
                    Alternative(*self._tags_and_spans(path[:length]), probability)
                    for path, probability in zip(paths[row], probs[row], strict=True)
                    if probability > 0
                ]
        return found

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """A prediction's tags in a scheme, which may differ from that of the training corpus."""
        if scheme in ("labels", self.config.data.scheme):
            return prediction.tags
        return from_spans(prediction.spans, len(prediction.words), scheme)

    def labels(self) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict; "" of a bare prefix."""
        tags = self.vocabulary.tags
        if training_scheme(self.config) == "labels":
            return frozenset(tags)
        return frozenset(split_tag(tag)[1] for tag in tags if tag != OUTSIDE)

    def classes(self) -> frozenset[str]:
        """Classes of texts that the model can predict."""
        return frozenset(self.vocabulary.classes)

    def _prediction(
        self,
        sentence: Sentence,
        path: list[int],
        answer: Answer,
        row: int,
        thresholds: Sequence[float],
    ) -> Prediction:
        length = len(sentence)
        prediction = Prediction(sentence.words, ())
        if path:
            prediction = self._tagged(sentence, path)
            if answer.certainty is not None:
                prediction = with_certainty(prediction, answer.certainty, row)
        if answer.class_probs is None:
            return prediction
        names = self.vocabulary.classes
        if self._words is not None:  # in training a score of 0 says it
            require_number(float(answer.class_probs[row].sum()))
        found = zip(names, answer.class_probs[row].tolist(), thresholds, strict=True)
        ranked = sorted(found, key=lambda score: -score[1])
        several = self.config.head.multi_label == "yes"
        open_to = ranked if several else ranked[:1]
        likely = tuple(label for label, probability, least in open_to if probability >= least)
        attention = None
        if answer.attention is not None:
            attention = tuple(answer.attention[row, :length].tolist())
        return replace(
            prediction,
            labels=likely,
            scores=tuple(LabelScore(label, probability) for label, probability, _ in ranked),
            attention=attention,
        )

    def _tagged(self, sentence: Sentence, tag_ids: list[int]) -> Prediction:
        return Prediction(sentence.words, *self._tags_and_spans(tag_ids))

    def _tags_and_spans(self, tag_ids: list[int]) -> tuple[tuple[str, ...], tuple[Span, ...]]:
        """A path in the scheme of the training corpus, and the spans that it means."""
        tags = tuple(self.vocabulary.tags[number] for number in tag_ids)
        if training_scheme(self.config) == "labels":
            return tags, ()
        spans = to_spans(tags)
        return from_spans(spans, len(tags), self.config.data.scheme), spans
