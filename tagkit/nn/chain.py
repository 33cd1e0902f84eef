"""Linear chains of tags: log-partition, marginals, best path.

The score of a path y through emissions e and transitions w is
    start[y0] + sum over t of e[t, y[t]] + sum over t > 0 of w[y[t-1], y[t]] + end[y[last]]
(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs). Log-partition and marginals are the forward-backward algorithm
(Rabiner 1989), the best path the Viterbi algorithm (the same chapter, figure "Viterbi algorithm").

A forbidden step is a transition (or start, or end) of minus infinity.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Scaled products keep numbers above exp(-700) of the largest in float64; beyond half of that,
# sums of exponentials are used.
_SAFE_SPREAD = 300.0
# Stands for minus infinity where a difference of two infinities would be NaN.
_NEVER = -1e12


@dataclass(frozen=True, slots=True)
class Chain:
    """Scores of all paths of a batch of sentences.

    Attributes:
        emissions: (batch, time, tags) score of each tag at each token.
        transitions: (tags before, tags after) score of each step.
        start: (tags,) score of beginning with a tag.
        end: (tags,) score of ending with a tag.
        mask: (batch, time) bool, True on real tokens; True throughout column 0.
    """

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True)
class Messages:
    """What the forward-backward algorithm knows of each token, in logarithms, float64.

    Attributes:
        alpha: (batch, time, tags) log sum of all paths up to and with this tag.
        beta: (batch, time, tags) log sum of all paths behind this tag, without it.
        log_partition: (batch,) log sum of all paths.
    """

    alpha: Tensor
    beta: Tensor
    log_partition: Tensor


def path_score(chain: Chain, tag_ids: Tensor) -> Tensor:
    """Score of one given path per sentence.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64, the path; any valid id on padding.

    Returns:
        (batch,) unnormalised log score.
    """
    mask = chain.mask
    emitted = chain.emissions.gather(2, tag_ids.unsqueeze(2)).squeeze(2)
    stepped = chain.transitions[tag_ids[:, :-1], tag_ids[:, 1:]]
    last = tag_ids.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
    return (
        chain.start[tag_ids[:, 0]]
        + emitted.masked_fill(~mask, 0).sum(1)
        + stepped.masked_fill(~mask[:, 1:], 0).sum(1)
        + chain.end[last]
    )


def log_partition(chain: Chain) -> Tensor:
    """Log of the sum of exp(score) over all paths of each sentence, (batch,), differentiable.

    Its gradient is the expected count of each emission and each step: the marginals. Both are
    computed by forward-backward in float64, without an autograd graph over the steps.
    """
    total: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
        chain.emissions, chain.transitions, chain.start, chain.end, chain.mask
    )
    return total


def forward_backward(chain: Chain) -> Messages:
    """Messages of the forward-backward algorithm in logarithms: exact for scores of any size."""
    return _log_messages(in_double(chain))


def marginals(chain: Chain) -> Tensor:
    """Probability of each tag at each token, (batch, time, tags); zeros on padding."""
    messages = forward_backward(chain)
    log_probs = messages.alpha + messages.beta - messages.log_partition[:, None, None]
    return log_probs.exp().masked_fill(~chain.mask.unsqueeze(2), 0)


def step_log_probs(chain: Chain, messages: Messages, tag_ids: Tensor) -> Tensor:
    """Log of P(next tag | this tag, sentence) for the steps out of each token of a path.

    Args:
        chain: the scores.
        messages: of the same chain.
        tag_ids: (batch, time) int64, the path.

    Returns:
        (batch, time - 1, tags) for each next tag.
    """
    here = tag_ids[:, :-1]
    stepped = chain.transitions.double()[here] + chain.emissions[:, 1:] + messages.beta[:, 1:]
    left = messages.beta[:, :-1].gather(2, here.unsqueeze(2))
    return stepped - left


def viterbi(chain: Chain) -> tuple[Tensor, Tensor]:
    """The best path of each sentence and its score.

    Returns:
        (batch, time) int64, 0 on padding, and (batch,) float64.
    """
    # In float32 the sum of a long sentence would round away what tells two tags apart.
    chain = in_double(chain)
    emissions, mask = chain.emissions, chain.mask
    time = mask.shape[1]
    whole = mask.all(0).tolist()
    arriving = chain.transitions.t().contiguous()  # [after, before]
    scores = [chain.start + emissions[:, 0]]
    for t in range(1, time):
        # (batch, 1, before) + (after, before) -> best over `before`: (batch, after). Which one it
        # is, is asked in the trace alone, of one tag: the largest alone is found faster.
        best = (scores[-1].unsqueeze(1) + arriving).amax(2).add_(emissions[:, t])
        scores.append(best if whole[t] else torch.where(mask[:, t, None], best, scores[-1]))
    score, tag = (scores[-1] + chain.end).max(dim=1)

    # Trace back over whole columns; a sentence's own trace begins at its last real token.
    path = [tag]
    for t in range(time - 2, -1, -1):
        earlier = (scores[t] + arriving.index_select(0, tag)).argmax(1)
        tag = earlier if whole[t + 1] else torch.where(mask[:, t + 1], earlier, tag)
        path.append(tag)
    return torch.stack(path[::-1], dim=1).masked_fill(~mask, 0), score


class _LogPartition(torch.autograd.Function):
    """Forward: alphas. Backward: betas, then expected counts times the incoming gradient."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor
    ) -> Tensor:
        chain = in_double(Chain(emissions, transitions, start, end, mask))
        scaled = _scaled_forward(chain) if _is_safe(chain) else None
        ctx.dtype = emissions.dtype
        ctx.chain, ctx.scaled = chain, scaled
        if scaled is not None:
            return scaled.log_partition.to(emissions.dtype)
        messages = ctx.messages = _log_messages(chain)
        return messages.log_partition.to(emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad.double()
        if ctx.scaled is not None:
            counts = _scaled_counts(ctx.chain, ctx.scaled, grad)
        else:
            counts = _log_counts(ctx.chain, ctx.messages, grad)
        return *(count.to(ctx.dtype) for count in counts), None


def in_double(chain: Chain) -> Chain:
    """The scores in float64, without their history, and zeros on padding."""
    return Chain(
        # What stands on padding must not matter, not even a NaN.
        chain.emissions.detach().double().masked_fill(~chain.mask.unsqueeze(2), 0),
        chain.transitions.detach().double(),
        chain.start.detach().double(),
        chain.end.detach().double(),
        chain.mask,
    )


def _is_safe(chain: Chain) -> bool:
    """Whether no tag can fall so far behind another that float64 loses it.

    Where every step is allowed, a tag's alpha is within the spread of one step of any other's.
    Where some are forbidden, tags that never meet can drift apart without end.
    """
    if bool(torch.isinf(chain.transitions).any()):
        return False
    emitted = (chain.emissions.amax(2) - chain.emissions.amin(2)).max()
    steps = sum(_spread(scores) for scores in (chain.transitions, chain.start, chain.end))
    # A NaN compares as False and takes the exact road, which hands it on.
    return bool(emitted + steps < _SAFE_SPREAD)


def _spread(scores: Tensor) -> Tensor:
    """Largest minus smallest, forbidden ones left out."""
    lowest = torch.where(scores == -torch.inf, torch.inf, scores).amin()
    return (scores.amax() - lowest).clamp(min=0)


# Scaled products: Rabiner 1989, section V.A.


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The forward pass in scaled probabilities, time first.

    Attributes:
        alpha: (time, batch, tags), each row with sum 1.
        emitted: (time, batch, tags) exp(emission - the token's highest).
        scale: (time, batch) what alpha was divided by; 1 on padding.
        stepped: (tags, tags) exp(transition - the highest).
        ended: (tags,) exp(end - the highest).
        log_partition: (batch,).
    """

    alpha: Tensor
    emitted: Tensor
    scale: Tensor
    stepped: Tensor
    ended: Tensor
    log_partition: Tensor


def _scaled_forward(chain: Chain) -> _Scaled | None:
    """None where forbidden steps leave a sentence no path, or none that is near its likeliest."""
    emissions = chain.emissions.transpose(0, 1)
    mask = chain.mask.t()
    time, batch, tags = emissions.shape
    highest = emissions.amax(2)
    emitted = (emissions - highest.unsqueeze(2)).exp_()
    stepped = (chain.transitions - chain.transitions.amax()).exp_()
    ended = (chain.end - chain.end.amax()).exp_()
    whole = mask.all(1).tolist()

    alpha = emissions.new_empty(time, batch, tags)
    scale = emissions.new_ones(time, batch)
    now = (chain.start - chain.start.amax()).exp_() * emitted[0]
    for t in range(time):
        if t:
            now = torch.mm(alpha[t - 1], stepped).mul_(emitted[t])
        total = now.sum(1)
        now = now.div_(total.unsqueeze(1))
        if not whole[t]:
            here = mask[t]
            total = total.where(here, 1)
            now = torch.where(here.unsqueeze(1), now, alpha[t - 1])
        alpha[t] = now
        scale[t] = total
    last = alpha[-1] @ ended
    log_scale = scale.log() + highest.masked_fill(~mask, 0)
    steps = mask.sum(0) - 1
    total_log = log_scale.sum(0) + last.log() + chain.start.amax() + chain.end.amax()
    total_log = total_log + steps * chain.transitions.amax()
    # Where all likely beginnings come to a forbidden step, what lives on is too small to divide by.
    far = torch.minimum(scale.amin(), last.amin()) < math.exp(-_SAFE_SPREAD)
    if bool(far | ~torch.isfinite(total_log).all()):
        return None
    return _Scaled(alpha, emitted, scale, stepped, ended, total_log)


def _scaled_counts(chain: Chain, scaled: _Scaled, grad: Tensor) -> tuple[Tensor, ...]:
    """Expected counts of emissions, steps, starts and ends, each sentence's times its `grad`."""
    mask = chain.mask.t()
    time, batch, tags = scaled.alpha.shape
    whole = mask.all(1).tolist()
    beta = scaled.alpha.new_empty(time, batch, tags)
    # At its last token a sentence's beta is `ended`, scaled so that alpha @ beta is 1.
    beta[-1] = scaled.ended / (scaled.alpha[-1] @ scaled.ended).unsqueeze(1)
    incoming = scaled.alpha.new_zeros(time, batch, tags)  # emitted * beta / scale
    for t in range(time - 1, 0, -1):
        arriving = (scaled.emitted[t] * beta[t]).div_(scaled.scale[t].unsqueeze(1))
        before = torch.mm(arriving, scaled.stepped.t())
        if not whole[t]:
            here = mask[t].unsqueeze(1)
            arriving = arriving.masked_fill_(~here, 0)
            before = torch.where(here, before, beta[t])
        incoming[t] = arriving
        beta[t - 1] = before
    unary = (scaled.alpha * beta).mul_(grad.unsqueeze(1))
    weighted = (scaled.alpha[:-1] * grad.unsqueeze(1)).reshape(-1, tags)
    steps = scaled.stepped * (weighted.t() @ incoming[1:].reshape(-1, tags))
    unary_by_sentence = unary.transpose(0, 1).masked_fill(~chain.mask.unsqueeze(2), 0)
    # On padding alpha and beta stand still, so the last row holds each sentence's last token.
    return unary_by_sentence, steps, unary[0].sum(0), unary[-1].sum(0)


# Sums of exponentials, for scores of any size.


def _log_messages(chain: Chain) -> Messages:
    emissions, mask = chain.emissions, chain.mask
    transitions, start, end = (
        scores.clamp(min=_NEVER) for scores in (chain.transitions, chain.start, chain.end)
    )
    _, time, _ = emissions.shape
    alphas = [start + emissions[:, 0]]
    for t in range(1, time):
        # (batch, before, 1) + (before, after) -> (batch, before, after), then sum out `before`
        stepped = torch.logsumexp(alphas[-1].unsqueeze(2) + transitions, dim=1) + emissions[:, t]
        alphas.append(torch.where(mask[:, t].unsqueeze(1), stepped, alphas[-1]))
    betas = [end.expand_as(alphas[-1])]
    for t in range(time - 1, 0, -1):
        # (batch, 1, after) + (before, after) -> (batch, before, after), then sum out `after`
        ahead = (emissions[:, t] + betas[-1]).unsqueeze(1)
        stepped = torch.logsumexp(ahead + transitions, dim=2)
        betas.append(torch.where(mask[:, t].unsqueeze(1), stepped, betas[-1]))
    log_partition = torch.logsumexp(alphas[-1] + end, dim=1)
    return Messages(torch.stack(alphas, 1), torch.stack(betas[::-1], 1), log_partition)


def _log_counts(chain: Chain, messages: Messages, grad: Tensor) -> tuple[Tensor, ...]:
    """As `_scaled_counts`, from messages in logarithms."""
    log_z = messages.log_partition[:, None, None]
    weight = grad[:, None, None]
    unary = (messages.alpha + messages.beta - log_z).exp() * weight
    steps = torch.zeros_like(chain.transitions)
    transitions = chain.transitions.clamp(min=_NEVER)
    for t in range(1, chain.mask.shape[1]):
        arriving = chain.emissions[:, t] + messages.beta[:, t]
        before = messages.alpha[:, t - 1].unsqueeze(2)
        log_probs = before + transitions + arriving.unsqueeze(1) - log_z
        here = chain.mask[:, t, None, None]
        steps += (log_probs.exp() * weight).masked_fill(~here, 0).sum(0)
    # On padding alpha and beta stand still, so the last column holds each sentence's last token.
    starts, ends = unary[:, 0].sum(0), unary[:, -1].sum(0)
    return unary.masked_fill(~chain.mask.unsqueeze(2), 0), steps, starts, ends
