"""Device selection: a CPU or a GPU, and the number of CPU threads."""

import os
from numbers import Integral
from typing import Literal

import torch
from torch import nn

from tagkit.config import DEVICES, default_threads, is_device
from tagkit.errors import DeviceError
from tagkit.limits import MAX_THREADS
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.threads import choose_threads
from tagkit.wording import clipped, quoted


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
