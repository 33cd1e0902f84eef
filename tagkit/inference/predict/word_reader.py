"""Vectors and input projections of few words in prediction, in NumPy.

A sentence brings a few new words. For so few a call of torch costs more than the arithmetic: the
embeddings of 25 words and of their affixes took 200 microseconds with torch's calls, and take 60 in
NumPy.
"""

import numpy as np
from torch import Tensor

from tagkit.features.batching.encoding import EncodedWords
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.inference import CharReader
from tagkit.nn.layers.row_reader import RowReader
from tagkit.nn.recurrence.recurrence import Floats

# Words that are read at once: all their affixes are in memory one by one before they are summed.
_FEW = 64


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
