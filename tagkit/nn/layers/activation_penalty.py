"""Penalties on large states, and on large changes from one state to the next.

    AR  = mean over features of h'[t]^2              h' what the head reads, after dropout
    TAR = mean over features of (h[t+1] - h[t])^2    h the states of the topmost layer, before it

Activation and temporal activation regularisation (Merity, McCann and Socher 2017; Merity et al.
2018, section 4.3), summed over tokens with a weight for each: a loss that is a sum over tokens and
is divided by their number then has the mean of each.
"""

from torch import Tensor


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
