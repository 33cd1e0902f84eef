"""The log-partition of linear chains, and its gradient: the marginals.

On a CPU both are the forward-backward algorithm with scaled products (Rabiner 1989, section V.A),
in float64 and in NumPy, whose calls cost a quarter of torch's: at the usual sizes the cost is that
of the calls. Where scores are so far apart that float64 would lose some, or steps are forbidden,
sums of exponentials (logsumexp) take their place, which are exact for scores of any size.

On a GPU one step for each token would be one kernel launch for each token. There the chain is a
product of matrices, taken in pairs, pairs of pairs, and so on: as many steps as the length has
binary digits (Blelloch 1990; Rush 2020 for chains of tags).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tagkit.nn.crf.chain import NEVER, Chain, Messages, in_double, log_messages
from tagkit.nn.padding import zero_padding

Array = npt.NDArray[np.float64]

# Scaled products keep numbers above exp(-700) of the largest in float64; beyond half of that,
# sums of exponentials are used.
_SAFE_SPREAD = 300.0
# Products are scaled once in so many steps, and before numbers can shrink by more than exp(-200).
_RESCALE = 8
_SPREAD_BETWEEN = 200.0
# Below this a sum of exponentials is that of forbidden paths.
_NOTHING = 1e-300


def log_partition(chain: Chain) -> Tensor:
    """Log of the sum of exp(score) over all paths of each sentence, (batch,), differentiable.

    Its gradient is the expected count of each emission and each step: the marginals. There is no
    autograd graph over the steps.
    """
    chain.check()
    if chain.emissions.is_cuda:
        return tree_partition(chain)
    total: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
        chain.emissions, chain.transitions, chain.start, chain.end, chain.mask
    )
    return total


class _LogPartition(torch.autograd.Function):
    """Forward: alphas. Backward: betas, then expected counts times the incoming gradient.

    The derivative of log Z by a score is the expected count of that emission or step under the
    chain's distribution (Lafferty et al. 2001; Eisner 2016), so no graph over the steps is needed.
    """

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor
    ) -> Tensor:
        ctx.dtype = emissions.dtype
        chain = Chain(emissions, transitions, start, end, mask, checked=True)
        scores = _Scores.of(chain)
        spread = scores.spread()
        scaled = _scaled_forward(scores, spread) if spread < _SAFE_SPREAD else None
        ctx.scores, ctx.scaled = scores, scaled
        if scaled is not None:
            # In float64 up to here: a loss is a difference of two large numbers.
            return torch.from_numpy(scaled.log_partition).to(ctx.dtype)  # (batch,)
        # Sums of exponentials (`log_messages`): slower, and right for scores of any size.
        ctx.chain = in_double(chain)
        ctx.messages = log_messages(ctx.chain)
        return ctx.messages.log_partition.to(ctx.dtype)  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.scaled is not None:
            # (batch, time, tags), (before, after), (tags,), (tags,): the shapes of the arguments
            found = _scaled_counts(ctx.scores, ctx.scaled, grad.double().numpy())
            counts = tuple(torch.from_numpy(count) for count in found)
        else:
            counts = _log_counts(ctx.chain, ctx.messages, grad.double())
        # One gradient for each argument of `forward`, none for the mask.
        return *(count.to(ctx.dtype) for count in counts), None


@dataclass(frozen=True, slots=True)
class _Scores:
    """A chain in NumPy, time first.

    Attributes:
        emissions: (time, batch, tags), 0 on padding.
        transitions: (before, after).
        start: (tags,).
        end: (tags,).
        mask: (time, batch) bool.
    """

    emissions: Array
    transitions: Array
    start: Array
    end: Array
    mask: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, chain: Chain) -> "_Scores":
        # (batch, time, ...) -> (time, batch, ...): a step's scores lie side by side.
        mask = chain.mask.t().numpy()
        emissions = chain.emissions.detach().transpose(0, 1).numpy().astype(np.float64)
        if not mask.all():  # padding must not matter, not even a NaN
            emissions[~mask] = 0
        transitions, start, end = (
            part.detach().double().numpy() for part in (chain.transitions, chain.start, chain.end)
        )
        return cls(emissions, transitions, start, end, mask)

    def spread(self) -> float:
        """Largest difference of two tags' alphas that one step can make, in nats; may be infinite.

        Where every step is allowed, the alphas of two tags differ by no more than the spread of one
        step. Where some are forbidden, tags without a common past can drift apart without limit.
        """
        if np.isinf(self.transitions).any():
            return math.inf  # not safe: the caller takes sums of exponentials
        # (time, batch, tags) -> (time, batch) -> the largest
        emitted = (self.emissions.max(2) - self.emissions.min(2)).max()
        steps = sum(_spread(part) for part in (self.transitions, self.start, self.end))
        spread = float(emitted + steps)
        # A NaN is unequal to itself. It takes the exact computation, which returns it.
        return spread if spread == spread else math.inf


def _spread(scores: Array) -> float:
    """Largest minus smallest, forbidden ones left out."""
    allowed = scores[scores != -np.inf]
    return float(allowed.max() - allowed.min()) if allowed.size else 0.0


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The forward pass in scaled probabilities, time first.

    Attributes:
        every: alpha is scaled once in so many steps, at the first one and at each multiple.
        alpha: (time, batch, tags); where it is scaled each row has sum 1.
        emitted: (time, batch, tags) exp(emission - the token's highest).
        scale: (time, batch) what alpha was divided by; 1 on padding and where it was not.
        stepped: (tags, tags) exp(transition - the highest).
        ended: (tags,) exp(end - the highest).
        log_partition: (batch,).
    """

    every: int
    alpha: Array
    emitted: Array
    scale: Array
    stepped: Array
    ended: Array
    log_partition: Array


