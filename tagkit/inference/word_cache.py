"""The words that a model has met in prediction: each is looked up, spelt and projected once.

A text of a language has few distinct words beside its tokens. What a model makes of a word by
itself (its embedding, its characters' vector, the encoder's input product) does not change from
token to token, so it is kept, for as many words as fit into a bounded piece of memory.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagkit.features.bucketing import Ids
from tagkit.features.encoding import spell
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.model import Model
from tagkit.nn.inference import CachedWords, layer_readers

_MOST_BYTES = 64 * 2**20
_MOST_CHARS = 16 * 2**20  # of all words in the table: they are kept as its keys


class WordCache:
    """Distinct words of a model whose weights do not change."""

    def __init__(
        self, model: Model, vocabulary: Vocabulary, device: torch.device, precision: str
    ) -> None:
        """The table is empty; the model's weights are taken as they are now.

        `precision`, one of `nn.inference.PRECISIONS`, is that of the encoder's recurrent products.
        """
        self._model = model
        self._vocabulary = vocabulary
        self._device = device
        self._readers = layer_readers(model.encoder, precision) if device.type == "cpu" else []
        self._reader = self._readers[0] if self._readers else None
        self._features: tuple[Tensor, ...] = ()
        if self._reader is not None:
            self._features = self._projected_features()
        self._rows: dict[str, int] = {}
        self._chars = 0  # of all these words
        self._vectors = torch.empty(0)
        self._projected = torch.empty(0)

    def rows(self, words: Sequence[str]) -> Ids:
        """The row of each of these distinct words, all of which are in the table from now on.

        Rows that were given out before may be others afterwards.
        """
        new = [word for word in words if word not in self._rows]
        chars = sum(map(len, new))
        full = len(self._rows) + len(new) > self._limit() or self._chars + chars > _MOST_CHARS
        if new and full:
            self._rows.clear()
            new = list(words)
            self._chars, chars = 0, sum(map(len, new))
        if new:
            self._chars += chars
            self._add(new)
        return np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))

    def table(self) -> CachedWords:
        """What stands in the rows."""
        return CachedWords(self._vectors, self._readers, self._projected, self._features)

    def _limit(self) -> int:
        """Words that fit; as many as there are at once fit in any case."""
        width = self._model.embed.vector_size + (self._reader.outputs if self._reader else 0)
        return _MOST_BYTES // (4 * width)

    @torch.inference_mode()
    def _add(self, words: Sequence[str]) -> None:
        chars = self._model.embed.chars is not None
        spelt, place = spell(words, self._vocabulary, chars=chars).words(np.arange(len(words)))
        self._model.eval()
        vectors = self._model.vectors(spelt.to(self._device))[torch.from_numpy(place)]
        begin = len(self._rows)
        self._rows.update(zip(words, range(begin, begin + len(words)), strict=True))
        self._vectors = _with_rows(self._vectors, vectors, begin, self._limit())
        if self._reader is not None:
            projected = self._reader.project(vectors, 0)
            self._projected = _with_rows(self._projected, projected, begin, self._limit())

    @torch.inference_mode()
    def _projected_features(self) -> tuple[Tensor, ...]:
        assert self._reader is not None
        first, tables = self._model.embed.vector_size, []
        for table in self._model.embed.features:
            weight = table.weight
            assert isinstance(weight, Tensor)
            tables.append(self._reader.project(weight, first))
            first += weight.shape[1]
        return tuple(tables)


def _with_rows(table: Tensor, rows: Tensor, begin: int, limit: int) -> Tensor:
    """The table with these rows from `begin` on, made anew where it is too small.

    A table has `limit` rows from the first, and more only where one call brings more distinct
    words than that, which then begin it: none is ever copied.
    """
    end = begin + len(rows)
    if end > len(table):
        assert begin == 0
        # Memory that is not written to yet costs nothing.
        table = rows.new_empty(max(end, limit), rows.shape[1])
    table[begin:end] = rows
    return table
