"""The network of several tag columns: one encoder, and a head for each column.

A head reads the encoder's state of a token beside the token's own vector. A lemma or a feature
often follows from the form alone, above all from its ending, which the state, made of the whole
sentence, shows less exactly: UDPipe 2 gives its heads of lemmas the word's characters for that
(Straka 2018).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batching.batch import Batch, Tokens
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.model import Model
from tagkit.models.base.output import ModelOutput
from tagkit.models.columns.codecs import CODECS
from tagkit.nn.layers.dropout import LockedDropout
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import CachedWords


class ColumnTagger(Model):
    """Hidden states -> the values of several columns."""

    reads_final = False

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        heads: Sequence[nn.Module],
        columns: Sequence[ColumnLabels],
        dropout: float,
        weights: Sequence[float],
    ) -> None:
        """A model with several heads.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            heads: of the columns, made by their codecs, over states and vectors side by side.
            columns: the labels of each.
            dropout: of the vectors that the heads read, the same features at all tokens.
            weights: of the columns' losses.
        """
        super().__init__(embed=embed, encoder=encoder)
        # By number: names of columns such as MISC.NER hold a dot, which names of modules may not.
        self.heads = nn.ModuleList(heads)
        self.columns = tuple(columns)
        self.dropout = LockedDropout(probability=dropout)
        self.weights = tuple(weights)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """As in `Model`, with the vectors of the tokens beside their states."""
        inputs = self.inputs(batch)
        with self._watched() as penalties:
            topmost, last = self.read_layers(inputs, batch.tokens)
        mask = batch.tokens.mask
        states, final = self.encoder.output(topmost, last, mask, final_is_read=self.reads_final)
        # In mixed precision too: sums over all paths need all digits.
        with torch.autocast(states.device.type, enabled=False):
            total, count = self.loss_of(self._beside(states, inputs), final.float(), batch)
        return self._regularised(total, penalties, topmost, states, mask), count

    def read(self, tokens: Tokens, words: CachedWords) -> tuple[Tensor, Tensor]:
        """As in `Model`, with the vectors of the tokens beside their states."""
        states, final = super().read(tokens, words)
        inputs = self.token_inputs(words.vectors, tokens)
        return self._beside(states, inputs), final

    def _beside(self, states: Tensor, inputs: Tensor) -> Tensor:
        # (batch, time, hidden) and (batch, time, features) -> (batch, time, hidden + features)
        return torch.cat((states.float(), self.dropout(inputs.float())), dim=2)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """As described in `Model`: the weighted sum of all columns; each token is one target."""
        mask = batch.tokens.mask
        losses = [
            weight * head(states, mask, batch.target(labels.name), batch.weights)[0]
            for head, labels, weight in zip(self.heads, self.columns, self.weights, strict=True)
        ]
        return torch.stack(losses).sum(), mask.sum()

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """As described in `Model`: the output of every head."""
        return ModelOutput(
            columns=tuple(
                CODECS[labels.codec].output(head, states, mask, confidence=confidence)
                for head, labels in zip(self.heads, self.columns, strict=True)
            )
        )

    def heads_by_name(self) -> Mapping[str, Any]:
        """The head of each column, by the column's name."""
        return {labels.name: head for labels, head in zip(self.columns, self.heads, strict=True)}

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Those of every head."""
        for head, labels in zip(self.heads, self.columns, strict=True):
            CODECS[labels.codec].set_constants(head, config, labels)

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The rows of each head; they begin with the column's name, which is not the head's."""
        return {
            f"heads.{number}.": tuple(
                f"{labels.name} {row}" for row in CODECS[labels.codec].rows(labels)
            )
            for number, labels in enumerate(vocabulary.columns)
        }
