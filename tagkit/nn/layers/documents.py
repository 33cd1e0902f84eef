"""Sentences of a document as one sequence: joined before each layer, parted after it.

    sentences (batch, time, ...) -> documents (documents, document time, ...) -> a layer
    states (documents, document time, hidden) -> states of the sentences (batch, time, hidden)

A layer's state is carried from each sentence to the next one of its document, in both directions;
recurrent layers cut gradients as in any long sequence (`recurrent_layer.py`). What a head reads is
as without documents: the states of one sentence in each row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.layers.layer import EncoderLayer


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Rows of a batch that are joined.

    Attributes:
        rows: (batch,) int64 number of each row's document, from 0; those of one follow each other.
        sentences: (batch, time) bool, True on real tokens.
        mask: (documents, document time) bool, True on real tokens.
    """

    rows: Tensor
    sentences: Tensor
    mask: Tensor

    @classmethod
    def of(cls, rows: Tensor, sentences: Tensor) -> "JoinedRows":
        """The rows of a batch with this mask; arguments as the attributes."""
        lengths = sentences.sum(1)  # (batch,)
        # (batch,) -> (documents,)
        of_documents = lengths.new_zeros(int(rows[-1]) + 1).index_add(0, rows, lengths)
        steps = torch.arange(int(of_documents.max()), device=rows.device)
        return cls(rows, sentences, steps < of_documents.unsqueeze(1))

    def join(self, values: Tensor) -> Tensor:
        """(batch, time, ...) of sentences -> (documents, document time, ...), 0 on padding."""
        joined = values.new_zeros((*self.mask.shape, *values.shape[2:]))
        # Rows follow each other in both, so that the tokens of both masks are in one order.
        joined[self.mask] = values[self.sentences]
        return joined

    def read(self, layer: EncoderLayer, states: Tensor) -> tuple[Tensor, Tensor]:
        """What a layer's `read` returns for the documents, parted; of each row its document's.

        Args:
            layer: that reads.
            states: (batch, time, features) of the sentences.

        Returns:
            (batch, time, outputs), zero on padding, and (batch, outputs).
        """
        found, final = layer.read(self.join(states), self.mask)
        return self.part(found), final[self.rows]

    def part(self, values: Tensor) -> Tensor:
        """(documents, document time, ...) -> (batch, time, ...) of sentences, 0 on padding."""
        parted = values.new_zeros((*self.sentences.shape, *values.shape[2:]))
        parted[self.sentences] = values[self.mask]
        return parted
