"""A Bernoulli variable beside the softmax that says whether a sequence ends.

    p(x[1..n]) = q[n] x product over t of (1 - q[t-1]) p(x[t] | h[t-1])
    q[t] = sigmoid(w h[t] + b)

(Goodfellow, Bengio and Courville, section 10.2.3.) In place of a unit for the end, which the
softmax would have to compare with all others, a unit of its own reads each state: whether the
sequence halts after the unit just read. No unit of the softmax means the end then, so that the
probabilities of all sequences sum to 1.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.softmax.endless import EndlessSoftmax
from tagkit.nn.softmax.layer import UnitSoftmax


class HaltingSoftmax(EndlessSoftmax):
    """The next unit or the end, which as a target is the unit `end`.

    A log probability of a target is that of the decision to halt or not, and of the unit if not.
    `log_probs` are given that there is a next unit; with `halt_probs` they are the whole of the
    distribution.
    """

    def __init__(self, inner: UnitSoftmax, *, hidden: int, end: int) -> None:
        """`inner` predicts all units but `end`, in their order."""
        super().__init__(inner, end=end)
        self.halt = nn.Linear(hidden, 1)

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`; its rows of `table` are of all units, `end` too."""
        total, count = super().loss(states, targets, table)
        return total - self._decision(states, targets == self.end).sum(), count

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        decided = self._decision(states, targets == self.end)
        return decided + super().log_prob_of(states, targets, table)

    def halt_probs(self, states: Tensor) -> Tensor:
        """(tokens, hidden) -> (tokens,) float64, the probability of halting at each state."""
        scores: Tensor = self.halt(states)
        # Of 32 bits, a probability near 1 would leave none to going on.
        return torch.sigmoid(scores.squeeze(1).double())

    def _decision(self, states: Tensor, halts: Tensor) -> Tensor:
        """(tokens,) log probability of halting or not, as `halts` says."""
        scores = self.halt(states).squeeze(1)
        return nn.functional.logsigmoid(torch.where(halts, scores, -scores))
