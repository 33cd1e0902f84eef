"""Adam, and the running mean of the weights, for a table of which each step changes few rows.

A row without a gradient still moves under Adam, by its momentum, and so does its mean. Both are
computed when the row is next read, for all steps since at once. Let s be the step of the row's
last gradient, m and v its moments then, and lr[j] and d[j] the learning rate and the mean's decay
of step j > s. Without gradients m[j] = b1^(j-s) m and v[j] = b2^(j-s) v, so that by step t

    w[t] = w[s] - moved[s] m / sqrt(v)
    mean[t] = kept[s] mean[s] + (1 - kept[s]) w[s] - lag[s] m / sqrt(v)

with sums that all rows of one s share, a few numbers a step:

    moved[s] += lr[j] sqrt(1 - b2^j) / (1 - b1^j) (b1 / sqrt(b2))^(j-s)
    lag[s]    = d[j] lag[s] + (1 - d[j]) moved[s]
    kept[s]  *= d[j]

Adam: Kingma and Ba 2015; Goodfellow, Bengio and Courville, algorithm 8.7. The sums are exact but
for epsilon, which here falls with sqrt(v). What is known as lazy Adam leaves the movement out, and
with it nine tenths of what a rare word learns.

Of a very large table v is one number a row, the mean of its squares, as in the partial rowwise Adam
of FBGEMM: three tables in memory in place of four.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # the defaults of torch.optim.Adam
# Steps after which all rows are brought up to date: it bounds the number of sums.
_SWEEP = 512
_ROWS_AT_ONCE = 4096
# Numbers from which on a table is very large: 256 MB, 670,000 words of 100 dimensions.
_LARGE_TABLE = 2**26


class RowAdam:
    """Updates the rows of a table that a step reads; the others are brought up to date later."""

    def __init__(self, table: Tensor) -> None:
        """`table`: (rows, dim), whose gradients are sparse."""
        self.table = table
        self.first = torch.zeros_like(table)
        shares = table.numel() >= _LARGE_TABLE
        self.second = torch.zeros_like(table[:, :1] if shares else table)  # (rows, 1 or dim)
        self.mean = table.detach().clone()
        self.steps = 0
        # Steps since the last sweep: until now, and until each row was last updated or read.
        self.clock = 0
        self.last = torch.zeros(len(table), dtype=torch.int64)
        # (4, steps) moved, lag and kept of the rows last read at each step, and its epsilon. In
        # float64: they are sums of hundreds of terms of very unequal size.
        self.sums = np.zeros((4, _SWEEP + 1))
        self._begin_sums(_EPSILON * math.sqrt(1 - _BETA2))

    @torch.no_grad()
    def read(self, rows: Tensor) -> None:
        """Bring rows up to date; to be called before a step reads them.

        Args:
            rows: (rows,) int64, each once.
        """
        # A few at a time: the formulas make half a dozen copies of the rows that they are given.
        for part in torch.split(rows, _ROWS_AT_ONCE):
            self._read(part)

    def _read(self, rows: Tensor) -> None:
        last = self.last[rows]  # (rows,)
        age = self.clock - last
        # Four times (rows, 1): rows that were last read at the same step have the same sums.
        moved, lag, kept, epsilon = (
            torch.from_numpy(self.sums[:, last.numpy()]).to(self.table.dtype).unsqueeze(2)
        )
        weights, first, second, mean = self._rows(rows)
        direction = first / second.sqrt().add_(epsilon)
        # kept mean + (1 - kept) weights - lag direction
        mean = torch.lerp(weights, mean, kept).addcmul_(lag, direction, value=-1)
        weights.addcmul_(moved, direction, value=-1)
        first *= (_BETA1**age).unsqueeze(1)
        second *= (_BETA2**age).unsqueeze(1)
        self._write(rows, weights, first, second, mean)
        self.last[rows] = self.clock

    @torch.no_grad()
    def step(self, rows: Tensor, gradients: Tensor, *, lr: float, decay: float) -> None:
        """One step of Adam and of the mean.

        Args:
            rows: (rows,) int64, each once, all of them read before.
            gradients: (rows, dim).
            lr: learning rate of this step.
            decay: of the mean at this step.
        """
        self.steps += 1
        # Adam's moments begin at 0 and are too small at first. The correction is put into two
        # numbers, rate and epsilon, instead of into all moments (Kingma and Ba 2015, section 2).
        corrected = math.sqrt(1 - _BETA2**self.steps)
        rate = lr * corrected / (1 - _BETA1**self.steps)
        parts = (torch.split(each, _ROWS_AT_ONCE) for each in (rows, gradients))
        for some, gradient in zip(*parts, strict=True):
            weights, first, second, mean = self._rows(some)
            first.lerp_(gradient, 1 - _BETA1)
            second.lerp_(_as_wide_as(second, gradient * gradient), 1 - _BETA2)
            weights.addcdiv_(first, second.sqrt().add_(_EPSILON * corrected), value=-rate)
            self._write(some, weights, first, second, mean.lerp_(weights, 1 - decay))
        self._add_step(rate, decay)
        self._begin_sums(_EPSILON * corrected)
        self.last[rows] = self.clock
        if self.clock == _SWEEP:  # the array of sums is full
            self.read_all()

    def tensors(self) -> dict[str, Tensor]:
        """What `restore` needs, without the table."""
        return {
            "first": self.first,
            "second": self.second,
            "mean": self.mean,
            "last": self.last,
            "sums": torch.from_numpy(self.sums[:, : self.clock + 1].copy()),
            "steps": torch.tensor(self.steps),
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that `tensors` returned."""
        for own, key in ((self.first, "first"), (self.second, "second"), (self.mean, "mean"),
                         (self.last, "last")):  # fmt: skip
            own.copy_(_as_wide_as(own, tensors[key]))
        self.clock = tensors["sums"].shape[1] - 1
        self.sums[:, : self.clock + 1] = tensors["sums"].numpy()
        self.steps = int(tensors["steps"])

    def read_all(self) -> None:
        """Bring all rows up to date."""
        self.read(torch.arange(len(self.table)))
        self.last.zero_()
        # No gradient has come: the direction's epsilon is still that of the last step.
        epsilon = float(self.sums[3, self.clock])
        self.clock = 0
        self._begin_sums(epsilon)

    def _rows(self, rows: Tensor) -> list[Tensor]:
        """Copies of these rows of the weights, their two moments and their mean."""
        # Indexing with [rows] takes four times as long as this.
        parts = (self.table, self.first, self.second, self.mean)
        return [part.index_select(0, rows) for part in parts]

    def _write(self, rows: Tensor, *parts: Tensor) -> None:
        """Copy back what `_rows` returned, changed."""
        own = (self.table, self.first, self.second, self.mean)
        for whole, part in zip(own, parts, strict=True):
            whole.index_copy_(0, rows, part)

    def _add_step(self, rate: float, decay: float) -> None:
        """Add this step to the sums of all earlier ones."""
        self.clock += 1
        moved, lag, kept, _ = self.sums[:, : self.clock]
        # Each column is a step, 0 to clock - 1, at which a row may have been read last; the longer
        # ago, the more its momentum has faded: the exponents are clock, ..., 1.
        moved += rate * (_BETA1 / math.sqrt(_BETA2)) ** np.arange(self.clock, 0, -1)
        lag += (1 - decay) * (moved - lag)
        kept *= decay

    def _begin_sums(self, epsilon: float) -> None:
        """Begin the sums of the rows that this step reads."""
        self.sums[:, self.clock] = 0, 0, 1, epsilon  # nothing moved yet, all of the mean kept


def _as_wide_as(moment: Tensor, values: Tensor) -> Tensor:
    """The values of each row, or their mean where the moment is one number a row.

    A second moment that an earlier version saved, of a number for each weight, is averaged too.
    """
    narrow = moment.dim() == 2 and moment.shape[1] < values.shape[1]
    return values.mean(1, keepdim=True) if narrow else values
