"""Text or Sentences -> tags, spans, classes, probabilities, offsets: the whole road."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import torch

from tagkit.config import Config
from tagkit.corpus.dataset import Split
from tagkit.errors import DataError, DeviceError
from tagkit.evaluation.report import Report
from tagkit.features.batch import Tokens
from tagkit.features.bucketing import Ids, batches_in_order
from tagkit.features.encoding import index
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.inputs import Input, as_tagged, as_text
from tagkit.inference.word_cache import WordCache
from tagkit.limits import BATCH_SIZE, MAX_LENGTH
from tagkit.models.bundle import load_bundle
from tagkit.models.device import choose_device
from tagkit.models.model import Model
from tagkit.models.tagger import known_labels, tags_in
from tagkit.models.task import ModelContext, Wanted
from tagkit.models.task_table import task_of
from tagkit.nn.inference import CachedWords
from tagkit.text.records import Alternative, Prediction, Sentence, TaggedText
from tagkit.text.windows import cut, windows

# Tokens of one batch of prediction, padding included: bounds memory where sentences are long.
_BATCH_TOKENS = 16_384


def _ignore(_: int) -> None:
    """Default of `on_long`: does nothing."""


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
        self.task = task_of(config)
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device
        self.precision = precision
        self.keeps_words = keep_words
        self._words = self._new_words() if keep_words else None

    def __getstate__(self) -> dict[str, Any]:
        """All but the word cache, which may be larger than the model and is soon filled again."""
        return {**self.__dict__, "_words": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same predictor with an empty word cache."""
        self.__dict__.update(state)
        if self.keeps_words:
            self._words = self._new_words()

    @property
    def _context(self) -> ModelContext:
        # In training, weights that have become infinite show as a score of 0, not as an error.
        return ModelContext(self.model, self.vocabulary, self.config, checked=self.keeps_words)

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
        on_long: Callable[[int], None] = _ignore,
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
            on_long: called with the number of words of each such sentence.

        Returns:
            What is said of the one text; a list with one for each of several inputs.

        Raises:
            DataError: a sequence without words, an empty word, or a `Sentence` without the
                feature columns that the model was trained with.
        """
        items = [inputs] if isinstance(inputs, str) else inputs
        tokenizer = self.config.data.tokenizer
        texts = [as_text(item, tokenizer, whole=self.task.is_whole) for item in items]
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
            on_long: called with the number of words of each such sentence.
        """
        if not sentences:
            return []
        if self.task.is_whole:
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
        found = iter(self._decode(pieces, batch_size, Wanted(confidence, threshold)))
        predictions = []
        for sentence, plan in zip(sentences, plans, strict=True):
            parts = [(start, next(found)) for start, _ in plan]  # each window's start and tags
            whole = parts[0][1] if len(parts) == 1 else None
            predictions.append(whole or self.task.join(self.config, sentence.words, parts))
        return predictions

    def _decode(
        self, sentences: Sequence[Sentence], batch_size: int, wanted: Wanted
    ) -> list[Prediction]:
        """Predictions in the order of the sentences, whatever that of the batches."""
        context, predictions = self._context, dict[int, Prediction]()
        for indices, tokens, table in self._batches(sentences, batch_size):
            batch = [sentences[i] for i in indices]
            found = self.task.decode(context, tokens, table, batch, wanted)
            predictions.update(zip(indices.tolist(), found, strict=True))
        return [predictions[i] for i in range(len(sentences))]

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

    def _new_words(self) -> WordCache:
        return WordCache(self.model, self.vocabulary, self.device, self.precision)

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
        if not self.task.gives.tags:
            raise DataError("this model classifies texts: it has no sequences of tags")
        context, found = self._context, dict[int, list[Alternative]]()
        for indices, tokens, table in self._batches(sentences, batch_size):
            lengths = [len(sentences[i]) for i in indices]
            best = self.task.n_best(context, tokens, table, lengths, count)
            found.update(zip(indices.tolist(), best, strict=True))
        return [found[i] for i in range(len(sentences))]

    def score(self, split: Split, *, batch_size: int = BATCH_SIZE, strict: bool = False) -> Report:
        """A report of the model's predictions for a corpus with gold labels.

        Args:
            split: the corpus.
            batch_size: sentences a batch, at most.
            strict: count well-formed spans only.
        """
        found = self.annotate(split.sentences, batch_size=batch_size, confidence=False)
        return self.task.score(self._context, split, found, strict=strict)

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """A prediction's tags in a scheme, which may differ from that of the training corpus."""
        return tags_in(self.config, prediction, scheme)

    def labels(self) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict; "" of a bare prefix."""
        return known_labels(self._context)

    def classes(self) -> frozenset[str]:
        """Classes of texts that the model can predict."""
        return frozenset(self.vocabulary.classes)
