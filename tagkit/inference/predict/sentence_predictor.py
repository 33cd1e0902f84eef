"""Sentences -> predictions: the part of `Predictor` that knows words and no texts.

pieces    `text.windows`: long sentences -> windows, if the task allows it
batches   `sentence_batches`: sentences -> ids, of similar length
decode    the task: ids -> predictions
outputs   windows joined, batches in the order of the sentences
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import torch

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.record_checks import check_item
from tagkit.corpus.source.options import Item
from tagkit.errors import ConfigError, DataError, DeviceError
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.sentence_batches import SentenceBatches
from tagkit.limits import BATCH_SIZE, MAX_LENGTH, check_count
from tagkit.models.answers.kind import TAGS, PredictionOptions
from tagkit.models.answers.min_confidence import without_probabilities
from tagkit.models.answers.texts import words_of
from tagkit.models.base.calibration import ModelCalibration
from tagkit.models.base.memory import without_collection
from tagkit.models.base.model import Model
from tagkit.models.base.task_records import ModelContext
from tagkit.models.tagging.tag_scoring import tags_in
from tagkit.models.task_table import task_of
from tagkit.nn.layers.inference import PRECISIONS, precisions_of
from tagkit.nn.threads import chosen_threads
from tagkit.text.records import Alternative, Prediction, Sentence
from tagkit.text.schemes import PLAIN
from tagkit.text.windows import cut, windows
from tagkit.wording import clipped, joined, plural


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
        facts: Mapping[str, Any] | None = None,
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
            facts: metadata of the model: what it was trained on, and its scores; None if not known.

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
        self.answers = self.task.answers(config, vocabulary)
        self.model = model.to(device)
        self.vocabulary = vocabulary
        self.config = config
        self.device = device
        self.precision = precision
        self.calibration = calibration
        self.keeps_words = keep_words
        self._facts = facts or {}
        self._batches = SentenceBatches(
            self.model, vocabulary, config, device, precision, keep_words=keep_words
        )

    def _forget_words(self) -> None:
        """Answer the next call as the first one: what is cached of words has other last digits.

        The last bits of a word's vector depend on the words that it was computed with.
        """
        for cache in self._batches.caches:
            cache.forget()

    def check_numbers(self, items: Iterable[Item], file: str) -> None:
        """Refuse sentences of a file without the columns of numbers that the model reads.

        Args:
            items: sentences, and other inputs, which are passed over.
            file: that they come from, for the message.

        Raises:
            DataError: one lacks them; with its line.
        """
        for item in items if self.vocabulary.vectors else ():
            if isinstance(item, Sentence):
                self._batches.check_features(item, file)

    @property
    def _context(self) -> ModelContext:
        # Without a kept cache the model is in training: weights that have become infinite then show
        # as a score of 0, and are not an error.
        return ModelContext(self.model, self.vocabulary, self.config, checked=self.keeps_words)

    @without_collection()
    def annotate(
        self,
        sentences: Iterable[Sentence],
        options: PredictionOptions | None = None,
        **named: Any,
    ) -> list[Any]:
        """Predict tags, spans and classes of each sentence, in the order of the sentences.

        Args:
            sentences: with the feature columns of training; their own tags and classes are ignored.
                A model that reads documents reads neighbours of one `document` as one sequence;
                with label consistency the mentions of a name in them help to decide on each other.
            options: what is asked of the model; None for the defaults.
            named: fields of `PredictionOptions`, such as confidence or batch_size, in place of
                those of `options`.

        Returns:
            A `Prediction` for each.

        Raises:
            DataError: an option is unknown, out of its range or without effect on the model, or a
                sentence has no words, an empty one, or not the feature columns of the model.
        """
        asked = options_of(options, named)
        asked.check()
        self.answers.check(asked, precision=self.precision)
        return self._predicted(checked_sentences(sentences), asked)

    @chosen_threads()
    def _predicted(self, sentences: Sequence[Sentence], options: PredictionOptions) -> list[Any]:
        """The prediction for each sentence."""
        if not sentences:
            return []
        # A class belongs to the whole text, so nothing is cut and nothing is "long".
        longest = self.task.longest(options.max_length)
        # Of the few sentences that are longer, the windows that they are read in.
        plans: dict[int, list[tuple[int, int]]] = {}
        pieces: list[Sentence] = []
        for number, sentence in enumerate(sentences):
            if len(sentence) <= longest:
                pieces.append(sentence)
                continue
            options.on_long(len(sentence))
            plans[number] = windows(len(sentence), longest)
            pieces += (cut(sentence, window) for window in plans[number])
        minimum = options.min_confidence
        inner = options if minimum is None else replace(options, confidence=True)
        # In the order of sentences and of their windows.
        predictions = self.task.predict(self._context, pieces, inner, self._batches.answers)
        if plans:
            found = iter(predictions)
            predictions = []
            for number, sentence in enumerate(sentences):
                if number not in plans:
                    predictions.append(next(found))
                    continue
                # (start, prediction) of each window
                parts = [(start, next(found)) for start, _ in plans[number]]
                predictions.append(self.task.join(self._context, sentence.words, parts))
        if minimum is None:
            return predictions
        predictions = self.answers.unlikely_removed(predictions, minimum, options.on_removed)
        return predictions if options.confidence else [*map(without_probabilities, predictions)]

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
        self.task.require_labels(self.config)
        if not self.answers.by_token:
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
        if TAGS not in self.answers.sets:
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
        """
        found = self.predictions_of(split, batch_size=batch_size)
        return self.report(split, found, strict=strict)

    @without_collection()
    def predictions_of(
        self,
        split: Split,
        *,
        batch_size: int,
        confidence: bool = False,
        max_length: int = MAX_LENGTH,
    ) -> list[Any]:
        """The predictions that a score on a corpus needs; none where the text itself is scored.

        Args:
            split: the corpus.
            batch_size: maximum number of sentences in a batch.
            confidence: whether to compute probabilities.
            max_length: maximum number of words of a sentence that is read as one.

        Raises:
            DataError: `batch_size` or `max_length` is out of its range.
        """
        # The default length of windows, not that of the configuration: `predict` uses the same.
        options = PredictionOptions(
            batch_size=batch_size, confidence=confidence, max_length=max_length
        )
        options.check()
        return self._predicted(checked_sentences(self.task.to_predict(split)), options)

    def report(
        self, split: Split, predictions: Sequence[Prediction], *, strict: bool = False
    ) -> Report:
        """A report on predictions that the model has made for a corpus with gold labels.

        Args:
            split: the corpus.
            predictions: for its sentences, in order; none of a language model.
            strict: count well-formed spans only.

        Raises:
            DataError: the predictions are not those of its sentences.
        """
        check_predictions(self.task.to_predict(split), predictions)
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
        self.task.require_labels(self.config)
        check_predictions(self.task.to_predict(split), predictions)
        if any(_lacks_probabilities(each) for each in predictions):
            raise DataError(
                "predictions: expected probabilities, found none; predict with confidence=True"
            )
        return self.task.judged(self._context, split, predictions, strict=strict)

    def tags_in(self, prediction: Prediction, scheme: str) -> tuple[str, ...]:
        """The tags of a prediction in any scheme, also another than that of the training corpus.

        Args:
            prediction: of this model.
            scheme: "iob1", "iob2", "iobes", "bilou", "bmes", "io", or "labels" for plain ones.

        Raises:
            ConfigError: there is no such scheme, or it is one of spans and the model has plain
                labels.
        """
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
