"""Sentences -> the batches that a model reads in prediction, with the words that it has cached.

What a model computes for a word by itself is computed once in prediction: its embedding, its
character vector and the encoder's input product are the same for each of its tokens, so they are
kept, for as many words as fit into a bounded amount of memory.

A sentence brings a few new words. For so few a call of torch costs more than the arithmetic: the
embeddings of 25 words and of their affixes took 200 microseconds with torch's calls, and take 60 in
NumPy (`WordReader`).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.errors import DataError, DeviceError
from tagkit.features import Ids
from tagkit.features.batching.document_batches import batches_to_predict
from tagkit.features.batching.encoding import EncodedWords, Indexed, encode_words, index
from tagkit.features.vector_columns import check_vectors
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.label_consistency import document_groups, in_agreement
from tagkit.limits import BATCH_TOKENS
from tagkit.models.base.device import leave_threads_of_parent, to_tensors
from tagkit.models.base.feature_rows import FeatureRows, RowMaker
from tagkit.models.base.memory import forget, is_out_of_memory
from tagkit.models.base.model import Member, Model, SentenceBatch
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.inference import CachedWords, CharReader, RowReader, layer_readers
from tagkit.nn.recurrence.recurrence import Floats
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural

_MAX_BYTES = 64 * 2**20  # of the cached rows, vectors and projections together
_MAX_CHARS = 16 * 2**20  # of all cached words, which are the keys of a dict
# Words that are read at once: all their affixes are in memory one by one before they are summed.
_FEW = 64


class WordCache:
    """Vectors and projections of the words that a model has read; its weights must not change."""

    def __init__(
        self, model: Model, vocabulary: Vocabulary, device: torch.device, precision: str
    ) -> None:
        """An empty cache, for the model's weights as they are now.

        `precision`, one of `inference.PRECISIONS`, is that of the encoder's recurrent products.
        """
        self._model = model
        self._vocabulary = vocabulary
        # Of each member of an ensemble; their rows have the same numbers.
        self._tables = [_WordTable(member, device, precision) for member in model.members]
        self._features = _FeatureTable.of(model, vocabulary)
        self._row_bytes = sum(table.row_bytes for table in self._tables)
        if self._features is not None:
            self._row_bytes += self._features.row_bytes
        self._rows: dict[str, int] = {}
        self._chars = 0  # number of characters in all cached words

    def rows(self, words: Sequence[str]) -> Ids:
        """The row of each of these distinct words, which are added to the cache if they are new.

        Rows returned by earlier calls may belong to other words afterwards.
        """
        new = [word for word in words if word not in self._rows]
        chars = sum(map(len, new))
        too_many = len(self._rows) + len(new) > _MAX_BYTES // self._row_bytes
        full = too_many or self._chars + chars > _MAX_CHARS
        # A full cache is emptied, not trimmed: all words of one call must have rows at the same
        # time, and frequent words are back after a few sentences.
        if new and full:
            self._rows.clear()
            new = list(words)
            self._chars, chars = 0, sum(map(len, new))
        if new:
            self._chars += chars
            self._add(new)
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))

    def forget(self) -> None:
        """Compute the rows of all words anew."""
        self._rows.clear()
        self._chars = 0

    def table(self) -> CachedWords:
        """The cached rows, for the model to read."""
        # Call it after `rows`, which may replace the tensors.
        first, *others = [table.words() for table in self._tables]
        return replace(first, others=tuple(others)) if others else first

    def feature_rows(self) -> FeatureRows | None:
        """The same words as a CRF of word features reads them; None where none counts."""
        # Call it after `rows`, too.
        return None if self._features is None else self._features.rows()

    @torch.inference_mode()
    def _add(self, words: Sequence[str]) -> None:
        # The trainer predicts on dev between epochs: on a GPU, where torch's own layers read the
        # characters, dropout would be cached without this.
        if self._model.training:
            self._model.eval()
        begin = len(self._rows)
        # All members have the same sizes, so the first one's characters are those of all.
        reads_chars = self._model.embed.chars is not None
        encoded = encode_words(words, self._vocabulary, chars=reads_chars)
        for table in self._tables:
            table.add(encoded, begin, begin + len(words), _MAX_BYTES // self._row_bytes)
        if self._features is not None:
            self._features.add(words, begin, _MAX_BYTES // self._row_bytes)
        self._rows.update(zip(words, range(begin, begin + len(words)), strict=True))


class _WordTable:
    """What one network computes of words, a row for each."""

    def __init__(self, member: Member, device: torch.device, precision: str) -> None:
        """An empty table; the parameters are those of `WordCache`."""
        self._member = member
        self._device = device
        # On a GPU torch's own layers are faster than reading rows, so vectors alone are cached.
        self._readers = layer_readers(member.encoder, precision) if device.type == "cpu" else []
        self._reader = self._readers[0] if self._readers else None
        self._features: tuple[Tensor, ...] = ()
        self._char_reader: CharReader | None = None
        self._words: WordReader | None = None  # of few words
        if self._reader is not None:
            self._features = self._projected_features()
            chars = member.embed.chars
            self._char_reader = chars.reader() if chars is not None else None
            if chars is None or self._char_reader is not None:
                self._words = WordReader(member.embed, self._char_reader, self._reader)
        # (rows, features) and (rows, outputs); memory is allocated with the first words
        self._vectors = torch.empty(0, device=device)
        self._projected = torch.empty(0, device=device)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, vector and projection together."""
        outputs = self._reader.outputs if self._reader else 0
        return max(4, 4 * (self._member.embed.vector_size + outputs))  # float32: 4 bytes

    def words(self) -> CachedWords:
        """The rows as they are now."""
        return CachedWords(self._vectors, self._readers, self._projected, self._features)

    def add(self, words: EncodedWords, begin: int, end: int, limit: int) -> None:
        """Compute the rows `begin` to `end`, of a table that is to have `limit` of them."""
        embed, size = self._member.embed, max(end, limit)
        self._vectors = _with_room(self._vectors, end, (size, embed.vector_size))
        if self._reader is not None:
            self._projected = _with_room(self._projected, end, (size, self._reader.outputs))
        # Straight into the tables: the largest tensors of a prediction are not in memory twice.
        vectors, projected = self._vectors[begin:end], self._projected[begin:end]
        if self._words is not None and self._words.takes(end - begin):
            # Neither sorted nor padded: of the new words of a sentence that would be half the work.
            self._words.read(words, vectors, projected)
            return
        batch, position = words.words(np.arange(end - begin))
        by_length = self._member.vectors(to_tensors(batch, self._device), self._char_reader)
        # The network reads words by length; back into the order of `words`.
        places = torch.from_numpy(position).to(self._device)
        torch.index_select(by_length, 0, places, out=vectors)
        if self._reader is not None:
            self._reader.project(vectors, 0, out=projected)

    @torch.inference_mode()
    def _projected_features(self) -> tuple[Tensor, ...]:
        """For each feature column (values, outputs): few values, so all are projected at once."""
        assert self._reader is not None
        # A token's input is [word vector, feature, feature, ...]; `first` is where a part begins.
        first, tables = self._member.embed.vector_size, []
        for table in self._member.embed.features:
            weight = table.weight
            assert isinstance(weight, Tensor)
            tables.append(self._reader.project(weight, first))
            first += weight.shape[1]
        return tuple(tables)


