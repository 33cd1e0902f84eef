"""Padded sequences: zeros on padding, reversal within each length, the check of a mask; packing.

Sequences of one batch are padded on the right to the longest: a mask is (batch, time) bool, True on
the tokens of each sequence, from column 0 on, and False on the padding after them.

Packed sequences have no padding: step after step, the longest first. At step t come the tokens
number t of all sequences that have one: of sequences of 3, 2 and 1 tokens

    a0 b0 c0  a1 b1  a2

A recurrence then computes nothing for padding, and the sequences which are still being read are
always the first rows of a step. torch's PackedSequence has the same order; these also read each
sequence backwards.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def zero_padding(sequences: Tensor, mask: Tensor) -> Tensor:
    """`sequences` with zeros on padding.

    Args:
        sequences: (batch, time, features).
        mask: (batch, time) bool, True on real tokens.

    Returns:
        The same shape.
    """
    # Not a product with the mask: NaN x 0 is NaN, and so is the gradient of that product.
    if sequences.device.type == "cpu":
        # With large batches a third of the time, as few rows are padding; a GPU would have to wait
        # for their number.
        padding = (~mask).flatten().nonzero().squeeze(1)  # (rows,)
        # (batch, time, features) -> (batch x time, features), and back
        return sequences.flatten(0, 1).index_fill(0, padding, 0).view(sequences.shape)
    # (batch, time) -> (batch, time, 1), which broadcasts over the features
    return sequences.masked_fill(~mask.unsqueeze(-1), 0)


def weight_of_tokens(weights: Tensor, mask: Tensor) -> Tensor:
    """(tokens,) of (batch,) weights: that of each real token's sentence, in the order of `mask`."""
    return weights.unsqueeze(1).expand(mask.shape)[mask]


def check_mask(mask: Tensor, batch: int, time: int) -> None:
    """Raise unless a mask is (batch, time) bool with at least one token a row and right padding.

    pytorch-crf checks shapes and column 0 (`CRF._validate`); a mask with a hole it scores in
    silence, adding the transition between two tokens that are not neighbours.

    Args:
        mask: what a caller passed.
        batch: how many sentences there are.
        time: how many tokens the longest has.

    Raises:
        ValueError: another shape or dtype, a row without a token, or a token after padding.
    """
    if mask.shape != (batch, time):
        raise ValueError(f"mask: expected shape {(batch, time)}, found {tuple(mask.shape)}")
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: expected torch.bool, found {mask.dtype}")
    # On a GPU this waits for all that was launched before. NumPy's calls cost a quarter of torch's,
    # and on a CPU the array is the tensor's own memory.
    rows = mask.cpu().numpy()
    # True > False: a token whose left neighbour is padding. (batch, time - 1)
    holes = rows[:, 1:] > rows[:, :-1]
    if rows[:, :1].all() and not holes.any():
        return
    empty = (~rows[:, 0]).nonzero()[0]  # numbers of the rows without a first token
    if len(empty):
        raise ValueError(
            f"mask: row {empty[0]} is False in column 0; expected every row to begin with a token"
        )
    row, column = (int(place[0]) for place in holes.nonzero())
    raise ValueError(
        f"mask: row {row} is False in column {column} and True in column {column + 1}; expected "
        "padding on the right alone, without holes"
    )


def check_states(states: Tensor, mask: Tensor, inputs: int) -> None:
    """Raise unless states are (batch, time, inputs), and `mask` is theirs as `check_mask` asks.

    Raises:
        ValueError: `states` or `mask` has another shape or dtype, or the mask a hole.
    """
    if states.dim() != 3 or states.shape[2] != inputs:
        raise ValueError(
            f"states: expected shape (batch, time, {inputs}), found {tuple(states.shape)}"
        )
    check_mask(mask, *states.shape[:2])


def reverse_each(sequences: Tensor, mask: Tensor) -> Tensor:
    """Each sequence reversed within its own length; padding stays after it.

    Args:
        sequences: (batch, time, features), or (batch, time).
        mask: (batch, time) bool, True on real tokens.

    Returns:
        The same shape.
    """
    # Plain flip(1) would put the padding first, and the backward pass would start on it.
    batch, time = mask.shape
    steps = torch.arange(time, device=mask.device)
    # (batch, 1) - (time,) -> (batch, time): token t of a sentence of n reads token n - 1 - t. On
    # padding that would be negative: there each place reads itself.
    mirrored = mask.sum(1, keepdim=True) - 1 - steps
    places = torch.where(mask, mirrored, steps)
    # Places within a sentence -> rows of the batch laid out flat: (batch x time,)
    rows = (places + time * torch.arange(batch, device=mask.device).unsqueeze(1)).flatten()
    # (batch, time, ...) -> (batch x time, ...), reordered, and back
    found: Tensor = _Reversal.apply(sequences.flatten(0, 1), rows)  # type: ignore[no-untyped-call]
    return found.view(sequences.shape)


class _Reversal(torch.autograd.Function):
    """Rows in another order, which applied twice is the first one again: so is its gradient.

    The gradient of `index_select` would add rows one by one into zeros, as it cannot know that no
    row occurs twice.
    """

    @staticmethod
    def forward(ctx: Any, sequences: Tensor, rows: Tensor) -> Tensor:
        ctx.rows = rows
        # (batch x time, ...) at (batch x time,) -> the same shape
        return sequences.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.rows), None


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
