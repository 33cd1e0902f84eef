"""Dropout of values, of a sentence's features, of tokens and of words.

Values: Srivastava et al. 2014; Goodfellow, Bengio and Courville, section 7.12. One mask at all
steps of a sequence ("variational" in Gal and Ghahramani 2016, "locked" in Merity et al. 2018).
Whole tokens: Iyyer et al. 2015. Whole words of a vocabulary: Gal and Ghahramani 2016, section 4.2.
"""

import torch
from torch import Tensor, nn


class LockedDropout(nn.Module):
    """Zero the same features at every token of a sentence, and scale up the rest."""

    def __init__(self, *, probability: float) -> None:
        """`probability` of each feature to be dropped, 0 to 1."""
        super().__init__()
        self.probability = probability

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, time, features) -> the same shape; the identity outside training."""
        if not self.training or not self.probability:
            return inputs
        batch, _, features = inputs.shape
        # (batch, 1, features), which broadcasts over time: one draw for all steps of a sentence. A
        # new one at each step would be noise that the recurrence averages out.
        kept = inputs.new_empty(batch, 1, features).bernoulli_(1 - self.probability)
        # Divided here, in training, so that the expectation is that of prediction, where nothing is
        # dropped and nothing is scaled ("inverted dropout"): 1 / (1 - p) or 0 for each feature.
        return inputs * kept.div_(1 - self.probability)


class WordDropout(nn.Module):
    """Zero all features of whole tokens; the others are not scaled."""

    def __init__(self, *, probability: float) -> None:
        """`probability` of each token to be dropped, 0 to 1."""
        super().__init__()
        self.probability = probability

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, time, features) -> the same shape; the identity outside training."""
        if not self.training or not self.probability:
            return inputs
        batch, time, _ = inputs.shape
        # (batch, time, 1), which broadcasts over features. Not scaled up: a token is either read as
        # it will be in prediction, or not at all, as an unknown word without any vector.
        return inputs * inputs.new_empty(batch, time, 1).bernoulli_(1 - self.probability)


def drop_types(vectors: Tensor, types: Tensor, probability: float) -> Tensor:
    """Zero all vectors of some types, and scale up the others: embedding dropout.

    A word that is dropped is so wherever it occurs, as if its row of the table were zero for the
    whole batch.

    Args:
        vectors: (words, dim).
        types: (words,) int64, equal for words with the same vector.
        probability: of each type to be dropped, drawn by torch's generator.
    """
    distinct, which = torch.unique(types, return_inverse=True)
    kept = vectors.new_empty(len(distinct), 1).bernoulli_(1 - probability)
    return vectors * kept.div_(1 - probability)[which]


def replace_at_random(
    ids: Tensor, replaceable: Tensor, new_id: int, probability: float, generator: torch.Generator
) -> Tensor:
    """`ids` with some of those that are `replaceable` replaced by `new_id`.

    Args:
        ids: any shape, int64.
        replaceable: (number of ids,) bool.
        new_id: what they become.
        probability: of each to be replaced.
        generator: on the device of `ids`.
    """
    # One draw for each id, replaceable or not: the number of draws depends on the shape alone.
    draws = torch.rand(ids.shape, generator=generator, device=ids.device)
    # (number of ids,) at `ids` -> the shape of `ids`
    return torch.where(replaceable[ids] & (draws < probability), new_id, ids)