class _FeatureTable:
    """What a CRF of word features has of words, a row for each after those of the borders."""

    def __init__(self, crf: FeatureCrf, vectors: Tensor, vocabulary: Vocabulary) -> None:
        """An empty table; the arguments are those of `RowMaker`."""
        self._maker = RowMaker(crf, vectors, vocabulary)
        self._borders = self._maker.borders()
        self._scores, self._parts = self._borders.scores, self._borders.parts

    @staticmethod
    def of(model: Model, vocabulary: Vocabulary) -> "_FeatureTable | None":
        """The table of a model; None where no such CRF counts, as in the epochs of training."""
        crf = model.feature_crf
        if crf is None or not float(crf.share):
            return None
        return _FeatureTable(crf, model.embed.words.vectors, vocabulary)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self._borders.row_bytes

    def rows(self) -> FeatureRows:
        """The rows as they are now."""
        return FeatureRows(self._scores, self._parts)

    def add(self, words: Sequence[str], begin: int, limit: int) -> None:
        """Compute the rows of words from `begin` on, of a table that is to have `limit` of them."""
        borders = len(self._borders.parts)
        first, end = borders + begin, borders + begin + len(words)
        if end > len(self._scores):  # as in `_with_room`: no rows but those of the borders are lost
            size, own = max(end, borders + limit), self._borders
            self._scores = own.scores.new_empty(size, *own.scores.shape[1:])
            self._parts = np.empty((size, own.parts.shape[1]), own.parts.dtype)
            self._scores[:borders], self._parts[:borders] = own.scores, own.parts
        found = self._maker.rows(words)
        self._scores[first:end], self._parts[first:end] = found.scores, found.parts


