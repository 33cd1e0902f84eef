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

from tagkit.nn.softmax.layer import UnitSoftmax


class HaltingSoftmax(UnitSoftmax):
    """The next unit or the end, which as a target is the unit `end`.

    A log probability of a target is that of the decision to halt or not, and of the unit if not.
    """

    def __init__(self, inner: UnitSoftmax, *, hidden: int, end: int) -> None:
        """`inner` predicts all units but `end`, in their order."""
        super().__init__()
        self.units = inner.units + 1
        self.end = end
        self.inner = inner
        self.halt = nn.Linear(hidden, 1)

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`; its rows of `table` are of all units, `end` too."""
        goes_on = targets != self.end
        total, _ = self.inner.loss(states[goes_on], self._others(targets[goes_on]), self._of(table))
        decided = self._decision(states, ~goes_on).sum()
        return total - decided, torch.tensor(len(targets))

    def log_probs(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`, given that there is a next unit: minus infinity at `end`.

        With `halt_probs` they are the whole of the distribution.
        """
        others = self.inner.log_probs(states, self._of(table))
        never = others.new_full((len(states), 1), -torch.inf)
        return torch.cat((others[:, : self.end], never, others[:, self.end :]), dim=1)

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        halts = targets == self.end
        # Any unit will do where the sequence halts.
        others = self._others(targets.masked_fill(halts, 0 if self.end else 1))
        of_units = self.inner.log_prob_of(states, others, self._of(table))
        return self._decision(states, halts) + of_units.masked_fill(halts, 0)

    def halt_probs(self, states: Tensor) -> Tensor:
        """(tokens, hidden) -> (tokens,) float64, the probability of halting at each state."""
        scores: Tensor = self.halt(states)
        # Of 32 bits, a probability near 1 would leave none to going on.
        return torch.sigmoid(scores.squeeze(1).double())

    def _decision(self, states: Tensor, halts: Tensor) -> Tensor:
        """(tokens,) log probability of halting or not, as `halts` says."""
        scores = self.halt(states).squeeze(1)
        return nn.functional.logsigmoid(torch.where(halts, scores, -scores))

    def _others(self, targets: Tensor) -> Tensor:
        """Numbers among all units but `end`."""
        return targets - (targets > self.end).to(targets.dtype)

    def _of(self, table: Tensor | None) -> Tensor | None:
        """The rows of `table` of all units but `end`."""
        if table is None or self.end == len(table) - 1:  # a part of it, which is not copied
            return None if table is None else table[:-1]
        return torch.cat((table[: self.end], table[self.end + 1 :]))
