"""A softmax over all units but the end of a line, on which something else decides."""

import torch
from torch import Tensor

from tagkit.nn.softmax.layer import UnitSoftmax


class EndlessSoftmax(UnitSoftmax):
    """The next unit, given that there is one; as a target the unit `end` has probability 1."""

    def __init__(self, inner: UnitSoftmax, *, end: int) -> None:
        """`inner` predicts all units but `end`, in their order."""
        super().__init__()
        self.units = inner.units + 1
        self.end = end
        self.inner = inner

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`; its rows of `table` are of all units, `end` too."""
        goes_on = targets != self.end
        total, _ = self.inner.loss(states[goes_on], self._others(targets[goes_on]), self._of(table))
        return total, torch.tensor(len(targets))

    def log_probs(self, states: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`: minus infinity at `end`."""
        others = self.inner.log_probs(states, self._of(table))
        never = others.new_full((len(states), 1), -torch.inf)
        return torch.cat((others[:, : self.end], never, others[:, self.end :]), dim=1)

    def log_prob_of(self, states: Tensor, targets: Tensor, table: Tensor | None = None) -> Tensor:
        """As described in `UnitSoftmax`."""
        ends = targets == self.end
        # Any unit will do at an end.
        others = self._others(targets.masked_fill(ends, 0 if self.end else 1))
        of_units = self.inner.log_prob_of(states, others, self._of(table))
        return of_units.masked_fill(ends, 0)

    def _others(self, targets: Tensor) -> Tensor:
        """Numbers among all units but `end`."""
        return targets - (targets > self.end).to(targets.dtype)

    def _of(self, table: Tensor | None) -> Tensor | None:
        """The rows of `table` of all units but `end`."""
        if table is None or self.end == len(table) - 1:  # a part of it, which is not copied
            return None if table is None else table[:-1]
        return torch.cat((table[: self.end], table[self.end + 1 :]))
