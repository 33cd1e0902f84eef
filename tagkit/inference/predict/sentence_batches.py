"""Sentences -> the batches that a model reads in prediction, with the words that it has cached."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch

from tagkit.config import Config
from tagkit.errors import DataError, DeviceError
from tagkit.features import Ids
from tagkit.features.batching.document_batches import batches_to_predict
from tagkit.features.batching.encoding import Indexed, index
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.arguments import check_words
from tagkit.inference.predict.label_consistency import document_groups, in_agreement
from tagkit.inference.predict.word_cache import WordCache
from tagkit.limits import BATCH_TOKENS
from tagkit.models.base.device import leave_threads_of_parent
from tagkit.models.base.memory import forget, is_out_of_memory
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.models.base.tensors import to_tensors
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural

Answer = TypeVar("Answer")


class SentenceBatches:
    """Batches of sentences of similar length, or of the same documents, and the word caches."""

    def __init__(
        self,
        model: Model,
        vocabulary: Vocabulary,
        config: Config,
        device: torch.device,
        precision: str,
        *,
        keep_words: bool,
    ) -> None:
        """No batch yet; the parameters are those of `SentencePredictor`."""
        self._model = model
        self._vocabulary = vocabulary
        self._config = config
        self._device = device
        self._precision = precision
        self._keeps_words = keep_words
        self._most = sys.maxsize  # sentences of a batch, as far as memory is known to go
        # Those that no call is using: one, or in a program of several threads as many as have been
        # in use at the same time. A call moves rows that another one would be reading.
        self.caches = [self._new_cache()] if keep_words else []

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the word caches."""
        # With one of them 18 MB of a model grew to 85 MB, and it soon fills again.
        return {**self.__dict__, "caches": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same batches with an empty word cache."""
        self.__dict__.update(state)
        if self._keeps_words:
            self.caches = [self._new_cache()]

    def answers(
        self,
        sentences: Sequence[Sentence],
        batch_size: int,
        answer: Callable[[Ids, SentenceBatch], Sequence[Answer]],
        remedy: str = "",
    ) -> list[Answer]:
        """What a function says of each sentence, in the order of the sentences.

        Where memory is too short for a batch, this one and those of later calls are smaller.

        Args:
            sentences: each with words, and the feature columns of training.
            batch_size: maximum number of sentences in a batch, or of documents.
            answer: called with the indices of a batch's sentences, and the batch.
            remedy: against too little memory, before those that any call has.

        Raises:
            DataError: as for `read`.
            DeviceError: there is too little memory for a single sentence or document.
        """
        found: dict[int, Answer] = {}
        while len(found) < len(sentences):
            # Those that are left, the same ones in the same order; all of them where a sentence's
            # answer depends on others, which would be missing.
            left = [i for i in range(len(sentences)) if i not in found or self._reads_neighbours]
            size = min(batch_size, self._most)
            try:
                for indices, batch in self.read([sentences[i] for i in left], size):
                    places = np.array(left)[indices]
                    found.update(zip(places.tolist(), answer(places, batch), strict=True))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                forget(error)
                self._shrink(min(size, len(left)), remedy)
        return [found[i] for i in range(len(sentences))]

    def read(
        self, sentences: Sequence[Sentence], batch_size: int
    ) -> Iterator[tuple[Ids, SentenceBatch]]:
        """The batches, each with the indices of its sentences.

        With label consistency they come with their states, in which names agree.

        Raises:
            DataError: a sentence without words, or without the feature columns that the model was
                trained with.
        """
        # Before any batch, so that a mistake in the last sentence does not cost the work before it.
        check_words(sentences)
        for sentence in sentences:
            self.check_features(sentence)
        leave_threads_of_parent()
        with self._cache() as cache:
            yield from self._read(sentences, cache, batch_size)

    def _shrink(self, size: int, remedy: str) -> None:
        """Let batches be half as large as those for which memory was too short.

        Raises:
            DeviceError: they had one sentence or document.
        """
        if size == 1:
            unit = "document" if self._config.encoder.context == "document" else "sentence"
            raise DeviceError(
                f"too little memory for 1 {unit} at a time: {remedy}give shorter ones, or use a "
                "device with more"
            )
        self._most = size // 2

    @property
    def _reads_neighbours(self) -> bool:
        config = self._config
        return bool(config.label_consistency) or config.encoder.context == "document"

    @contextmanager
    def _cache(self) -> Iterator[WordCache]:
        """A word cache that no other call has until this one is done."""
        try:
            cache = self.caches.pop()  # atomic: no two threads get the same one
        except IndexError:
            # In training a new one for each call: the weights have changed since the last.
            cache = self._new_cache()
        try:
            yield cache
        finally:
            if self._keeps_words:
                self.caches.append(cache)

    def _read(
        self, sentences: Sequence[Sentence], cache: WordCache, batch_size: int
    ) -> Iterator[tuple[Ids, SentenceBatch]]:
        config = self._config
        if not config.label_consistency or len(sentences) == 1:  # at once, as one is all there is
            yield from self._batches(sentences, self._indexed(sentences), cache, batch_size)
            return
        for start, documents in document_groups(sentences, config):
            part = sentences[start : start + len(documents)]
            indexed = self._indexed(part)
            found = self._batches(part, indexed, cache, batch_size)
            for indices, batch in in_agreement(
                self._model, found, indexed, documents, config.label_consistency
            ):
                yield indices + start, batch

    def _indexed(self, sentences: Sequence[Sentence]) -> Indexed:
        words = self._config.encoder.document_words
        return index(sentences, self._vocabulary, document_words=words)

    def _batches(
        self, sentences: Sequence[Sentence], indexed: Indexed, cache: WordCache, batch_size: int
    ) -> Iterator[tuple[Ids, SentenceBatch]]:
        """Batches of sentences, with the indices of these."""
        # Rows of all batches before the first one: a later call could move them, and replace the
        # table.
        row_of = cache.rows(indexed.distinct)
        table, feature_rows = cache.table(), cache.feature_rows()
        # Without this, dropout would make predictions random during training. Only if needed:
        # `eval` visits every module, which takes a tenth of the time of one sentence.
        if self._model.training:
            self._model.eval()
        # A GPU computes padding beside the rest, and wants few batches.
        is_cpu = self._device.type == "cpu"
        for indices in batches_to_predict(
            indexed.lengths, indexed.documents, batch_size, BATCH_TOKENS, little_padding=is_cpu
        ):
            batch = [sentences[i] for i in indices]
            tokens = to_tensors(indexed.tokens(indices, row_of), self._device)
            tokens = self._model.with_contextual(tokens, batch)
            yield indices, SentenceBatch(batch, tokens, table, feature_rows)

    def check_features(self, sentence: Sentence) -> None:
        """Refuse a sentence without the feature columns that the model was trained with.

        Raises:
            DataError: it has more of them, or fewer, or one has no value for a word.
        """
        columns = len(self._vocabulary.features)
        if len(sentence.features) != columns:
            names = ", ".join(map(str, self._config.data.feature_columns))
            reads = f"{plural(columns, 'feature column')} beside the words ({names})"
            raise DataError(
                f"this model reads {reads if columns else 'no feature columns'}, found "
                f"{len(sentence.features)} beside a sentence"
            )
        for column in sentence.features:
            if len(column) != len(sentence) or not all(isinstance(each, str) for each in column):
                raise DataError(
                    f"features: expected a value for each of {plural(len(sentence), 'word')}, "
                    f"found {clipped(repr(column))}"
                )

    def _new_cache(self) -> WordCache:
        leave_threads_of_parent()
        return WordCache(self._model, self._vocabulary, self._device, self._precision)
