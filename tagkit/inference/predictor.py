"""Text or sentences -> tags, spans, classes, probabilities, offsets.

inputs    `inputs.as_text`: texts -> sentences with offsets
pieces    `text.windows`: long sentences -> windows, if the task allows it
batches   `encoding`, `bucketing` and the word cache: sentences -> ids, of similar length
decode    the task: ids -> predictions
outputs   windows joined, batches in the order of the sentences, `inputs.as_tagged`: offsets
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import torch

from tagkit.config import Config
from tagkit.corpus.dataset import Split
from tagkit.errors import DataError, DeviceError
from tagkit.evaluation.report import Report
from tagkit.features.bucketing import Ids, batches_in_order
from tagkit.features.encoding import index
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.inputs import Input, as_tagged, as_text
from tagkit.inference.word_cache import WordCache
from tagkit.limits import BATCH_SIZE, BATCH_TOKENS, MAX_LENGTH
from tagkit.models.bundle import load_bundle
from tagkit.models.device import choose_device
from tagkit.models.model import Model
from tagkit.models.tagger import tags_in
from tagkit.models.task import ModelContext, PredictionOptions, SentenceBatch
from tagkit.models.task_table import task_of
from tagkit.text.records import Alternative, Prediction, Sentence, TaggedText
from tagkit.text.windows import cut, windows


def _ignore(_: int) -> None:
    """The default of `on_long`; does nothing."""


def load(path: str | Path, device: str = "auto", precision: str = "fp32") -> "Predictor":
    """Load a model, ready to predict.

    Args:
        path: folder of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N"; it need not be the one of training.
        precision: of the encoder's recurrent products: "fp32", or, on a CPU, "bf16" or "int8".

    Raises:
        BundleError: the folder holds no complete model, or one of a newer format.
        DeviceError: the device does not exist, or does not support the precision.
    """
    bundle = load_bundle(Path(path))
    chosen = choose_device(device)
    return Predictor(
        bundle.model,
        bundle.vocabulary,
        bundle.config,
        chosen,
        keep_words=True,  # the weights of a loaded model do not change
        precision=precision,
    )


class Predictor:
    """A trained model with its vocabulary and configuration, ready to predict."""

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
        """A predictor for a model, which is moved to `device`.

        Args:
            model: the network.
            vocabulary: of the model.
            config: the resolved configuration of the model.
            device: to predict on.
            keep_words: whether the word cache is kept from call to call, as is right unless the
                model's weights change.
            precision: of the encoder's recurrent products: "fp32", "bf16" or "int8".

        Raises:
            DeviceError: the device does not support the precision.
        """
        # Only the cached inference on a CPU has products of other precisions.
        if precision != "fp32" and device.type != "cpu":
            raise DeviceError(f"device {device}: expected precision fp32, found {precision}")
        self.task = task_of(config)
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device
        self.precision = precision
        self.keeps_words = keep_words
        self._cache = self._new_cache() if keep_words else None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the word cache."""
        # With it 18 MB of a model grew to 85 MB, and it soon fills again.
        return {**self.__dict__, "_cache": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same predictor with an empty word cache."""
        self.__dict__.update(state)
        if self.keeps_words:
            self._cache = self._new_cache()

    @property
    def _context(self) -> ModelContext:
        # Without a kept cache the model is in training: weights that have become infinite then show
        # as a score of 0, and are not an error.
        return ModelContext(self.model, self.vocabulary, self.config, checked=self.keeps_words)

    # mypy sees overlapping overloads, as a str is an iterable of str too; one str is one text.
    @overload
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
        on_long: Callable[[int], None] = _ignore,
    ) -> TaggedText | list[TaggedText]:
        """Predict tags and spans, with their offsets in the text, and classes of the text.

        Args:
            inputs: one raw text, or several inputs, each a raw text (which is split into sentences
                and tokens), a sequence of words, a `Sentence`, or a `Document`. A line end ends a
                sentence; if texts have classes, each text is read as one sequence.
            batch_size: maximum number of sentences in a batch.
            confidence: whether to compute probabilities.
            max_length: maximum number of words in a sentence; a tagger reads longer ones in
                overlapping windows, whose tags are joined as described in `tagkit.text.windows`.
            threshold: minimum class probability for a label; None for the configured one, or, if
                each text has one class, for the most probable class whatever its probability.
            on_long: called with the number of words of each longer sentence.

        Returns:
            The prediction for one text, or a list of predictions for several inputs.

        Raises:
            DataError: a sequence without words, an empty word, or a `Sentence` without the
                feature columns that the model was trained with.
        """
        items = [inputs] if isinstance(inputs, str) else inputs
        tokenizer = self.config.data.tokenizer
        texts = [as_text(item, tokenizer, whole=self.task.is_whole) for item in items]
        # All sentences of all texts at once, so that batches are full and of similar length.
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
        on_long: Callable[[int], None] = _ignore,
    ) -> list[Prediction]:
        """Predict tags, spans and classes of each sentence, in the order of the sentences.

        Args:
            sentences: with the feature columns of training; their own tags and classes are ignored.
            batch_size: maximum number of sentences in a batch.
            confidence: whether to compute probabilities.
            max_length: maximum number of words in a sentence; a tagger reads longer ones in
                overlapping windows, whose tags are joined as described in `tagkit.text.windows`.
            threshold: minimum class probability for a label; None for the configured one, or, if
                each text has one class, for the most probable class whatever its probability.
            on_long: called with the number of words of each longer sentence.
        """
        if not sentences:
            return []
        # A class belongs to the whole text, so nothing is cut and nothing is "long".
        if self.task.is_whole:
            max_length = max(len(sentence) for sentence in sentences)
        for sentence in sentences:
            if len(sentence) > max_length:
                on_long(len(sentence))
        plans = [windows(len(sentence), max_length) for sentence in sentences]
        # Nearly all sentences have one window; they are not copied.
        pieces = [
            sentence if len(plan) == 1 else cut(sentence, window)
            for sentence, plan in zip(sentences, plans, strict=True)
            for window in plan
        ]
        # In the order of sentences and of their windows, which the loop below takes one by one.
        found = iter(self._decode(pieces, batch_size, PredictionOptions(confidence, threshold)))
        predictions = []
        for sentence, plan in zip(sentences, plans, strict=True):
            # (start, prediction) of each window
            parts = [(start, next(found)) for start, _ in plan]
            whole = parts[0][1] if len(parts) == 1 else None
            predictions.append(whole or self.task.join(self._context, sentence.words, parts))
        return predictions

    def _decode(
        self, sentences: Sequence[Sentence], batch_size: int, options: PredictionOptions
    ) -> list[Prediction]:
        """Predictions in the order of the sentences, which is not the order of the batches."""
        # By index in `sentences`: batches come in order of length.
        context, predictions = self._context, dict[int, Prediction]()
        for indices, batch in self._batches(sentences, batch_size):
            found = self.task.decode(context, batch, options)
            predictions.update(zip(indices.tolist(), found, strict=True))
        return [predictions[i] for i in range(len(sentences))]

    def _batches(
        self, sentences: Sequence[Sentence], batch_size: int
    ) -> Iterator[tuple[Ids, SentenceBatch]]:
        """Batches of sentences of similar length, each with the indices of its sentences.

        Raises:
            DataError: a sentence without words, or without the feature columns that the model was
                trained with.
        """
        # Before any batch, so that a mistake in the last sentence does not cost the work before it.
        if not all(sentences):  # a Sentence without words is false, and has nothing to encode
            raise DataError("expected at least one word in each sentence, found a sentence of none")
        columns = len(self.vocabulary.features)
        if any(len(sentence.features) != columns for sentence in sentences):
            raise DataError(
                f"this model reads {columns} feature columns beside the words "
                f"({list(self.config.data.feature_columns)}): give it column files that have them"
            )
        # In training a new cache for each call, as the weights have changed since the last one.
        cache = self._cache or self._new_cache()
        indexed = index(sentences, self.vocabulary)
        # Rows of all batches before the first one: a later call could move them, and replace the
        # table.
        row_of = cache.rows(indexed.distinct)
        table = cache.table()
        # Without this, dropout would make predictions random during training.
        self.model.eval()
        for indices in batches_in_order(indexed.lengths, batch_size, BATCH_TOKENS):
            tokens = indexed.tokens(indices, row_of).to(self.device)
            yield indices, SentenceBatch([sentences[i] for i in indices], tokens, table)

    def _new_cache(self) -> WordCache:
        return WordCache(self.model, self.vocabulary, self.device, self.precision)

    def n_best(
        self, sentences: Sequence[Sentence], count: int, *, batch_size: int = BATCH_SIZE
    ) -> list[list[Alternative]]:
        """The most probable sequences of tags of each sentence, in descending order; exact.

        Args:
            sentences: as for `annotate`; none is cut.
            count: number of sequences; a short sentence may have fewer.
            batch_size: maximum number of sentences in a batch.

        Raises:
            DataError: the model predicts no tags, `count` is below 1, or a sentence has no words
                or lacks feature columns.
        """
        if not self.task.gives.tags:
            raise DataError("this model classifies texts: it has no sequences of tags")
        if count < 1:
            raise DataError(f"count: expected at least 1, found {count}")
        # Not in windows: sequences of several windows could not be joined with exact probabilities.
        context, found = self._context, dict[int, list[Alternative]]()
        for indices, batch in self._batches(sentences, batch_size):
            best = self.task.n_best(context, batch, count)
            found.update(zip(indices.tolist(), best, strict=True))
        return [found[i] for i in range(len(sentences))]

    def score(self, split: Split, *, batch_size: int = BATCH_SIZE, strict: bool = False) -> Report:
        """A report on the model's predictions for a corpus with gold labels.

        Args:
            split: the corpus.
            batch_size: maximum number of sentences in a batch.
            strict: count well-formed spans only.
        """
        # The default length of windows, not that of the configuration: `predict` uses the same.
        found = self.annotate(split.sentences, batch_size=batch_size, confidence=False)
        return self.report(split, found, strict=strict)

    def report(
        self, split: Split, predictions: Sequence[Prediction], *, strict: bool = False
    ) -> Report:
        """A report on predictions that the model has made for a corpus with gold labels.

        Args:
            split: the corpus.
            predictions: for its sentences, in order.
            strict: count well-formed spans only.
        """
        return self.task.score(self._context, split, predictions, strict=strict)

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """The tags of a prediction in any scheme, also another than that of the training corpus."""
        return tags_in(self.config, prediction, scheme)

    def labels(self) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict; "" for tags without one."""
        return self.task.known_labels(self._context)

    def classes(self) -> frozenset[str]:
        """Classes of texts that the model can predict."""
        return frozenset(self.vocabulary.classes)
