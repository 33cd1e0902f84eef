"""Forward-backward with scaled products (Rabiner 1989, section V.A), in float64 and in NumPy.

NumPy's calls cost a quarter of torch's: at the usual sizes the cost is that of the calls, and with
many tags that of one product of matrices for each token.

A forbidden step is an exact zero among the factors. Where steps are forbidden, two tags without a
common past can drift apart without limit, and a number that is too small for float64 would become
a zero too. Each sentence is checked for such numbers; what is not `safe` is left to `log_space.py`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from tagkit.nn.crf.chain import Chain

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Largest difference of two tags that one step may make, in nats. Float64 holds exp(-700) of the
# largest number; half of it is left to what came before.
SAFE_SPREAD = 300.0
# A positive number below this may become a zero by the next step, which multiplies it by
# exp(-SAFE_SPREAD) at the least: exp(-650) is still a float64.
_SMALLEST = math.exp(-350.0)
# Products are scaled once in so many steps, and before numbers can shrink by more than exp(-200).
_RESCALE = 8
_SPREAD_BETWEEN = 200.0


@dataclass(frozen=True, slots=True)
class StepFactors:
    """Scores of steps as factors, each kind with 1 as its largest, so that none overflows.

    Attributes:
        stepped: (before, after) exp(transition - the highest).
        started: (tags,) exp(start - the highest).
        ended: (tags,) exp(end - the highest).
        highest: the highest of each kind, in this order.
        spread: the largest difference of two tags that allowed steps can make at one token, in
            nats; NaN or infinite where a score is.
        constrained: whether a step is forbidden.
    """

    stepped: Array
    started: Array
    ended: Array
    highest: tuple[float, ...]
    spread: float
    constrained: bool


@dataclass(frozen=True, slots=True)
class EmissionFactors:
    """Emissions as factors, each token's with 1 as its largest.

    Attributes:
        emitted: (time, batch, tags) exp(emission - the token's highest).
        highest: (time, batch) the highest.
        spread: the largest difference of two tags at one token, steps included, in nats, of the
            sentences that are safe.
        safe: (batch,) whether all such differences of a sentence are below `SAFE_SPREAD`.
    """

    emitted: Array
    highest: Array
    spread: float
    safe: Flags


@dataclass(frozen=True, slots=True)
class Scores:
    """A chain in NumPy, time first.

    Attributes:
        emissions: (time, batch, tags), 0 on padding.
        by_step: (tags * tags + 2 * tags,) transitions, (before, after), then start, then end: side
            by side, as they are few and each call for each kind would cost more than its work.
        mask: (time, batch) bool.
        whole: for each time, whether no sentence has ended.
    """

    emissions: Array
    by_step: Array
    mask: Flags
    whole: list[bool]

    @classmethod
    def of(cls, chain: Chain) -> "Scores":
        """The scores of a chain on the CPU."""
        # (batch, time, ...) -> (time, batch, ...): a step's scores lie side by side.
        mask = chain.mask.t().numpy()
        whole: list[bool] = np.all(mask, axis=1).tolist()
        emissions = chain.emissions.detach().transpose(0, 1).numpy().astype(np.float64, order="C")
        if not all(whole):  # padding must not matter, not even a NaN
            emissions[~mask] = 0
        by_step = np.concatenate(
            [part.detach().numpy().ravel() for part in (chain.transitions, chain.start, chain.end)],
            dtype=np.float64,
        )
        return cls(emissions, by_step, mask, whole)

    def steps(self) -> StepFactors:
        """Transitions, start and end as factors."""
        tags = self.emissions.shape[2]
        sizes = tags * tags, tags, tags
        begins = 0, sizes[0], sizes[0] + tags
        scores = self.by_step
        highest = np.maximum.reduceat(scores, begins)
        lowest = np.minimum.reduceat(scores, begins)
        constrained = -math.inf in lowest.tolist()  # of an array it would take ten times as long
        if constrained:
            # Of the allowed ones. Where there are none the spread is NaN, which is not safe.
            allowed = np.where(scores == -np.inf, np.repeat(highest, sizes), scores)
            lowest = np.minimum.reduceat(allowed, begins)
        factors = np.exp(scores - np.repeat(highest, sizes))
        return StepFactors(
            factors[: begins[1]].reshape(tags, tags),
            factors[begins[1] : begins[2]],
            factors[begins[2] :],
            tuple(highest.tolist()),
            sum(highest.tolist()) - sum(lowest.tolist()),
            constrained,
        )

    def factors(self, steps: StepFactors) -> EmissionFactors:
        """Emissions as factors, and where they and `steps` are safe to multiply."""
        # Along the last axis, which is short, torch takes a quarter to a half of NumPy's time.
        emissions = torch.from_numpy(self.emissions)
        highest = emissions.amax(2)
        emitted = emissions - highest.unsqueeze(2)  # at most 0, so the lowest is the spread
        spread = steps.spread - emitted.amin().item()
        safe = np.ones(len(self.mask[0]), dtype=np.bool_)
        if not spread < SAFE_SPREAD:  # sentence by sentence, as a NaN of one is not another's
            # (time, batch, tags) -> (batch, tags) -> (batch,): both at once takes six times as long
            spreads = steps.spread - emitted.numpy().min(0).min(1)
            safe = spreads < SAFE_SPREAD
            spread = float(spreads[safe].max(initial=0))
        return EmissionFactors(emitted.exp_().numpy(), highest.numpy(), spread, safe)


def underflows(probs: Array) -> Flags:
    """(batch,) whether one of (time, batch, tags) is positive and so small that a step may lose it.

    Zeros are those of forbidden steps, and exact, as long as this has never been so.
    """
    if np.count_nonzero(probs > 0) == np.count_nonzero(probs >= _SMALLEST):  # as almost always
        return np.zeros(probs.shape[1], dtype=np.bool_)
    return np.asarray(((probs < _SMALLEST) & (probs > 0)).any((0, 2)))


@dataclass(frozen=True, slots=True)
class Scaled:
    """The forward pass in scaled probabilities, time first.

    Attributes:
        every: alpha is scaled once in so many steps, at the first one and at each multiple.
        mask: (time, batch) bool.
        whole: for each time, whether no sentence has ended.
        alpha: (time, batch, tags); where it is scaled each row has sum 1.
        emitted: (time, batch, tags) exp(emission - the token's highest); where steps are forbidden,
            0 for tags that no path reaches.
        scale: (time, batch) what alpha was divided by; 1 on padding and where it was not.
        last: (batch,) sum of the last alpha with the factors of ends: what betas are divided by.
        steps: transitions, start and end as factors.
        log_partition: (batch,).
        safe: (batch,) whether the numbers of a sentence are right; the others have no meaning.
    """

    every: int
    mask: Flags
    whole: list[bool]
    alpha: Array
    emitted: Array
    scale: Array
    last: Array
    steps: StepFactors
    log_partition: Array
    safe: Flags

    def rows(self, chosen: Flags) -> "Scaled":
        """Some of the sentences."""
        return replace(
            self,
            mask=self.mask[:, chosen],
            alpha=self.alpha[:, chosen],
            emitted=self.emitted[:, chosen],
            scale=self.scale[:, chosen],
            last=self.last[chosen],
            log_partition=self.log_partition[chosen],
            safe=self.safe[chosen],
        )


def scaled_forward(scores: Scores) -> Scaled | None:
    """The forward pass; None if it is right for none of the sentences."""
    mask, whole = scores.mask, scores.whole
    time, batch, tags = scores.emissions.shape
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        # The largest score of each kind is taken out before the exponential, so that none
        # overflows, and comes back in `log_total`.
        # (time, batch, tags), (before, after) and (tags,), each with 1 as its largest value.
        steps = scores.steps()
        factors = scores.factors(steps)
        emitted, highest, safe = factors.emitted, factors.highest, factors.safe
        if not safe.any():
            return None
        # Between two scalings alpha shrinks by at most exp(-spread) a step.
        every = max(1, min(_RESCALE, int(_SPREAD_BETWEEN / max(1.0, factors.spread))))
        alpha = np.empty((time, batch, tags))
        scale = np.ones((time, batch))
        # alpha[0] = start * emitted (Rabiner 1989, eq. 19)
        np.multiply(steps.started, emitted[0], out=alpha[0])
        for t in range(time):
            now = alpha[t]
            if t:
                # (batch, before) @ (before, after) -> (batch, after): eq. 20 for all sentences
                alpha[t - 1].dot(steps.stepped, now)  # half of the time of a call of matmul
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
        last = alpha[-1].dot(steps.ended)
        if not all(whole):
            highest[~mask] = 0
        # What is not scaled has a scale of 1. -> (scalings + 1, batch)
        divisors = np.concatenate((scale[::every], last[None]))
        # Summed over time: (batch,).
        log_total = np.log(divisors).sum(0) + highest.sum(0)
        step, start, end = steps.highest
        log_total += start + end + (mask.sum(0) - 1) * step
        # Where forbidden steps end all likely paths, the rest is too small to divide by.
        safe &= divisors.min(0) >= math.exp(-SAFE_SPREAD)
        safe &= np.isfinite(log_total)
        if steps.constrained:
            safe &= ~underflows(alpha)
            # The betas of tags that no path reaches are bounded by nothing: they count for nothing.
            emitted *= alpha != 0
    return Scaled(every, mask, whole, alpha, emitted, scale, last, steps, log_total, safe)


def scaled_backward(scaled: Scaled) -> tuple[Array, Array]:
    """Betas, and emitted * beta / scale, from which betas and expected counts are computed.

    Both (time, batch, tags), with alpha's own scale, so that alpha * beta is a probability.
    """
    time, batch, tags = scaled.alpha.shape
    beta = np.empty((time, batch, tags))
    # At its last token a sentence's beta is `ended`, scaled so that alpha @ beta is 1.
    # (tags,) / (batch, 1) -> (batch, tags)
    np.divide(scaled.steps.ended, scaled.last[:, None], out=beta[-1])
    incoming = np.empty((time, batch, tags))
    incoming[0] = 0  # no step leads to the first token
    backwards = np.ascontiguousarray(scaled.steps.stepped.T)
    for t in range(time - 1, 0, -1):
        arriving = np.multiply(scaled.emitted[t], beta[t], out=incoming[t])
        if t % scaled.every == 0:
            # With alpha's own scale, so that alpha * beta is a probability at every step.
            arriving /= scaled.scale[t][:, None]
        # (batch, after) @ (after, before) -> (batch, before): eq. 25
        arriving.dot(backwards, beta[t - 1])
        if not scaled.whole[t]:
            over = ~scaled.mask[t]  # sentences that have ended: no step, and beta stays as it was
            arriving[over] = 0
            beta[t - 1, over] = beta[t, over]
    return beta, incoming


def scaled_counts(scaled: Scaled, grad: Array) -> tuple[Array, ...]:
    """Expected counts of emissions, steps, starts and ends, each sentence's times its `grad`."""
    tags = scaled.alpha.shape[2]
    beta, incoming = scaled_backward(scaled)
    # Rabiner's gamma, eq. 27, (time, batch, tags), times each sentence's gradient.
    unary = scaled.alpha * beta
    unary *= grad[:, None]
    # Rabiner's xi, eq. 37, summed over time and sentences: stepped[i, j] * sum of alpha[t, i] *
    # incoming[t + 1, j], which is one product (tags, time x batch) @ (time x batch, tags).
    weighted = (scaled.alpha[:-1] * grad[:, None]).reshape(-1, tags)
    steps = scaled.steps.stepped * (weighted.T @ incoming[1:].reshape(-1, tags))
    # On padding alpha and beta stay as they were, so the last row holds each sentence's last token.
    starts, ends = unary[0].sum(0), unary[-1].sum(0)  # (batch, tags) -> (tags,)
    unary[~scaled.mask] = 0
    # (time, batch, tags) -> (batch, time, tags), as emissions are
    return np.ascontiguousarray(unary.transpose(1, 0, 2)), steps, starts, ends