def _with_room(table: Tensor, end: int, shape: tuple[int, int]) -> Tensor:
    """The table, or a new one of this shape if it has fewer than `end` rows.

    A table is allocated with as many rows as the cache may have, and with more only if one call
    brings more distinct words than that, for which the cache has been emptied: so no rows are ever
    copied.
    """
    # The system provides memory on the first write, so rows that are never used cost nothing.
    return table if end <= len(table) else table.new_empty(shape)


class WordReader:
    """Reads few words on a CPU, with the weights as they are now."""

    def __init__(self, embed: TokenEmbedding, chars: CharReader | None, inputs: RowReader) -> None:
        """`chars`: of the embedding's characters; `inputs`: of the encoder's first layer."""
        # Tensors, and no arrays of their memory: torch moves it when the model is sent to another
        # process, and an array would be left with memory that is free.
        self._trained = embed.words.trained.weight.detach()
        # Row 0 alone is that of no vector.
        self._vectors = embed.words.vectors if len(embed.words.vectors) > 1 else None
        self._chars = chars
        self._affixes = embed.affixes.table.weight.detach() if embed.affixes is not None else None
        self._inputs = inputs

    def takes(self, words: int) -> bool:
        """Whether `read` is faster than torch for so many words."""
        return words < _FEW and (self._chars is None or self._chars.packs(words))

    def read(self, words: EncodedWords, vectors: Tensor, projected: Tensor) -> None:
        """Fill in what is cached of words: the arrays of `CachedWords`.

        Args:
            words: few, as `takes` says.
            vectors: (words, features), what `TokenEmbedding.vectors` gives.
            projected: (words, outputs of `inputs`).
        """
        parts: list[Floats] = [self._trained.numpy().take(words.word_ids, 0)]  # (words, dim)
        if self._vectors is not None:
            parts[0] += self._vectors.numpy().take(words.vector_rows, 0)
        if self._chars is not None:
            parts.append(self._chars.read_few(words.chars, words.char_counts))
        if self._affixes is not None:
            known = (words.affix_ids != 0).astype(np.float32)
            # (words, 1, affixes) @ (words, affixes, dim): a sum of the rows of known affixes
            sums = np.matmul(known[:, None], self._affixes.numpy().take(words.affix_ids, 0))
            parts.append(sums[:, 0])
        np.concatenate(parts, 1, out=vectors.numpy())
        self._inputs.project_few(vectors, projected)


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
        encoder = self._config.encoder
        return index(
            sentences,
            self._vocabulary,
            document_words=encoder.document_words,
            tree=encoder.read_tree,
        )

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

    def check_features(self, sentence: Sentence, file: str = "") -> None:
        """Refuse a sentence without the columns that the model was trained with, beside words.

        Args:
            sentence: to be read.
            file: that it is of; empty where that is not known.

        Raises:
            DataError: it has more of them, or fewer, or one has no value for a word, or not as
                many numbers.
        """
        sizes = [len(column.mean) for column in self._vocabulary.vectors]
        if sizes or sentence.vectors:
            check_vectors(sentence, sizes, self._config.data.vector_columns, file)
        columns = len(self._vocabulary.features)
        if len(sentence.features) != columns:
            names = ", ".join(map(str, self._config.data.feature_columns))
            reads = f"{plural(columns, 'feature column')} beside the words ({names})"
            raise DataError(
                f"this model reads {reads if columns else 'no feature columns'}, found "
                f"{len(sentence.features)} beside a sentence"
            )
        for column in sentence.features:
            if len(column) != len(sentence):
                raise DataError(
                    f"features: expected a value for each of {plural(len(sentence), 'word')}, "
                    f"found {clipped(repr(column))}"
                )

    def _new_cache(self) -> WordCache:
        leave_threads_of_parent()
        return WordCache(self._model, self._vocabulary, self._device, self._precision)


def check_words(sentences: Sequence[Sentence]) -> None:
    """Refuse sentences of no words.

    Raises:
        DataError: there is one.
    """
    if not all(sentences):  # a Sentence without words is false, and has nothing to encode
        raise DataError("expected at least one word in each sentence, found a sentence of none")
