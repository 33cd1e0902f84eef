"""The network of several tag columns: one encoder, and a head for each column."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batch import Batch
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.codecs import CODECS
from tagkit.models.model import Model
from tagkit.models.output import ModelOutput
from tagkit.nn.embedding import TokenEmbedding
from tagkit.nn.encoder import Encoder


class ColumnTagger(Model):
    """Hidden states -> the values of several columns."""

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        heads: Sequence[nn.Module],
        columns: Sequence[ColumnLabels],
    ) -> None:
        """A model with several heads.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            heads: of the columns, made by their codecs.
            columns: the labels of each.
        """
        super().__init__(embed=embed, encoder=encoder)
        # By number: names of columns such as MISC.NER hold a dot, which names of modules may not.
        self.heads = nn.ModuleList(heads)
        self.columns = tuple(columns)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The sum of the columns' losses; each token is one target."""
        mask = batch.tokens.mask
        losses = [
            head(states, mask, batch.target(labels.name))[0]
            for head, labels in zip(self.heads, self.columns, strict=True)
        ]
        return torch.stack(losses).sum(), mask.sum()

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """The output of every head."""
        return ModelOutput(
            columns=tuple(
                CODECS[labels.codec].output(head, states, mask, confidence=confidence)
                for head, labels in zip(self.heads, self.columns, strict=True)
            )
        )

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
