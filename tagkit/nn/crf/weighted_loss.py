"""A chain's loss in which some tags weigh more than others.

The probability of a path is a product of one factor a token, p(y | x) = prod p(y[t] | y[t-1], x),
since a chain is a Markov chain given x (Lafferty et al. 2001). Each factor's logarithm is
multiplied by the weight of its gold tag, as a softmax's cross-entropy is:

    loss = - sum over t of w[y[t]] log p(y[t] | y[t-1], x)

With weights of one it is the chain's negative log-likelihood; without transitions it is the
weighted cross-entropy of each token. The factors come from the backward half of forward-backward,

    beta[t-1, i] = log sum over j of exp(transition[i, j] + emission[t, j] + beta[t, j])
    log p(j | i, x) = transition[i, j] + emission[t, j] + beta[t, j] - beta[t-1, i]
"""

import torch
from torch import Tensor

from tagkit.nn.crf.chain import NEVER, Chain, check_tag_ids
from tagkit.nn.padding import zero_padding


def weighted_loss(chain: Chain, tag_ids: Tensor, weights: Tensor) -> Tensor:
    """The loss of one path a sentence.

    Args:
        chain: scores of all paths; forbidden steps may be minus infinity.
        tag_ids: (batch, time) int64 the gold path, any valid id on padding.
        weights: (tags,) of each gold tag, at least 0.

    Returns:
        (batch,) in nats.
    """
    chain.check()
    check_tag_ids(tag_ids, chain.mask)
    mask = chain.mask
    emissions = zero_padding(chain.emissions, mask)
    time = emissions.shape[1]
    # The gradient of a sum over infinities alone would be NaN.
    transitions = chain.transitions.clamp(min=NEVER)
    beta = chain.end.clamp(min=NEVER).expand(emissions[:, 0].shape)  # (tags,) -> (batch, tags)
    weight = weights[tag_ids] * mask  # (batch, time), 0 on padding
    loss = emissions.new_zeros(len(emissions))
    for t in range(time - 1, 0, -1):
        before, gold = tag_ids[:, t - 1], tag_ids[:, t]
        # emission[t, j] + beta[t, j]: (batch, after)
        arriving = emissions[:, t] + beta
        # (before, after) + (batch, 1, after) -> (batch, before, after), then sum out `after`: beta
        # of the step before, as in the equation above.
        summed = torch.logsumexp(transitions + arriving.unsqueeze(1), dim=2)
        # (batch,): log p(y[t] | y[t-1], x) = taken - the sum at y[t-1]
        taken = transitions[before, gold] + _at(arriving, gold)
        loss = loss + weight[:, t] * (_at(summed, before) - taken)
        # On padding beta stays that of the end: the loop comes from the right.
        beta = torch.where(mask[:, t, None], summed, beta)
    # The first factor, p(y[0] | x), has a start in place of a transition.
    # (tags,) + (batch, tags) + (batch, tags)
    first = chain.start.clamp(min=NEVER) + emissions[:, 0] + beta
    return loss + weight[:, 0] * (torch.logsumexp(first, dim=1) - _at(first, tag_ids[:, 0]))


def _at(scores: Tensor, tag_ids: Tensor) -> Tensor:
    """(batch,) of (batch, tags) the score of each sentence's tag."""
    return scores.gather(1, tag_ids.unsqueeze(1)).squeeze(1)
