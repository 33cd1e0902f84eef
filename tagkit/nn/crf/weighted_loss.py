"""A chain's loss in which some tags weigh more than others.

The probability of a path is a product of one factor a token, p(y | x) = prod p(y[t] | y[t-1], x),
since a chain is a Markov chain given x (Lafferty et al. 2001). Each factor's logarithm is
multiplied by the weight of its gold tag, as a softmax's cross-entropy is:

    loss = - sum over t of w[y[t]] log p(y[t] | y[t-1], x)

With weights of one it is the chain's negative log-likelihood; without transitions it is the
weighted cross-entropy of each token. The factors come from the backward half of forward-backward,

    beta[t-1, i] = log sum over j of exp(transition[i, j] + emission[t, j] + beta[t, j])
    log p(j | i, x) = transition[i, j] + emission[t, j] + beta[t, j] - beta[t-1, i]

which are computed with scaled products (`scaled.py`) where float64 holds them, else in logarithms.
The gradient is in closed form, without a graph over the steps: the adjoint of each beta is carried
from token to token by the probabilities of the steps, which is one product of matrices each.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tagkit.nn.crf.chain import NEVER, Chain, check_tag_ids
from tagkit.nn.crf.log_space import log_step
from tagkit.nn.crf.scaled import Array, Flags, Scores, underflows
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
    device = chain.mask.device
    if device.type != "cpu":  # where small steps cost no launches
        return weighted_loss(chain.cpu(), tag_ids.cpu(), weights.cpu()).to(device)
    weight = weights[tag_ids] * chain.mask  # (batch, time), 0 on padding
    factors = _factors(Scores.of(chain), tag_ids.numpy())
    safe = torch.from_numpy(factors.safe)
    if safe.all():
        return _scaled_loss(chain, weight, factors)
    loss = _log_loss(chain.rows(~safe), tag_ids[~safe], weight[~safe])
    if not safe.any():
        return loss
    chosen = chain.rows(safe)
    factors = _factors(Scores.of(chosen), tag_ids[safe].numpy())
    # Losses of each kind -> (batch,), in the order of the sentences
    return torch.cat((_scaled_loss(chosen, weight[safe], factors), loss))[
        torch.cat((safe.nonzero(), (~safe).nonzero())).squeeze(1).argsort()
    ]


@dataclass(frozen=True, slots=True)
class _Factors:
    """The factors p(y[t] | y[t-1], x) of the gold paths, from scaled betas; time first.

    Attributes:
        gold: (time, batch) the gold path; on padding the sentence's last tag.
        mask: (time, batch) bool.
        beta: (time, batch, tags); each row has sum 1. Ones for tags that no path leaves.
        arriving: (time, batch, tags) exp(emission) * beta over its sum with all steps, so that
            p(j | i, x) = stepped[i, j] * arriving[t, j] / beta[t-1, i]; 0 on padding.
        stepped: (before, after) exp(transition - the highest).
        first: (batch, tags) p(y[0] | x).
        log_probs: (time, batch) of the gold path's factors, 0 on padding.
        safe: (batch,) whether the numbers of a sentence are right; the others have no meaning.
    """

    gold: npt.NDArray[np.int64]
    mask: Flags
    beta: Array
    arriving: Array
    stepped: Array
    first: Array
    log_probs: Array
    safe: Flags


def _factors(scores: Scores, tag_ids: npt.NDArray[np.int64]) -> _Factors:
    """The backward pass, and the gold path's factors."""
    mask = scores.mask
    time, batch, tags = scores.emissions.shape
    gold = np.where(mask, tag_ids.T, 0)
    row = np.arange(batch)
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        steps = scores.steps()
        factors = scores.factors(steps)
        backwards = np.ascontiguousarray(steps.stepped.T)
        beta, arriving = np.empty((time, batch, tags)), np.zeros((time, batch, tags))
        beta[-1] = steps.ended
        beta[-1] /= beta[-1].sum(1, keepdims=True)
        for t in range(time - 1, 0, -1):
            np.multiply(factors.emitted[t], beta[t], out=arriving[t])
            # (batch, after) @ (after, before) -> (batch, before), the equation above
            summed = np.matmul(arriving[t], backwards, out=beta[t - 1])
            total = summed.sum(1, keepdims=True)  # (batch, 1)
            summed /= total
            arriving[t] /= total
            if not scores.whole[t]:
                # On padding beta stays that of the end: the loop comes from the right.
                over = ~mask[t]
                arriving[t, over] = 0
                beta[t - 1, over] = beta[t, over]
        # The first factor has a start in place of a transition: (tags,) * (batch, tags)
        first = steps.started * factors.emitted[0] * beta[0]
        first /= first.sum(1, keepdims=True)
        log_probs = np.zeros((time, batch))
        log_probs[0] = np.log(first[row, gold[0]])
        before, after = gold[:-1], gold[1:]
        step = np.arange(1, time)[:, None]  # beside gold tags, (time - 1, batch)
        taken = steps.stepped[before, after] * arriving[step, row, after]
        left = beta[step - 1, row, before]
        log_probs[1:] = np.where(mask[1:], np.log(taken) - np.log(left), 0)
        safe = factors.safe & np.isfinite(log_probs).all(0)
        if steps.constrained:
            safe &= ~underflows(beta)
            # No probability comes to a tag that no path leaves, so any divisor will do.
            beta[beta == 0] = 1
    return _Factors(gold, mask, beta, arriving, steps.stepped, first, log_probs, safe)


