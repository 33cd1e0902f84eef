"""A length that is predicted before the first unit, and counted down while units are written.

    p(x[1..n]) = P(n) p(x[1..n] | n)                                  (10.34)
    P(n) = q[n] x product over k < n of (1 - q[k]),  q[k] = sigmoid(w[k] v + b[k])

(Goodfellow, Bengio and Courville, section 10.2.3, eq. 10.34, whose tau is n.) "The recurrent update
is aware of whether it is near the end": the number of units that remain is an input of each step.

The weights q are those of a survival model in discrete time (Cox 1972), so that P is a distribution
over all lengths, however long, and none need be fixed beforehand. Lengths share weights from 32 on,
eight groups for each doubling: near the end each number has a meaning, far from it none has.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

_SINGLE, _DOUBLED = 32, 8  # numbers that have weights of their own; groups of each doubling
_GROUPS = 100  # up to numbers of some 11,000
_FIRST = -3.0  # a twentieth of the sequences end at each length


class LengthEnd(nn.Module):
    """Probabilities of lengths, and vectors of how many units remain."""

    def __init__(self, *, given: int, dim: int) -> None:
        """For what is known of `given` values, 0 for nothing, and inputs of `dim` values."""
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(_GROUPS, given)) if given else None
        self.bias = nn.Parameter(torch.full((_GROUPS,), _FIRST))
        self.remaining = nn.Embedding(_GROUPS, dim)
        nn.init.xavier_uniform_(self.remaining.weight)

    def log_probs(self, known: Tensor, most: int) -> Tensor:
        """Log probability of each length from 0 on.

        Args:
            known: (rows, given).
            most: the longest.

        Returns:
            (rows, most + 1); longer ones have the rest of the mass.
        """
        scores = self.bias.expand(len(known), -1)  # (rows, groups)
        if self.weight is not None:
            scores = scores + known @ self.weight.T
        each = scores[:, group_of(torch.arange(most + 1, device=scores.device))]
        goes_on = nn.functional.logsigmoid(-each).cumsum(1)  # (rows, most + 1)
        return nn.functional.logsigmoid(each) + nn.functional.pad(goes_on[:, :-1], (1, 0))

    def log_prob_of(self, known: Tensor, lengths: Tensor) -> Tensor:
        """(rows, given) and (rows,) -> (rows,) log probability of these lengths."""
        found = self.log_probs(known, int(lengths.max()))
        return found.gather(1, lengths.unsqueeze(1)).squeeze(1)

    def forward(self, remaining: Tensor) -> Tensor:
        """Numbers of units that remain, of any shape -> (..., dim) to be added to inputs."""
        vectors: Tensor = self.remaining(group_of(remaining.long().clamp(min=0)))
        return vectors


def best_lengths(
    log_probs: Tensor, least: Sequence[int], most: Sequence[int], count: int
) -> tuple[Tensor, Tensor]:
    """The most probable lengths of each row, and their log probabilities.

    Args:
        log_probs: (rows, lengths) from 0 on.
        least: of each row; where it is above the most, that is it.
        most: likewise.
        count: of lengths.

    Returns:
        Both (rows, count) at most, the best first; a probability of 0 where there are fewer.
    """
    found = log_probs.double()
    lengths = torch.arange(found.shape[1], device=found.device)
    highest = torch.tensor(most, device=found.device).unsqueeze(1)
    lowest = torch.tensor(least, device=found.device).unsqueeze(1).minimum(highest)
    allowed = (lowest <= lengths) & (lengths <= highest)
    best, chosen = found.masked_fill(~allowed, -torch.inf).topk(min(count, len(lengths)))
    return chosen, best


def group_of(numbers: Tensor) -> Tensor:
    """The weights that numbers from 0 on have."""
    doublings = (numbers.clamp(min=_SINGLE).double() / _SINGLE).log2()
    grouped = (_SINGLE + (_DOUBLED * doublings).long()).clamp(max=_GROUPS - 1)
    return torch.where(numbers < _SINGLE, numbers, grouped)


def ended(log_probs: Tensor, is_over: Tensor, end: int) -> Tensor:
    """Log probabilities of units, where nothing but the end follows sequences that are over.

    Args:
        log_probs: (rows, units).
        is_over: (rows, 1) bool.
        end: id of the end.
    """
    is_end = torch.arange(log_probs.shape[1], device=log_probs.device) == end
    certain = torch.zeros_like(log_probs).masked_fill(~is_end, -torch.inf)
    return torch.where(is_over, certain, log_probs)
