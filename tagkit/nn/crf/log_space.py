"""Forward-backward in logarithms (Rabiner 1989, eqs. 19-21 and 24-25).

Exact for scores of any size, and slower than scaled products (`scaled.py`), whose place it takes
where float64 cannot hold them.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.crf.chain import NEVER, Chain, check_tag_ids, in_double
from tagkit.nn.padding import zero_padding

# Sums over pairs of tags are computed for as many sentences at once as this many bytes hold.
_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class Messages:
    """Forward and backward messages of each token, in logarithms, float64.

    Attributes:
        alpha: (batch, time, tags) log sum over all paths up to this tag, which is included.
        beta: (batch, time, tags) log sum over all paths after this tag, which is excluded.
        log_partition: (batch,) log sum of all paths.
    """

    alpha: Tensor
    beta: Tensor
    log_partition: Tensor


def sentences_at_once(tags: int) -> int:
    """How many sentences have room for a float64 of each pair of tags."""
    return max(1, _BYTES // (8 * tags * tags))


def forward_backward(chain: Chain) -> Messages:
    """Messages of the forward-backward algorithm."""
    chain.check()
    return log_messages(in_double(chain))


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


def log_messages(chain: Chain) -> Messages:
    """As `forward_backward`, for a chain of `in_double`."""
    emissions, mask = chain.emissions, chain.mask
    transitions, start, end = (
        # A row of which all is minus infinity would give inf - inf = NaN in `logsumexp`.
        scores.clamp(min=NEVER)
        for scores in (chain.transitions, chain.start, chain.end)
    )
    _, time, _ = emissions.shape
    # Forward (Rabiner 1989, eqs. 19 and 20), each (batch, tags).
    alphas = [start + emissions[:, 0]]
    for t in range(1, time):
        # (batch, before, 1) + (before, after), then sum out `before` -> (batch, after)
        stepped = log_step(alphas[-1], transitions) + emissions[:, t]
        # On padding alpha stays as it was: the last one is that of each sentence's last token.
        alphas.append(torch.where(mask[:, t].unsqueeze(1), stepped, alphas[-1]))
    # Backward (eqs. 24 and 25, with the end's scores for their ones).
    betas = [end.expand_as(alphas[-1])]  # (tags,) -> (batch, tags), from the last token back
    for t in range(time - 1, 0, -1):
        # (batch, after, 1) + (after, before), then sum out `after` -> (batch, before)
        stepped = log_step(emissions[:, t] + betas[-1], transitions.t())
        betas.append(torch.where(mask[:, t].unsqueeze(1), stepped, betas[-1]))
    # Termination (eq. 21): (batch, tags) + (tags,), then sum out the last tag -> (batch,)
    log_partition = torch.logsumexp(alphas[-1] + end, dim=1)
    # `time` of (batch, tags) -> (batch, time, tags)
    return Messages(torch.stack(alphas, 1), torch.stack(betas[::-1], 1), log_partition)


def log_step(scores: Tensor, steps: Tensor) -> Tensor:
    """(batch, tags) and (tags, tags other) -> (batch, tags other), log of the sum over `tags`."""
    # (group, tags, 1) + (tags, other) -> (group, tags, other) -> (group, other)
    groups = torch.split(scores, sentences_at_once(len(steps)))
    return torch.cat([torch.logsumexp(group.unsqueeze(2) + steps, dim=1) for group in groups])


def log_counts(chain: Chain, messages: Messages, grad: Tensor) -> tuple[Tensor, ...]:
    """Expected counts of emissions, steps, starts and ends, each sentence's times its `grad`."""
    # (batch,) -> (batch, 1, 1), beside (batch, time, tags) and (batch, before, after)
    log_z = messages.log_partition[:, None, None]
    weight = grad[:, None, None]
    # Rabiner's eq. 27 in logarithms, (batch, time, tags)
    unary = (messages.alpha + messages.beta - log_z).exp() * weight
    steps = torch.zeros_like(chain.transitions)
    transitions = chain.transitions.clamp(min=NEVER)
    for rows in torch.split(torch.arange(len(grad)), sentences_at_once(len(steps))):
        for t in range(1, chain.mask.shape[1]):
            # (rows, before, 1) + (before, after) + (rows, 1, after) -> (rows, before, after)
            arriving = chain.emissions[rows, t] + messages.beta[rows, t] - log_z[rows, 0]
            before = messages.alpha[rows, t - 1].unsqueeze(2)
            probs = (before + transitions + arriving.unsqueeze(1)).exp() * weight[rows]
            # Eq. 37, summed over sentences: (rows, before, after) -> (before, after)
            steps += probs.masked_fill(~chain.mask[rows, t, None, None], 0).sum(0)
    # On padding alpha and beta stay as they were, so the last column holds each sentence's last
    # token.
    starts, ends = unary[:, 0].sum(0), unary[:, -1].sum(0)
    return zero_padding(unary, chain.mask), steps, starts, ends
