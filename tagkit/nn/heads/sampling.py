"""Scheduled sampling: how often training reads a predicted tag in place of the gold one.

Trained with gold tags alone, a network that reads its own tags never sees a wrong one, and in
prediction one error leads to the next (exposure bias: Ranzato et al. 2016; Goodfellow, Bengio and
Courville, section 10.2.1, on the disadvantage of strict teacher forcing). Bengio et al. 2015,
section 2.4, feed the network's own tag with a probability that grows over the steps of training:

    constant          rate
    linear            rate x min(1, i / n)
    inverse-sigmoid   rate x (1 - k / (k + exp(i / k)))

with i the step of the optimizer and n the option `steps`. k is such that half of the rate is
reached at step n: exp(n / k) = k, which is n = k ln k. Their epsilon is one minus this probability.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass


def _none(rate: float, steps: int, step: int) -> float:
    return 0.0


def _constant(rate: float, steps: int, step: int) -> float:
    return rate


def _linear(rate: float, steps: int, step: int) -> float:
    return rate * min(1.0, step / steps)


def _inverse_sigmoid(rate: float, steps: int, step: int) -> float:
    # 1 - k / (k + exp(i / k)) = sigmoid(i / k - ln k), and ln k = n / k
    k = _k_of(steps)
    return rate / (1 + math.exp(min((steps - step) / k, 700.0)))


def _k_of(steps: int) -> float:
    """The k with k ln k = steps, by Newton's method."""
    k = float(steps) + 1  # above the root, from where the steps of a convex function only fall
    for _ in range(50):
        # f(k) = k ln k - n, f'(k) = ln k + 1
        k -= (k * math.log(k) - steps) / (math.log(k) + 1)
    return k


# Of each schedule its probability, given `rate` and `steps` of a `Sampling`, at a step.
SAMPLINGS: dict[str, Callable[[float, int, int], float]] = {
    "none": _none,
    "constant": _constant,
    "linear": _linear,
    "inverse-sigmoid": _inverse_sigmoid,
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """A schedule of probabilities.

    Attributes:
        kind: one of `SAMPLINGS`.
        rate: the largest probability.
        steps: of the optimizer, in which linear reaches the rate and inverse-sigmoid half of it.
    """

    kind: str
    rate: float
    steps: int

    def probability(self, step: int) -> float:
        """Probability, at a step, that a tag that is read is a predicted one."""
        if self.kind not in SAMPLINGS:
            raise ValueError(f"sampling {self.kind!r}: expected one of {', '.join(SAMPLINGS)}")
        return SAMPLINGS[self.kind](self.rate, self.steps, step)
