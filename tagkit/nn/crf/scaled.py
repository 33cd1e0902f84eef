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
class Scores:
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
    mask: Flags

    @classmethod
    def of(cls, chain: Chain) -> "Scores":
        """The scores of a chain on the CPU."""
        # (batch, time, ...) -> (time, batch, ...): a step's scores lie side by side.
        mask = chain.mask.t().numpy()
        emissions = chain.emissions.detach().transpose(0, 1).numpy().astype(np.float64, order="C")
        if not mask.all():  # padding must not matter, not even a NaN
            emissions[~mask] = 0
        transitions, start, end = (
            part.detach().double().numpy() for part in (chain.transitions, chain.start, chain.end)
        )
        return cls(emissions, transitions, start, end, mask)

    def factors(self) -> tuple[Array, Array, Array]:
        """Emissions as factors.

        Returns:
            (time, batch, tags) exp(emission - the token's highest), so that none overflows,
            (time, batch) the highest, and
            (batch,) the largest difference of two tags at one token, in nats; NaN or infinite where
            a score is.
        """
        # Along the last axis, which is short, torch takes a quarter to a half of NumPy's time.
        emissions = torch.from_numpy(self.emissions)
        highest = emissions.amax(2)
        emitted = emissions - highest.unsqueeze(2)  # at most 0, so the lowest is the spread
        # (time, batch, tags) -> (batch, tags) -> (batch,): both at once takes six times as long
        spreads = -emitted.numpy().min(0).min(1)
        return emitted.exp_().numpy(), highest.numpy(), spreads

    def steps(self) -> "StepFactors":
        """Transitions, start and end as factors."""
        parts = self.transitions, self.start, self.end
        highest = [float(part.max()) for part in parts]
        lowest = [float(part.min()) for part in parts]
        constrained = -math.inf in lowest
        if constrained:
            # Of the allowed ones. Where there are none the spread is NaN, which is not safe.
            lowest = [
                float(part.min(where=part != -np.inf, initial=high))
                for part, high in zip(parts, highest, strict=True)
            ]
        spread = sum(high - low for high, low in zip(highest, lowest, strict=True))
        stepped, started, ended = (
            np.exp(part - high) for part, high in zip(parts, highest, strict=True)
        )
        return StepFactors(stepped, started, ended, tuple(highest), spread, constrained)


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


def lost(probs: Array) -> Flags:
    """(batch,) whether one of (time, batch, tags) is positive and so small that a step may lose it.

    Zeros are those of forbidden steps, and exact, as long as this has never been so.
    """
    return np.asarray(((probs < _SMALLEST) & (probs > 0)).any((0, 2)))


@dataclass(frozen=True, slots=True)
class Scaled:
    """The forward pass in scaled probabilities, time first.

    Attributes:
        every: alpha is scaled once in so many steps, at the first one and at each multiple.
        mask: (time, batch) bool.
        alpha: (time, batch, tags); where it is scaled each row has sum 1.
        emitted: (time, batch, tags) exp(emission - the token's highest); where steps are forbidden,
            0 for tags that no path reaches.
        highest: (time, batch) the highest emission, 0 on padding.
        scale: (time, batch) what alpha was divided by; 1 on padding and where it was not.
        steps: transitions, start and end as factors.
        log_partition: (batch,).
        safe: (batch,) whether the numbers of a sentence are right; the others have no meaning.
    """

    every: int
    mask: Flags
    alpha: Array
    emitted: Array
    highest: Array
    scale: Array
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
            highest=self.highest[:, chosen],
            scale=self.scale[:, chosen],
            log_partition=self.log_partition[chosen],
            safe=self.safe[chosen],
        )


def scaled_forward(scores: Scores) -> Scaled | None:
    """The forward pass; None if it is right for none of the sentences."""
    mask = scores.mask
    time, batch, tags = scores.emissions.shape
    # For each time, whether no sentence has ended.
    whole: list[bool] = np.all(mask, axis=1).tolist()
    with np.errstate(all="ignore"):  # what is not finite is found at the end
        # The largest score of each kind is taken out before the exponential, so that none
        # overflows, and comes back in `log_total`.
        # (time, batch, tags), (before, after) and (tags,), each with 1 as its largest value.
        emitted, highest, spreads = scores.factors()
        steps = scores.steps()
        spreads += steps.spread
        safe = spreads < SAFE_SPREAD  # a NaN is not
        if not safe.any():
            return None
        # Between two scalings alpha shrinks by at most exp(-spread) a step.
        every = max(1, min(_RESCALE, int(_SPREAD_BETWEEN / max(1.0, spreads[safe].max()))))
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
        last = alpha[-1] @ steps.ended
        if not all(whole):
            highest[~mask] = 0
        # (time, batch) summed over time: (batch,). What is not scaled has a scale of 1.
        log_total = np.log(scale[::every]).sum(0) + highest.sum(0) + np.log(last)
        step, start, end = steps.highest
        log_total += start + end + (mask.sum(0) - 1) * step
        # Where forbidden steps end all likely paths, the rest is too small to divide by.
        safe &= np.minimum(scale.min(0), last) >= math.exp(-SAFE_SPREAD)
        safe &= np.isfinite(log_total)
        if steps.constrained:
            safe &= ~lost(alpha)
            # The betas of tags that no path reaches are bounded by nothing: they count for nothing.
            emitted[alpha == 0] = 0
    return Scaled(every, mask, alpha, emitted, highest, scale, steps, log_total, safe)


def scaled_backward(scaled: Scaled) -> tuple[Array, Array]:
    """Betas, and emitted * beta / scale, from which betas and expected counts are computed.

    Both (time, batch, tags), with alpha's own scale, so that alpha * beta is a probability.
    """
    mask = scaled.mask
    time, batch, tags = scaled.alpha.shape
    whole: list[bool] = np.all(mask, axis=1).tolist()
    beta = np.empty((time, batch, tags))
    # At its last token a sentence's beta is `ended`, scaled so that alpha @ beta is 1.
    # (tags,) / (batch, 1) -> (batch, tags)
    beta[-1] = scaled.steps.ended / (scaled.alpha[-1] @ scaled.steps.ended)[:, None]
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
        if not whole[t]:
            over = ~mask[t]  # sentences that have ended: no step, and beta stays as it was
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
