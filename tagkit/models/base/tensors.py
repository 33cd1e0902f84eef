"""Batches of arrays, as `features` makes them, to batches of tensors on a device.

On a CPU a tensor is the memory of its array: nothing is copied.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.vocabulary import PAD_ID

CPU = torch.device("cpu")
# Characters of a group on a GPU, padding included. One word of thousands would make thousands of
# others as long.
_JOINED_CHARS = 2**18


def to_tensors(batch: Batch[Arrays], device: torch.device = CPU) -> Batch[Tensor]:
    """A batch on a device, its words as `words_to_tensors` gives them."""
    words = _in_groups_for(batch.words, device)
    return replace(batch, words=words).mapped(_conversion(device))


def words_to_tensors(words: Words[Arrays], device: torch.device) -> Words[Tensor]:
    """Distinct words on a device, on a GPU in fewer groups."""
    return _in_groups_for(words, device).mapped(_conversion(device))


def tokens_to_tensors(tokens: Tokens[Arrays], device: torch.device) -> Tokens[Tensor]:
    """Sentences on a device."""
    return tokens.mapped(_conversion(device))


def _conversion(device: torch.device) -> Callable[[Arrays], Tensor]:
    if device.type == "cpu":
        return torch.from_numpy
    # From pageable memory non_blocking changes nothing, and is safe; from pinned memory the copy
    # overlaps with the computation.
    return lambda array: torch.from_numpy(array).to(device, non_blocking=True)


def _in_groups_for(words: Words[Arrays], device: torch.device) -> Words[Arrays]:
    return words if device.type == "cpu" else replace(words, char_ids=joined(words.char_ids))


def joined(groups: Sequence[Arrays]) -> tuple[Arrays, ...]:
    """Groups of words as few as have room, in the same order.

    Groups save padding, which a CPU has to compute. On a GPU each group costs the launches of a
    recurrent layer, and padding next to nothing.

    Args:
        groups: each (words, chars) int64, `PAD_ID` where padded.
    """
    found: list[list[Arrays]] = []
    words = width = 0
    for group in groups:
        words, width = words + len(group), max(width, group.shape[1])
        if found and words * width <= _JOINED_CHARS:
            found[-1].append(group)
        else:
            found.append([group])
            words, width = group.shape
    return tuple(parts[0] if len(parts) == 1 else _padded(parts) for parts in found)


def _padded(groups: Sequence[Arrays]) -> Arrays:
    """One group of all words: each (words, chars) -> (all words, chars of the longest)."""
    width = max(group.shape[1] for group in groups)
    whole, start = np.full((sum(map(len, groups)), width), PAD_ID, np.int64), 0
    for group in groups:
        whole[start : start + len(group), : group.shape[1]] = group
        start += len(group)
    return whole
