"""Batches of arrays, as `features` makes them, to batches of tensors on a device.

On a CPU a tensor is the memory of its array: nothing is copied.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

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


@overload
def to_tensors(record: Batch[Arrays], device: torch.device = CPU) -> Batch[Tensor]: ...
@overload
def to_tensors(record: Words[Arrays], device: torch.device = CPU) -> Words[Tensor]: ...
@overload
def to_tensors(record: Tokens[Arrays], device: torch.device = CPU) -> Tokens[Tensor]: ...
def to_tensors(record: Any, device: torch.device = CPU) -> Any:
    """A batch, or a part of one, on a device: on a GPU its words are in fewer groups."""
    if isinstance(record, np.ndarray):
        tensor = torch.from_numpy(record)
        # From pageable memory non_blocking changes nothing, and is safe; from pinned memory the
        # copy overlaps with the computation.
        return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)
    if isinstance(record, tuple):
        return tuple([to_tensors(each, device) for each in record])
    if isinstance(record, dict):
        return {name: to_tensors(each, device) for name, each in record.items()}
    if record is None:
        return None
    if isinstance(record, Words) and device.type != "cpu":
        record = replace(record, char_ids=joined(record.char_ids))
    # All other records of a batch hold nothing but these.
    return type(record)(*[to_tensors(getattr(record, each), device) for each in record.__slots__])


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
