"""Packing: sequences of different lengths without padding, step after step, the longest first.

At step t come the tokens number t of all sequences that have one: of sequences of 3, 2 and 1 tokens

    a0 b0 c0  a1 b1  a2

A recurrence then computes nothing for padding, and the sequences which are still being read are
always the first rows of a step. torch's PackedSequence has the same order; these also read each
sequence backwards.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Packed sequences that are read and trained without padding.

    Attributes:
        counts: number of sequences that are read at each step; never rises.
        tokens: (tokens,) which token each packed one is, counted sequence after sequence.
        mirrored: (tokens,) where the token is packed that a backward reader reads in its place.
        before: (tokens after the first step,) where the token before it is packed.
        last: (sequences,) where each sequence's last token is packed.
    """

    counts: list[int]
    tokens: Tensor
    mirrored: Tensor
    before: Tensor
    last: Tensor

    @classmethod
    def of(cls, lengths: Ids) -> "Packing":
        """The packing of sequences of these lengths, each at least 1."""
        order = _Order.of(lengths)
        steps, rows, counts = order.steps, order.rows, order.counts
        descending = lengths[order.longest_first]
        starts = np.cumsum(counts) - counts  # (time,) where each step begins
        later = slice(int(counts[0]), None)
        firsts = (np.cumsum(lengths) - lengths)[order.longest_first]  # of sequence after sequence
        return cls(
            counts.tolist(),
            torch.from_numpy(firsts[rows] + steps),
            torch.from_numpy(starts[descending[rows] - 1 - steps] + rows),
            torch.from_numpy(starts[steps[later] - 1] + rows[later]),
            torch.from_numpy(order.last(lengths)),
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Where the tokens of sequences are that are read in packed order, and not copied into it.

    Attributes:
        counts: number of sequences that are read at each step; never rises.
        tokens: (tokens, 2) place of each packed token: column 0 for reading forwards, column 1 the
            same with each sequence reversed within its length.
        last: (sequences,) where each sequence's last token is packed.
    """

    counts: list[int]
    tokens: Ids
    last: Ids

    @classmethod
    def of(cls, lengths: Ids, firsts: Ids) -> "Places":
        """The places of sequences of these lengths, each at least 1.

        Args:
            lengths: (sequences,).
            firsts: (sequences,) place of each sequence's first token; the others follow it.
        """
        if len(lengths) == 1:  # most often: a sentence by itself
            ahead = np.arange(firsts[0], firsts[0] + lengths[0])
            return cls([1] * len(ahead), np.stack((ahead, ahead[::-1]), 1), lengths - 1)
        order = _Order.of(lengths)
        chosen = order.longest_first[order.rows]
        first, steps = firsts[chosen], order.steps
        back = first + lengths[chosen] - 1 - steps
        return cls(order.counts.tolist(), np.stack((first + steps, back), 1), order.last(lengths))


@dataclass(frozen=True, slots=True)
class _Order:
    """Packed order: the step of each token, and its sequence, counted from the longest on."""

    longest_first: Ids  # (sequences,)
    counts: Ids  # (time,)
    steps: Ids  # (tokens,)
    rows: Ids  # (tokens,)

    @classmethod
    def of(cls, lengths: Ids) -> "_Order":
        longest_first = np.argsort(-lengths, kind="stable")
        # (time, 1) < (sequences,) -> (time, sequences): True where a sequence has a token.
        filled = np.arange(int(lengths.max(initial=0)))[:, None] < lengths[longest_first]
        steps, rows = filled.nonzero()
        return cls(longest_first, filled.sum(1), steps, rows)

    def last(self, lengths: Ids) -> Ids:
        """(sequences,) where the last token of each is packed."""
        starts = np.cumsum(self.counts) - self.counts  # (time,) where each step begins
        last = np.empty_like(self.longest_first)
        descending = lengths[self.longest_first]
        last[self.longest_first] = starts[descending - 1] + np.arange(len(lengths))
        return last
