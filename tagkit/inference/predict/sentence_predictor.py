"""Sentences -> predictions: the part of `Predictor` that knows words and no texts.

pieces    `text.windows`: long sentences -> windows, if the task allows it
batches   `sentence_batches`: sentences -> ids, of similar length
decode    the task: ids -> predictions
outputs   windows joined, batches in the order of the sentences
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.errors import ConfigError, DataError, DeviceError
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.arguments import (
    check_annotates,
    check_predictions,
    check_split,
    check_stretches,
    checked_sentences,
    ignore,
    refuse_ineffective,
)
from tagkit.inference.predict.garbage_collection import without_collection
from tagkit.inference.predict.min_confidence import Removed, without_probabilities, without_unlikely
from tagkit.inference.predict.sentence_batches import SentenceBatches
from tagkit.inference.predict.value_checks import check_count, check_function, check_probability
from tagkit.limits import BATCH_SIZE, MAX_LENGTH
from tagkit.models.base.calibration import ModelCalibration
from tagkit.models.base.model import Model
from tagkit.models.base.task_records import ModelContext, PredictionOptions
from tagkit.models.tagging.tag_scoring import tags_in
from tagkit.models.task_table import task_of
from tagkit.nn.layers.inference import PRECISIONS, precisions_of
from tagkit.nn.threads import chosen_threads
from tagkit.text.records import Alternative, Prediction, Sentence
from tagkit.text.schemes import PLAIN
from tagkit.text.windows import cut, windows
from tagkit.wording import clipped, joined


class SentencePredictor:
    """A trained model with its vocabulary and configuration, ready to predict for sentences."""

    def __init__(
        self,
        model: Model,
        vocabulary: Vocabulary,
        config: Config,
        device: torch.device,
        *,
        keep_words: bool = False,
        precision: str = "fp32",
        calibration: ModelCalibration | None = None,
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
            calibration: that was stored with the model, whose heads have its temperatures already.

        Raises:
            DeviceError: the device or the model's cell does not support the precision, or there is
                no such one.
        """
        if precision not in PRECISIONS:
            known = joined(PRECISIONS)
            raise DeviceError(f"precision {clipped(repr(precision))}: expected {known}")
        # Only the cached inference on a CPU has products of other precisions.
        if precision != "fp32" and device.type != "cpu":
            raise DeviceError(f"device {device}: expected precision fp32, found {precision}")
        if precision != "fp32" and precision not in precisions_of(model.encoder):
            cell = config.encoder.cell
            raise DeviceError(
                f"encoder.cell = {cell!r}: expected precision fp32, found {precision}"
            )
        self.task = task_of(config)
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device
        self.precision = precision
        self.calibration = calibration
        self.keeps_words = keep_words
        self._batches = SentenceBatches(
            self.model, vocabulary, config, device, precision, keep_words=keep_words
        )

    @property
    def _context(self) -> ModelContext:
        # Without a kept cache the model is in training: weights that have become infinite then show
        # as a score of 0, and are not an error.
        return ModelContext(self.model, self.vocabulary, self.config, checked=self.keeps_words)

    @without_collection()
    @chosen_threads()
    def annotate(
        self,
        sentences: Iterable[Sentence],
        *,
        batch_size: int,
        confidence: bool,
        max_length: int = MAX_LENGTH,
        threshold: float | None = None,
        min_confidence: float | None = None,
        on_long: Callable[[int], None] = ignore,
        on_removed: Callable[[Removed], None] = ignore,
    ) -> list[Prediction]:
        """Predict tags, spans and classes of each sentence, in the order of the sentences.

        Args:
            sentences: with the feature columns of training; their own tags and classes are ignored.
                A model that reads documents reads neighbours of one `document` as one sequence;
                with label consistency the mentions of a name in them help to decide on each other.
            batch_size: maximum number of sentences in a batch, or of documents.
            confidence: whether to compute probabilities.
            max_length: maximum number of words in a sentence; a tagger reads longer ones in
                overlapping windows, whose tags are joined as described in `tagkit.text.windows`.
            threshold: minimum class probability for a label; None for the configured one, or, if
                each text has one class, for the most probable class whatever its probability.
            min_confidence: probability from which on a predicted span, label or class is kept;
                None to keep all.
            on_long: called with the number of words of each longer sentence.
            on_removed: called with what was not kept.

        Raises:
            DataError: a number is out of its range, `threshold` or `max_length` has no effect on
                the model, `on_long` or `on_removed` is no function, or one of `sentences` is not a
                Sentence.
        """
        check_annotates(self.task, self.config)
        sentences = checked_sentences(sentences)
        check_count("batch_size", batch_size)
        check_count("max_length", max_length)
        for name, value in (("threshold", threshold), ("min_confidence", min_confidence)):
            if value is not None:
                check_probability(name, value)
        refuse_ineffective(self.task, threshold, max_length)
        check_function("on_long", on_long, "a number")
        check_function("on_removed", on_removed, "what is not kept")
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
        options = PredictionOptions(confidence or min_confidence is not None, threshold)
        found = iter(self._decode(pieces, batch_size, options))
        predictions = []
        for sentence, plan in zip(sentences, plans, strict=True):
            # (start, prediction) of each window
            parts = [(start, next(found)) for start, _ in plan]
            whole = parts[0][1] if len(parts) == 1 else None
            predictions.append(whole or self.task.join(self._context, sentence.words, parts))
        if min_confidence is None:
            return predictions
        scheme, columns = self.config.data.scheme, self.vocabulary.columns
        predictions = without_unlikely(predictions, min_confidence, scheme, columns, on_removed)
        return predictions if confidence else [*map(without_probabilities, predictions)]

    def _decode(
        self, sentences: Sequence[Sentence], batch_size: int, options: PredictionOptions
    ) -> list[Prediction]:
        context = self._context
        return self._batches.answers(
            sentences, batch_size, lambda _, batch: self.task.decode(context, batch, options)
        )

    @chosen_threads()
    def _alternatives(
        self, sentences: Sequence[Sentence], count: int, *, batch_size: int
    ) -> list[list[Alternative]]:
        """The most probable sequences of tags of each sentence, in descending order.

        Args:
            sentences: as for `annotate`; none is cut.
            count: number of sequences; a short sentence may have fewer.
            batch_size: maximum number of sentences in a batch.

        Raises:
            DataError: the model predicts no tags, `count` is below 1, or a sentence has no words
                or lacks feature columns.
        """
        check_annotates(self.task, self.config)
        if not self.task.gives.tags:
            raise DataError("this model classifies texts: it has no sequences of tags")
        check_count("count", count)
        check_count("batch_size", batch_size)
        # Not in windows: sequences of several windows could not be joined with exact probabilities.
        context = self._context
        return self._batches.answers(
            sentences,
            batch_size,
            lambda _, batch: self.task.n_best(context, batch, count),
            f"ask for fewer than {count:,} ways to tag it, " if count > 1 else "",
        )

    @chosen_threads()
    def stretch_probabilities(
        self,
        sentences: Iterable[Sentence],
        stretches: Sequence[Sequence[tuple[int, int]]],
        *,
        batch_size: int = BATCH_SIZE,
    ) -> list[list[float]]:
        """How probable the tags that sentences have are, in some stretches of them; exact.

        Args:
            sentences: with tags, in the scheme of the training corpus; none is cut.
            stretches: of each sentence some pairs: the first word, and the word after the last
                one. That of a gold span gives the probability of exactly this span.
            batch_size: maximum number of sentences in a batch.

        Returns:
            A probability for each stretch; 0 where the model does not know a tag.

        Raises:
            DataError: the model predicts no tags, or several columns of them; a sentence has none,
                or a stretch lies outside of it.
        """
        if not self.task.gives.tags or self.config.data.tag_columns:
            raise DataError("expected a model of one tag column")
        sentences = checked_sentences(sentences)
        check_stretches(sentences, stretches)
        check_count("batch_size", batch_size)
        context, task = self._context, self.task
        return self._batches.answers(
            sentences,
            batch_size,
            lambda indices, batch: task.stretch_probabilities(
                context, batch, [stretches[i] for i in indices]
            ),
        )

    @chosen_threads()
    def score(self, split: Split, *, batch_size: int = BATCH_SIZE, strict: bool = False) -> Report:
        """A report on the model's predictions for a corpus with gold labels.

        Args:
            split: the corpus.
            batch_size: maximum number of sentences in a batch.
            strict: count well-formed spans only.

        Raises:
            DataError: it is no corpus.
        """
        check_split(split)
        # The default length of windows, not that of the configuration: `predict` uses the same.
        found: Sequence[Prediction] = ()  # where the text itself is scored
        if self.task.annotates:
            found = self.annotate(split.sentences, batch_size=batch_size, confidence=False)
        return self.report(split, found, strict=strict)

    def report(
        self, split: Split, predictions: Sequence[Prediction], *, strict: bool = False
    ) -> Report:
        """A report on predictions that the model has made for a corpus with gold labels.

        Args:
            split: the corpus.
            predictions: for its sentences, in order; none of a language model.
            strict: count well-formed spans only.

        Raises:
            DataError: it is no corpus, or the predictions are not those of its sentences.
        """
        check_split(split)
        if self.task.annotates:
            check_predictions(split, predictions)
        return self.task.score(self._context, split, predictions, strict=strict)

    def judged(
        self, split: Split, predictions: Sequence[Prediction], *, strict: bool = False
    ) -> Mapping[str, Outcomes]:
        """What calibration is measured on, by the name of the model's head.

        Args:
            split: the corpus.
            predictions: for its sentences, in order, with probabilities.
            strict: count well-formed spans only.

        Raises:
            DataError: as of `report`, or there are no probabilities.
        """
        check_split(split)
        check_predictions(split, predictions)
        if any(_lacks_probabilities(each) for each in predictions):
            raise DataError(
                "predictions: expected probabilities, found none; predict with confidence=True"
            )
        return self.task.judged(self._context, split, predictions, strict=strict)

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """The tags of a prediction in any scheme, also another than that of the training corpus.

        Args:
            prediction: of this model.
            scheme: "iob1", "iob2", "iobes", "bilou", "bmes", or "labels" for plain labels.

        Raises:
            ConfigError: there is no such scheme, or it is one of spans and the model has plain
                labels.
            DataError: it is no `Prediction`, as `annotate` returns them.
        """
        if not isinstance(prediction, Prediction):
            raise DataError(
                "prediction: expected a Prediction, as annotate returns them, found "
                f"{clipped(repr(prediction))}"
            )
        found = tags_in(self.config, prediction, scheme)
        if found and self.config.data.scheme == PLAIN and scheme != PLAIN:
            raise ConfigError(
                f"scheme={scheme}", ["the model predicts plain labels, which have no spans"]
            )
        return found

    def labels(self) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict; "" for tags without one."""
        return self.task.known_labels(self._context)

    def classes(self) -> frozenset[str]:
        """Classes of texts that the model can predict."""
        return frozenset(self.vocabulary.classes)


def _lacks_probabilities(prediction: Prediction) -> bool:
    columns = [column.probabilities for column in prediction.columns]
    tags = columns or [prediction.probabilities] * bool(prediction.tags)
    return None in tags