def _scaled_forward(scores: _Scores, spread: float) -> _Scaled | None:
    """The forward pass; None if a sentence has no path whose probability float64 can hold."""
    mask = scores.mask
    time, batch, tags = scores.emissions.shape
    whole = [bool(here.all()) for here in mask]  # for each time, whether no sentence has ended
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        # The largest score of each kind is taken out before the exponential, so that none
        # overflows, and comes back in `log_total`.
        highest = scores.emissions.max(2)  # (time, batch)
        # (time, batch, tags), (before, after) and (tags,), each with 1 as its largest value.
        emitted = np.exp(scores.emissions - highest[:, :, None])
        stepped = np.exp(scores.transitions - scores.transitions.max())
        ended = np.exp(scores.end - scores.end.max())
        # Between two scalings alpha shrinks by at most exp(-spread) a step.
        every = max(1, min(_RESCALE, int(_SPREAD_BETWEEN / max(1.0, spread))))
        alpha = np.empty((time, batch, tags))
        scale = np.ones((time, batch))
        # alpha[0] = start * emitted (Rabiner 1989, eq. 19)
        np.multiply(np.exp(scores.start - scores.start.max()), emitted[0], out=alpha[0])
        for t in range(time):
            now = alpha[t]
            if t:
                # (batch, before) @ (before, after) -> (batch, after): eq. 20 for all sentences
                np.matmul(alpha[t - 1], stepped, out=now)
                now *= emitted[t]
            if t % every == 0:
                # (batch,) the scale of section V.A; eq. 103 sums its logarithms.
                total = now.sum(1)
                now /= total[:, None]
                scale[t] = total
            if not whole[t]:  # most steps of sorted batches are whole, and need no masking
                # Of sentences that have ended alpha stays as it was, and nothing is scaled.
                over = ~mask[t]
                scale[t, over] = 1
                now[over] = alpha[t - 1, over]
        # (batch, tags) @ (tags,) -> (batch,): eq. 21 with the end's scores
        last = alpha[-1] @ ended
        highest[~mask] = 0
        # (time, batch) summed over time: (batch,)
        log_total = np.log(scale).sum(0) + highest.sum(0) + np.log(last)
        log_total += scores.start.max() + scores.end.max()
        log_total += (mask.sum(0) - 1) * scores.transitions.max()
        # Where forbidden steps end all likely paths, the rest is too small to divide by.
        far = min(scale.min(), last.min()) < math.exp(-_SAFE_SPREAD)
    if far or not np.isfinite(log_total).all():
        return None
    return _Scaled(every, alpha, emitted, scale, stepped, ended, log_total)


def _scaled_counts(scores: _Scores, scaled: _Scaled, grad: Array) -> tuple[Array, ...]:
    """Expected counts of emissions, steps, starts and ends, each sentence's times its `grad`."""
    mask = scores.mask
    time, batch, tags = scaled.alpha.shape
    whole = [bool(here.all()) for here in mask]
    beta = np.empty((time, batch, tags))
    # At its last token a sentence's beta is `ended`, scaled so that alpha @ beta is 1.
    # (tags,) / (batch, 1) -> (batch, tags)
    beta[-1] = scaled.ended / (scaled.alpha[-1] @ scaled.ended)[:, None]
    # emitted * beta / scale, from which both beta and the counts of steps are computed
    incoming = np.zeros((time, batch, tags))
    backwards = np.ascontiguousarray(scaled.stepped.T)
    for t in range(time - 1, 0, -1):
        arriving = np.multiply(scaled.emitted[t], beta[t], out=incoming[t])
        if t % scaled.every == 0:
            # With alpha's own scale, so that alpha * beta is a probability at every step.
            arriving /= scaled.scale[t][:, None]
        # (batch, after) @ (after, before) -> (batch, before): eq. 25
        np.matmul(arriving, backwards, out=beta[t - 1])
        if not whole[t]:
            over = ~mask[t]  # sentences that have ended: no step, and beta stays as it was
            arriving[over] = 0
            beta[t - 1, over] = beta[t, over]
    # Rabiner's gamma, eq. 27, (time, batch, tags), times each sentence's gradient.
    unary = scaled.alpha * beta
    unary *= grad[:, None]
    # Rabiner's xi, eq. 37, summed over time and sentences: stepped[i, j] * sum of alpha[t, i] *
    # incoming[t + 1, j], which is one product (tags, time x batch) @ (time x batch, tags).
    weighted = (scaled.alpha[:-1] * grad[:, None]).reshape(-1, tags)
    steps = scaled.stepped * (weighted.T @ incoming[1:].reshape(-1, tags))
    # On padding alpha and beta stay as they were, so the last row holds each sentence's last token.
    starts, ends = unary[0].sum(0), unary[-1].sum(0)  # (batch, tags) -> (tags,)
    unary[~mask] = 0
    # (time, batch, tags) -> (batch, time, tags), as emissions are
    return np.ascontiguousarray(unary.transpose(1, 0, 2)), steps, starts, ends


