"""Ridge regression: a linear read-out of fixed states, in closed form.

    W = Y X^T (X X^T + beta I)^-1

(Jaeger 2001; Lukosevicius and Jaeger 2009; Lukosevicius 2012, eq. 9; Goodfellow, Bengio and
Courville, sections 7.1.1 and 10.8.) X has a column for each row that is learnt from, Y its targets:
1 for the gold label and -1 for the others, so that a score of 0 is an even chance.

The sums X X^T and Y X^T are all that is kept of a corpus, so that memory grows with the square of
the units and not with the corpus. Means are taken out, so that the bias has no penalty, and one
decomposition X X^T = V diag(d) V^T gives the solution for every penalty:

    W^T = V diag(1 / (d + beta)) V^T X Y^T
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Of the symmetric product only the blocks on and below the diagonal are computed. Of as many blocks
# as these each way, that is 36 of 64.
_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """What a read-out learns from: real tokens, or texts; no padding.

    Attributes:
        states: (rows, inputs).
        targets: (rows, outputs) bool, True of the gold labels.
        weights: (rows,) of the squared errors; None where all weigh the same.
    """

    states: Tensor
    targets: Tensor
    weights: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """A linear map: scores = states @ weights + bias.

    Attributes:
        weights: (inputs, outputs) float64.
        bias: (outputs,) float64.
    """

    weights: Tensor
    bias: Tensor


class RidgeSums:
    """Sums over rows, in float64, from which the solution follows for any penalty."""

    def __init__(self, inputs: int, outputs: int, device: torch.device) -> None:
        """Nothing added yet."""
        self.total = torch.zeros((), dtype=torch.float64, device=device)  # weight of all rows
        self.states = self.total.new_zeros(inputs)
        self.targets = self.total.new_zeros(outputs)
        self.products = self.total.new_zeros(inputs, inputs)  # its blocks above the diagonal stay 0
        self.cross = self.total.new_zeros(inputs, outputs)

    def add(self, rows: Rows) -> None:
        """Add rows, in any order and in batches of any size."""
        states = rows.states.double()  # (rows, inputs)
        targets = rows.targets.double() * 2 - 1  # (rows, outputs) of 1 and -1
        weighted = states
        if rows.weights is None:
            self.total += len(states)
        else:
            weights = rows.weights.double().unsqueeze(1)  # (rows, 1)
            weighted = states * weights
            targets = targets * weights
            self.total += weights.sum()
        self.states += weighted.sum(0)
        self.targets += targets.sum(0)
        # (inputs, rows) @ (rows, outputs): the weights are in one of the two factors alone
        self.cross.addmm_(states.T, targets)
        inputs = states.shape[1]
        size = -(-inputs // _BLOCKS)
        for start in range(0, inputs, size):
            # (inputs from start on, rows) @ (rows, size)
            below = self.products[start:, start : start + size]
            below.addmm_(weighted[:, start:].T, states[:, start : start + size])

    def tensors(self) -> list[Tensor]:
        """All sums, to be added to those of other processes in place."""
        return [self.total, self.states, self.targets, self.products, self.cross]

    @property
    def are_finite(self) -> bool:
        """Whether no state was infinite or no number."""
        return all(bool(tensor.isfinite().all()) for tensor in self.tensors())

    def solve(self, penalties: Sequence[float]) -> list[Solution]:
        """The solution for each penalty.

        Args:
            penalties: each a multiple of the mean variance of a state, so that it means the same
                for any number of rows and any scale of the states. The solution minimises the mean
                squared error plus that penalty times the sum of the squared weights.
        """
        mean, mean_target = self.states / self.total, self.targets / self.total
        lower = self.products.tril()
        moments = (lower + lower.tril(-1).T) / self.total
        # (inputs, inputs) and (inputs, outputs)
        covariance = moments - torch.outer(mean, mean)
        cross = self.cross / self.total - torch.outer(mean, mean_target)
        variances, axes = torch.linalg.eigh(covariance)
        # Rounding may leave a variance just below 0 where states depend on each other.
        variances = variances.clamp(min=0)
        scale = variances.mean().clamp(min=torch.finfo(torch.float64).tiny)
        along = axes.T @ cross  # (inputs, outputs)
        found = []
        for penalty in penalties:
            # (inputs, inputs) @ (inputs, outputs)
            weights = axes @ (along / (variances + penalty * scale).unsqueeze(1))
            found.append(Solution(weights, mean_target - mean @ weights))
        return found
