"""From ids to vectors: words, their characters, further columns.

A word's vector is its embedding, the final states of a recurrent network over its characters from
both sides (Lample et al. 2016; Ling et al. 2015), and an embedding of each feature column, side by
side.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrent import RecurrentLayer


def _embedding(rows: int, dim: int) -> nn.Embedding:
    """A table with row 0, the padding, all zeros; variance 1/dim, so that a vector has length 1."""
    table = nn.Embedding(rows, dim, padding_idx=0)
    with torch.no_grad():
        table.weight.uniform_(-math.sqrt(3 / dim), math.sqrt(3 / dim))
        table.weight[0] = 0
    return table


class WordEmbedding(nn.Module):
    """A table of two parts: rows that are trained, and behind them rows that never change.

    The second part holds pretrained vectors: of all words that have one if they are frozen, else
    of those that the training corpus lacks. It costs the optimiser nothing, however long.
    """

    frozen: Tensor

    def __init__(self, *, trained: int, frozen: int, dim: int) -> None:
        """`trained` rows, padding and the unknown word among them, then `frozen` rows."""
        super().__init__()
        self.trained = _embedding(trained, dim)
        self.register_buffer("frozen", torch.zeros(frozen, dim))
        self.outputs = dim

    def forward(self, word_ids: Tensor) -> Tensor:
        """(batch, time) int64 -> (batch, time, dim)."""
        rows = self.trained.num_embeddings
        if not len(self.frozen):
            trained_only: Tensor = self.trained(word_ids)
            return trained_only
        is_trained = word_ids < rows
        fixed = nn.functional.embedding((word_ids - rows).clamp(min=0), self.frozen)
        learnt = self.trained(word_ids.where(is_trained, 0))
        return torch.where(is_trained.unsqueeze(-1), learnt, fixed)


class CharEncoder(nn.Module):
    """A vector of each distinct word from its characters, read from both sides."""

    def __init__(self, *, chars: int, dim: int, cell: str, hidden: int, dropout: float) -> None:
        """`chars` distinct characters, padding among them; `hidden` units in each direction."""
        super().__init__()
        self.embedding = _embedding(chars, dim)
        self.dropout = nn.Dropout(dropout)
        self.layer = RecurrentLayer(
            cell=cell, inputs=dim, hidden=hidden, bidirectional=True, merge="concat"
        )
        self.outputs = self.layer.outputs

    def forward(self, char_ids: Sequence[Tensor]) -> Tensor:
        """Vectors of distinct words that come in groups of similar length.

        Args:
            char_ids: each (words, chars) int64, 0 where padded.

        Returns:
            (all words, outputs), the groups one behind the other.
        """
        return torch.cat([self._encode(group) for group in char_ids])

    def _encode(self, char_ids: Tensor) -> Tensor:
        return self.layer.final_states(self.dropout(self.embedding(char_ids)), char_ids != 0)


class TokenEmbedding(nn.Module):
    """Word, characters and features of each token, side by side."""

    def __init__(
        self, *, words: WordEmbedding, chars: CharEncoder | None, features: Sequence[int], dim: int
    ) -> None:
        """`features`: how many values each feature column has; `dim` of their embeddings."""
        super().__init__()
        self.words = words
        self.chars = chars
        self.features = nn.ModuleList(_embedding(values, dim) for values in features)
        self.outputs = words.outputs + (chars.outputs if chars else 0) + dim * len(features)

    def forward(
        self,
        word_ids: Tensor,
        char_ids: Sequence[Tensor],
        word_rows: Tensor,
        feature_ids: Sequence[Tensor],
    ) -> Tensor:
        """Vectors of all tokens.

        Args:
            word_ids: (batch, time) int64.
            char_ids: characters of the distinct words, as `CharEncoder` takes them.
            word_rows: (batch, time) int64, which distinct word each token is.
            feature_ids: one (batch, time) int64 a feature column.

        Returns:
            (batch, time, outputs).
        """
        parts: list[Tensor] = [self.words(word_ids)]
        if self.chars is not None:
            parts.append(nn.functional.embedding(word_rows, self.chars(char_ids)))
        for table, ids in zip(self.features, feature_ids, strict=True):
            parts.append(table(ids))
        return torch.cat(parts, dim=-1)
