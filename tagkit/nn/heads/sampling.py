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

The last steps of a sequence may read drawn units alone, whatever the schedule, so that the network
learns to predict "a number of steps in the future" from what it has written itself (Goodfellow,
Bengio and Courville, section 10.2.1).
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

State = TypeVar("State")


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
        free_running: last steps of a sequence that read drawn units alone.
    """

    kind: str
    rate: float
    steps: int
    free_running: int = 0

    def probability(self, step: int) -> float:
        """Probability, at a step, that a tag that is read is a predicted one."""
        if self.kind not in SAMPLINGS:
            raise ValueError(f"sampling {self.kind!r}: expected one of {', '.join(SAMPLINGS)}")
        return SAMPLINGS[self.kind](self.rate, self.steps, step)

    def places(self, step: int, real: Tensor) -> Tensor | None:
        """Where a unit is read that was drawn, (rows, steps) bool; None if nowhere.

        Args:
            step: of the optimizer.
            real: (rows, steps) bool, False on padding.
        """
        probability = self.probability(step)
        if not probability and not self.free_running:
            return None
        drawn = torch.rand(real.shape, device=real.device) < probability
        left = real.sum(1, keepdim=True) - torch.arange(real.shape[1], device=real.device)
        drawn |= left <= self.free_running
        drawn[:, 0] = False  # what comes before the first unit is known
        return drawn & real


@torch.no_grad()
def with_drawn(
    gold: Tensor,
    places: Tensor,
    read: Callable[[Tensor, State], tuple[Tensor, State]],
    state: State,
) -> Tensor:
    """Units to be read, of which some are drawn after those before them.

    No gradient goes through a draw, so that the loss is of a second reading, of all steps at once.

    Args:
        gold: (rows, steps) units before each step.
        places: (rows, steps) bool, True of those to be drawn.
        read: (rows,) units and a state -> scores (rows, units) of what follows, and the state.
        state: before the first step.
    """
    ids = gold.clone()
    steps = places.any(0).nonzero()
    for step in range(int(steps.max()) if len(steps) else 0):
        scores, state = read(ids[:, step], state)
        # The largest of log p + g is a draw from p if each g is -log of an exponential number:
        # torch.multinomial would end a run whose loss is not finite.
        drawn = (scores + torch.empty_like(scores).exponential_().log_().neg_()).argmax(1)
        ids[:, step + 1] = torch.where(places[:, step + 1], drawn, ids[:, step + 1])
    return ids


@contextmanager
def as_in_prediction(*modules: nn.Module) -> Iterator[None]:
    """Networks without dropout, for what they would write."""
    were = [each.training for each in modules]
    try:
        for each in modules:
            each.eval()
        yield
    finally:
        for each, was in zip(modules, were, strict=True):
            each.train(was)
