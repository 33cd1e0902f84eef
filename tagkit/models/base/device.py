"""Device selection, the number of CPU threads, and batches of arrays as tensors on a device.

On a CPU a tensor is the memory of its array: nothing is copied.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, overload

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.config import DEVICES, default_threads, is_device
from tagkit.errors import DeviceError
from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.vocabulary import PAD_ID
from tagkit.limits import MAX_THREADS
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.threads import choose_threads
from tagkit.wording import clipped, quoted

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


def choose_device(name: str | torch.device) -> torch.device:
    """The device of this name, or torch's own name of it; for "auto" the GPU if there is one.

    On a GPU recurrent products have 32 bits from then on, in all of this process.

    Raises:
        DeviceError: there is no device of this name, or numbers of a tensor are not of 32 bits by
            default.
    """
    if torch.get_default_dtype() != torch.float32:
        raise DeviceError(
            f"torch's default type of numbers is {torch.get_default_dtype()}, and models have "
            "float32: call torch.set_default_dtype(torch.float32) first"
        )
    if isinstance(name, torch.device):
        name = str(name)
    # Checked by our own rule first: torch accepts many more names, and its errors are long.
    if not isinstance(name, str) or not is_device(name):
        raise DeviceError(f"device {quoted(str(name))}: expected {DEVICES}")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise DeviceError(f"device {name}: there is no GPU that torch can use; use cpu or auto")
        # Without an index torch uses its current device, the first one.
        if device.index is not None and device.index >= count:
            raise DeviceError(f"device {name}: {_gpus(count)}")
        # By default torch lets cuDNN round the inputs of recurrent products to 10 bits (TF32), with
        # which a GPU's tags are not always those of a CPU, and fp32 is not what it says.
        torch.backends.cudnn.allow_tf32 = False
        check_computes(device)
    return device


def check_computes(device: torch.device) -> None:
    """Make sure that torch has kernels for a GPU: it lists those that are too old for it, too.

    Raises:
        DeviceError: it has none, or the GPU is broken or full.
    """
    try:
        torch.zeros(1, device=device).add(1).item()
    except RuntimeError as error:
        found = clipped(str(error).strip().partition("\n")[0])
        raise DeviceError(
            f"device {device}: torch cannot compute on this GPU ({found}); use cpu"
        ) from None


def _gpus(count: int) -> str:
    return "expected cuda:0" if count == 1 else f"expected cuda:0 to cuda:{count - 1}"


def set_threads(count: int | None) -> int:
    """Set the number of CPU threads that torch uses, and return it.

    One is the default because the networks are so small that a second thread costs more than it
    gains: with two threads, training ran at 70 % of the speed of one, and on busy cores prediction
    waits for them. It holds for all that tagkit computes in this process until it is set again, but
    for training, which has the number of its configuration.

    Args:
        count: 0 for all cores, None for one.

    Raises:
        DeviceError: it is no number of threads.
    """
    count = thread_count(count)
    # Sums are split among threads, so the last bits of every result depend on the number.
    choose_threads(count)
    return count


def thread_count(count: int | None) -> int:
    """The number of threads that `count` means: 0 is all cores, None one.

    Raises:
        DeviceError: it is no number of threads.
    """
    # Also a number of NumPy, as a count of `predict` may be.
    is_whole = isinstance(count, Integral) and not isinstance(count, bool)
    if count is not None and not (is_whole and count >= 0):
        raise DeviceError(f"threads: expected 1 or more, or 0 for all cores, found {count!r}")
    if count is not None and count > MAX_THREADS:  # the system would end the process
        found = clipped(repr(count))
        raise DeviceError(f"threads: expected at most {MAX_THREADS:,}, found {found}")
    return 1 if count is None else int(count) or default_threads()


def choose_workers(
    wanted: int | Literal["auto"], threads: int, processes: int, model: nn.Module
) -> int:
    """How many directions of a layer are computed at the same time.

    Args:
        wanted: as the configuration says; "auto": 2 where each has cores of its own.
        threads: of torch, which each of them uses.
        processes: that train together, perhaps all of them on this machine.
        model: one without a layer of two directions has nothing for a second worker.
    """
    layers = (layer for layer in model.modules() if isinstance(layer, RecurrentLayer))
    if all(layer.backwards is None for layer in layers):
        return 1
    if wanted != "auto":
        return wanted
    return 2 if default_threads() >= 2 * threads * processes else 1


_process = os.getpid()  # that has imported this module, or has seen that it is another one


def leave_threads_of_parent() -> None:
    """After a fork, compute in one thread: those of the parent are not in this process."""
    # OpenMP's pool of threads is copied without its threads, and waiting for them never ends.
    global _process
    if _process != os.getpid():
        _process = os.getpid()
        choose_threads(1)
