"""The forward-backward algorithm (Rabiner 1989, eqs. 19-21 and 24-25): messages and marginals."""

import numpy as np
import torch
from torch import Tensor

from tagkit.nn.crf.chain import NEVER, Chain, check_tag_ids, in_double
from tagkit.nn.crf.log_space import Messages, log_messages
from tagkit.nn.crf.scaled import Scaled, Scores, lost, scaled_backward, scaled_forward
from tagkit.nn.padding import zero_padding


def forward_backward(chain: Chain) -> Messages:
    """Messages of the forward-backward algorithm in logarithms: exact for scores of any size.

    Of tags that no path reaches, and of those that no path leaves, they are `NEVER` or less, which
    stands for minus infinity.
    """
    chain.check()
    if chain.emissions.is_cuda:
        return log_messages(in_double(chain))
    scores = Scores.of(chain)
    scaled = scaled_forward(scores)
    if scaled is None:
        return log_messages(in_double(chain))
    messages, safe = _in_logarithms(scores, scaled)
    if not safe.all():
        rows = ~safe
        exact = log_messages(in_double(chain.rows(rows)))
        messages.alpha[rows] = exact.alpha
        messages.beta[rows] = exact.beta
        messages.log_partition[rows] = exact.log_partition
    return messages


def _in_logarithms(scores: Scores, scaled: Scaled) -> tuple[Messages, Tensor]:
    """Messages from scaled products, and (batch,) for which sentences they are right."""
    with np.errstate(all="ignore"):  # the logarithm of 0, and sentences that are not safe
        beta, _ = scaled_backward(scaled)
        safe = scaled.safe & ~lost(beta) if scores.constrained else scaled.safe
        # (time, batch) the logarithm of what alpha was divided by up to each token; on padding
        # there are no more steps.
        steps = np.minimum(np.arange(len(beta))[:, None], scores.mask.sum(0) - 1)
        taken_out = np.cumsum(np.log(scaled.scale) + scaled.highest, 0) + scores.start.max()
        taken_out += steps * scores.transitions.max()
        log_alpha = np.log(scaled.alpha)
        log_alpha += taken_out[:, :, None]
        # alpha * beta is a probability: the two logarithms sum to log Z and its logarithm.
        log_beta = np.log(beta, out=beta)
        log_beta += (scaled.log_partition - taken_out)[:, :, None]
    alphas, betas = (
        # (time, batch, tags) -> (batch, time, tags)
        torch.from_numpy(np.maximum(part, NEVER, out=part)).transpose(0, 1)
        for part in (log_alpha, log_beta)
    )
    return Messages(alphas, betas, torch.from_numpy(scaled.log_partition)), torch.from_numpy(safe)


def marginals(chain: Chain) -> Tensor:
    """Probability of each tag at each token, (batch, time, tags); zeros on padding."""
    messages = forward_backward(chain)
    # p(y[t] | x) = alpha beta / Z (Rabiner 1989, eq. 27): (batch, time, tags) - (batch, 1, 1)
    log_probs = messages.alpha + messages.beta - messages.log_partition[:, None, None]
    return zero_padding(log_probs.exp(), chain.mask)


def step_log_probs(chain: Chain, messages: Messages, tag_ids: Tensor) -> Tensor:
    """Log of P(next tag | this tag, sentence) for the steps out of each token of a path.

    Args:
        chain: the scores.
        messages: of the same chain.
        tag_ids: (batch, time) int64, the path.

    Returns:
        (batch, time - 1, tags) for each next tag.
    """
    chain.check()
    check_tag_ids(tag_ids, chain.mask)
    here = tag_ids[:, :-1]  # (batch, time - 1), the tags i that steps leave
    # p(j | i, x) = exp(w[i, j] + e[t, j] + beta[t, j]) / exp(beta[t-1, i]); the row of each i is
    # fetched from (before, after): (batch, time - 1) -> (batch, time - 1, after)
    stepped = chain.transitions.double()[here] + chain.emissions[:, 1:] + messages.beta[:, 1:]
    total = messages.beta[:, :-1].gather(2, here.unsqueeze(2))  # (batch, time - 1, 1)
    return stepped - total