def _log_counts(chain: Chain, messages: Messages, grad: Tensor) -> tuple[Tensor, ...]:
    """As `_scaled_counts`, from messages in logarithms."""
    # (batch,) -> (batch, 1, 1), beside (batch, time, tags) and (batch, before, after)
    log_z = messages.log_partition[:, None, None]
    weight = grad[:, None, None]
    # Rabiner's eq. 27 in logarithms, (batch, time, tags)
    unary = (messages.alpha + messages.beta - log_z).exp() * weight
    steps = torch.zeros_like(chain.transitions)
    transitions = chain.transitions.clamp(min=NEVER)
    for t in range(1, chain.mask.shape[1]):
        # (batch, before, 1) + (before, after) + (batch, 1, after) -> (batch, before, after)
        arriving = chain.emissions[:, t] + messages.beta[:, t]
        before = messages.alpha[:, t - 1].unsqueeze(2)
        log_probs = before + transitions + arriving.unsqueeze(1) - log_z
        here = chain.mask[:, t, None, None]
        # Eq. 37, summed over sentences: (batch, before, after) -> (before, after)
        steps += (log_probs.exp() * weight).masked_fill(~here, 0).sum(0)
    # On padding alpha and beta stay as they were, so the last column holds each sentence's last
    # token.
    starts, ends = unary[:, 0].sum(0), unary[:, -1].sum(0)
    return zero_padding(unary, chain.mask), steps, starts, ends


def tree_partition(chain: Chain) -> Tensor:
    """As `log_partition`, by products of matrices in pairs, with an autograd graph of that depth.

    Scores within one sentence must not differ by more than float64 can hold, about 700 nats; paths
    that are further below the best one count as forbidden.
    """
    chain.check()
    emissions = zero_padding(chain.emissions.double(), chain.mask)
    transitions, start, end = (
        part.double().clamp(min=NEVER) for part in (chain.transitions, chain.start, chain.end)
    )
    batch, time, tags = emissions.shape
    begun = start + emissions[:, 0]  # (batch, tags), alpha at the first token
    if time > 1:
        # (before, after) + (batch, time - 1, 1, after) -> (batch, time - 1, before, after), a
        # matrix for each step. On padding it is the identity: log 1 on the diagonal, else log 0.
        steps = transitions + emissions[:, 1:].unsqueeze(2)
        still = torch.full_like(transitions, NEVER).fill_diagonal_(0)
        steps = torch.where(chain.mask[:, 1:, None, None], steps, still)
        while steps.shape[1] > 1:
            if steps.shape[1] % 2:  # an odd number: the identity is the last one's partner
                last = still.expand(batch, 1, tags, tags)
                steps = torch.cat((steps, last), dim=1)
            # (batch, pairs, before, between) x (batch, pairs, between, after): halves the steps
            steps = _log_product(steps[:, 0::2], steps[:, 1::2])
        # (batch, before, 1) + (batch, before, after) -> sum out `before`: (batch, after)
        begun = torch.logsumexp(begun.unsqueeze(2) + steps[:, 0], dim=1)
    # (batch, tags) + (tags,), then sum out the last tag -> (batch,)
    return torch.logsumexp(begun + end, dim=1).to(chain.emissions.dtype)


def _log_product(left: Tensor, right: Tensor) -> Tensor:
    """Log of the product of matrices whose logs are given, the largest of each row taken out."""
    # (batch, pairs, before, 1) and (batch, pairs, 1, 1): the largest of each row on the left, of
    # each whole matrix on the right, since the product sums over its rows. Detached: what is taken
    # out is put back, so that it has no gradient of its own.
    of_left = left.detach().amax(3, keepdim=True)
    of_right = right.detach().amax((2, 3), keepdim=True)
    # logsumexp over `between` as one matrix product: exp, multiply, log (Rush 2020).
    product = torch.matmul((left - of_left).exp(), (right - of_right).exp())
    # The logarithm of 0 would be minus infinity, and its gradient NaN.
    return product.clamp(min=_NOTHING).log() + of_left + of_right
