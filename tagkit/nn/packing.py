"""Packing: sequences of different lengths without padding, step after step, the longest first.

At step t come the tokens number t of all sequences that have one: of sequences of 3, 2 and 1 tokens

    a0 b0 c0  a1 b1  a2

A recurrence then computes nothing for padding, and its rows at a step are the first ones of the
step before. torch's own packed sequences have this order too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the tokens of a padded batch are in packed order.

    Attributes:
        sizes: number of sequences at each step; none is larger than the one before.
        ahead: (tokens,) place of each token in the padded batch laid out flat, (batch x time,).
        back: the same with each sequence reversed within its length.
    """

    sizes: list[int]
    ahead: Ids
    back: Ids


def pack(mask: npt.NDArray[np.bool_]) -> Packing:
    """The packing of a batch.

    Args:
        mask: (batch, time) bool, True on real tokens, which are on the left.
    """
    time = mask.shape[1]
    lengths = mask.sum(1)
    order = np.argsort(-lengths, kind="stable")  # the longest first
    # (time, 1) < (batch,) -> (time, batch): a row for each step
    steps, rows = np.nonzero(np.arange(time)[:, None] < lengths[order])
    chosen = order[rows]
    first = chosen * time  # place of each token's sentence
    sizes = np.bincount(steps).tolist()
    return Packing(sizes, first + steps, first + lengths[chosen] - 1 - steps)
