"""What a CRF of word features has of words: computed once a word, read at each of its tokens.

Most features of a token are of one word: its own, the one before, or the one after. What they score
is a sum that is the same for each token of the word, and so are the hashes of which pairs of words
make features. Only the features of pairs, and of feature columns, are looked up token by token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagkit.features import Ids
from tagkit.features.batching.batch import Tokens
from tagkit.features.vocabulary import Vocabulary
from tagkit.features.word_features import (
    AFTER,
    BEFORE,
    BORDERS,
    OWN,
    PAIR_PARTS,
    Hashes,
    cluster_keys,
    column_keys,
    pair_keys,
    word_keys,
    word_parts,
)
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.text.records import Sentence

_START, _END = range(len(BORDERS))  # rows before those of words: what stands beside a sentence
# (features of a word,) which of the three sums of `FeatureRows` each is part of.
_SUMS = np.repeat(np.arange(3), [each.stop - each.start for each in (OWN, BEFORE, AFTER)])
# Vectors are scored for the token after theirs first.
_OF_VECTORS = torch.tensor([1, 0, 2])


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """Words as a CRF of word features reads them; the two borders of a sentence come first.

    Attributes:
        scores: (borders + words, 3, tags) what a word adds to its own tokens, to the token after
            it, and to the token before it.
        parts: (borders + words, `PAIR_PARTS`) hashes of which pairs of words make features.
    """

    scores: Tensor
    parts: Hashes

    @property
    def row_bytes(self) -> int:
        """Bytes of one word."""
        return int(self.scores[0].nbytes + self.parts[0].nbytes)

    def emissions(
        self, crf: FeatureCrf, tokens: Tokens[Tensor], sentences: Sequence[Sentence]
    ) -> Tensor:
        """(batch, time, tags) what the features of each token score, zero on padding.

        Args:
            crf: whose scores these are.
            tokens: of a batch, whose rows are those of words here.
            sentences: of the batch.
        """
        neighbours = _with_neighbours(tokens)
        before, here, after = (torch.from_numpy(rows).to(crf.keys.device) for rows in neighbours)
        # (borders + words, 3, tags) -> (3 x (borders + words), tags) -> (tokens, tags)
        table = self.scores.flatten(0, 1)
        found = table[3 * here].add_(table[3 * before + 1]).add_(table[3 * after + 2])
        keys = pair_keys(*(self.parts[rows] for rows in neighbours))
        if sentences[0].features:
            columns = np.concatenate([column_keys(sentence) for sentence in sentences])
            keys = np.concatenate((keys, columns), axis=1)
        emissions = found.new_zeros(*tokens.mask.shape, found.shape[1])
        emissions[tokens.mask] = found.add_(crf.scores(keys))
        return emissions


class RowMaker:
    """Makes the rows of words as one model reads them."""

    def __init__(self, crf: FeatureCrf, vectors: Tensor, vocabulary: Vocabulary) -> None:
        """For a model whose weights stay as they are.

        Args:
            crf: of the model.
            vectors: (rows, dim) pretrained vectors of the model; row 0 is of words without one.
            vocabulary: of the model.
        """
        self._crf, self._vectors, self._vocabulary = crf, vectors, vocabulary
        self._of_clusters = _cluster_scores(crf)

    def rows(self, words: Sequence[str]) -> FeatureRows:
        """The rows of words, at least one, without those of the borders."""
        row_of = self._vocabulary.vector_row
        rows = [row_of(word) for word in words] if self._crf.reads_vectors else []
        return self._rows(word_parts(words), rows)

    def borders(self) -> FeatureRows:
        """The rows of the borders alone, which have no vector."""
        return self._rows(word_parts(BORDERS), [0] * len(BORDERS))

    @torch.no_grad()
    def _rows(self, parts: Hashes, vector_rows: Sequence[int]) -> FeatureRows:
        crf = self._crf
        scores = crf.scores(word_keys(parts), _SUMS)  # (words, 3, tags)
        if crf.reads_vectors:
            vectors = self._vectors[torch.tensor(vector_rows, device=self._vectors.device)]
            scores += crf.vector_scores(vectors).index_select(1, _OF_VECTORS.to(scores.device))
            if crf.clusters is not None:
                numbers = torch.from_numpy(crf.clusters.numbers(vectors)).to(scores.device)
                for of_kind, own_numbers in zip(self._of_clusters, numbers.t(), strict=True):
                    scores += of_kind[own_numbers]
        return FeatureRows(scores, parts[:, :PAIR_PARTS])


def _cluster_scores(crf: FeatureCrf) -> list[Tensor]:
    """For each kind of clusters (1 + clusters, 3, tags) what each adds, as of `FeatureRows`.

    They are few, and looked up for each word they would take as long as all of its other features.
    """
    if crf.clusters is None:
        return []
    found = []
    for kind, size in enumerate(crf.clusters.sizes):
        numbers = np.zeros((1 + size, len(crf.clusters.sizes)), np.int64)
        numbers[:, kind] = np.arange(1 + size)  # 0 is no vector
        keys = cluster_keys(numbers)[:, :, [kind]]  # (1 + size, 3, 1)
        # (1 + size, 3, 1) -> ((1 + size) x 3, 1) -> ((1 + size) x 3, tags) -> (1 + size, 3, tags)
        found.append(crf.scores(keys.reshape(-1, 1)).view(1 + size, 3, -1))
    return found


def _with_neighbours(tokens: Tokens[Tensor]) -> tuple[Ids, Ids, Ids]:
    """(tokens,) rows of the word before each token, of its own, and of the word after it."""
    filled = tokens.mask.cpu().numpy()
    batch, time = filled.shape
    # (batch, time) -> (batch, 1 + time + 1), with the borders around each sentence.
    padded = np.full((batch, time + 2), _END)
    padded[:, 0] = _START
    padded[:, 1:-1][filled] = tokens.rows.cpu().numpy()[filled] + len(BORDERS)
    return padded[:, :-2][filled], padded[:, 1:-1][filled], padded[:, 2:][filled]
