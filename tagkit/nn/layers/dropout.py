"""Dropout of values, of a sentence's features, of tokens and of words; penalties on states.

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

    Half of the words seen once, read as the unknown word, teach its vector (Lample et al. 2016).

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


# Penalties on large states, and on large changes from one state to the next.
#
#     AR  = mean over features of h'[t]^2              h' what the head reads, after dropout
#     TAR = mean over features of (h[t+1] - h[t])^2    h the states of the topmost layer, before it
#
# Activation and temporal activation regularisation (Merity, McCann and Socher 2017; Merity et al.
# 2018, section 4.3), summed over tokens with a weight for each: a loss that is a sum over tokens
# and is divided by their number then has the mean of each.
def activation_penalty(states: Tensor, weights: Tensor) -> Tensor:
    """AR, summed over tokens; one number.

    Args:
        states: (batch, time, features) after dropout.
        weights: (batch, time) of each token, 0 on padding.
    """
    return (states.square().mean(2) * weights).sum()


def temporal_penalty(states: Tensor, weights: Tensor) -> Tensor:
    """TAR, summed over all tokens but the first of each sequence; one number.

    Args:
        states: (batch, time, features) before dropout.
        weights: (batch, time) of each token, 0 on padding.
    """
    changes = (states[:, 1:] - states[:, :-1]).square().mean(2)  # (batch, time - 1)
    # That into padding, where states are 0, has the weight of padding.
    return (changes * weights[:, 1:]).sum()


def token_weights(mask: Tensor, *, per_sequence: bool) -> Tensor:
    """(batch, time) weight of each token in a sum over tokens, or over sequences of their means.

    Args:
        mask: (batch, time) bool, True on real tokens.
        per_sequence: whether the weights of a sequence sum to 1.
    """
    weights = mask.float()
    return weights / weights.sum(1, keepdim=True).clamp(min=1) if per_sequence else weights