def _scaled_loss(chain: Chain, weight: Tensor, factors: _Factors) -> Tensor:
    loss: Tensor = _WeightedLoss.apply(  # type: ignore[no-untyped-call]
        chain.emissions, chain.transitions, chain.start, chain.end, weight, factors
    )
    return loss


class _WeightedLoss(torch.autograd.Function):
    """Forward: the weighted sum of the factors. Backward: adjoints of the betas, left to right."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Tensor,
        transitions: Tensor,
        start: Tensor,
        end: Tensor,
        weight: Tensor,
        factors: _Factors,
    ) -> Tensor:
        """(batch,) losses.

        Args:
            ctx: of the call.
            emissions: (batch, time, tags); this and the next three have been read into `factors`,
                and are here to get gradients.
            transitions: (tags before, tags after).
            start: (tags,).
            end: (tags,).
            weight: (batch, time) of each gold tag, 0 on padding.
            factors: of the gold paths.
        """
        ctx.dtype, ctx.factors = emissions.dtype, factors
        ctx.weight = weight.t().double().numpy()  # (time, batch)
        # (time, batch) -> (batch,)
        return torch.from_numpy(-(ctx.weight * factors.log_probs).sum(0)).to(ctx.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients in the shapes of the arguments; `grad` is (batch,)."""
        # (time, batch) * (batch,): a sentence's loss is linear in its weights.
        gradients = _gradients(ctx.factors, ctx.weight * grad.double().numpy())
        # None for the weights and for the factors.
        return *(torch.from_numpy(part).to(ctx.dtype) for part in gradients), None, None


def _gradients(factors: _Factors, weight: Array) -> tuple[Array, ...]:
    """Of emissions, transitions, start and end, of a loss with (time, batch) weights."""
    gold, mask = factors.gold, factors.mask
    time, batch, tags = factors.beta.shape
    row = np.arange(batch)
    unary = np.zeros((time, batch, tags))  # of emissions
    leaving = np.empty((time - 1, batch, tags))  # adjoint of log beta, over beta
    # weight * (log of the sum - the gold tag's own): probabilities minus one at the gold tag
    adjoint = weight[0][:, None] * factors.first
    adjoint[row, gold[0]] -= weight[0]
    unary[0] = adjoint
    for t in range(1, time):
        # log beta[t-1] at the gold tag is subtracted in the factor of token t.
        adjoint[row, gold[t - 1]] += weight[t]
        over = ~mask[t]
        through = np.divide(adjoint, factors.beta[t - 1], out=leaving[t - 1])
        # sum over i of adjoint[i] * p(j | i, x): (batch, before) @ (before, after)
        now = np.matmul(through, factors.stepped, out=unary[t])
        now *= factors.arriving[t]
        now[row, gold[t]] -= weight[t]
        # On padding, where `arriving` and weights are 0, the adjoint stays that of the last token.
        adjoint = np.where(over[:, None], adjoint, now) if over.any() else now.copy()
    # All steps in one product: (tags, time x batch) @ (time x batch, tags)
    steps = leaving.reshape(-1, tags).T @ factors.arriving[1:].reshape(-1, tags)
    steps *= factors.stepped
    np.subtract.at(steps, (gold[:-1], gold[1:]), weight[1:])
    # (time, batch, tags) -> (batch, time, tags), as emissions are
    emitted = np.ascontiguousarray(unary.transpose(1, 0, 2))
    return emitted, steps, unary[0].sum(0), adjoint.sum(0)


def _log_loss(chain: Chain, tag_ids: Tensor, weight: Tensor) -> Tensor:
    """As `_scaled_loss`, for scores of any size, with an autograd graph over the steps."""
    mask = chain.mask
    emissions = zero_padding(chain.emissions, mask)
    time = emissions.shape[1]
    # The gradient of a sum over infinities alone would be NaN.
    transitions = chain.transitions.clamp(min=NEVER)
    beta = chain.end.clamp(min=NEVER).expand(emissions[:, 0].shape)  # (tags,) -> (batch, tags)
    loss = emissions.new_zeros(len(emissions))
    for t in range(time - 1, 0, -1):
        before, gold = tag_ids[:, t - 1], tag_ids[:, t]
        # emission[t, j] + beta[t, j]: (batch, after)
        arriving = emissions[:, t] + beta
        # (batch, after, 1) + (after, before), then sum out `after`: beta of the step before, as in
        # the equation above. Its pairs of tags are computed again for the gradient, not kept.
        summed: Tensor = checkpoint(log_step, arriving, transitions.t(), use_reentrant=False)
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
