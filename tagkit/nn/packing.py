"""Packed sequences: the tokens of all sequences step by step, without padding.

Step t holds token t of every sequence that has one, the longest sequence first, so that the
sequences which are still being read are always the first rows of a step. torch's PackedSequence has
the same order; this one also reads each sequence backwards.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each token of padded sequences is in packed ones.

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
        longest_first = np.argsort(-lengths, kind="stable")
        descending = lengths[longest_first]
        # (time, 1) < (sequences,) -> (time, sequences): True where a sequence has a token.
        filled = np.arange(int(descending[0]))[:, None] < descending
        counts = filled.sum(1)
        starts = np.cumsum(counts) - counts  # (time,) where each step begins
        # Both (tokens,), step after step; `rows` counts sequences from the longest on.
        steps, rows = filled.nonzero()
        later = slice(int(counts[0]), None)
        last = np.empty_like(longest_first)
        last[longest_first] = starts[descending - 1] + np.arange(len(lengths))
        return cls(
            counts.tolist(),
            torch.from_numpy((np.cumsum(lengths) - lengths)[longest_first[rows]] + steps),
            torch.from_numpy(starts[descending[rows] - 1 - steps] + rows),
            torch.from_numpy(starts[steps[later] - 1] + rows[later]),
            torch.from_numpy(last),
        )
