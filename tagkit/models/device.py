"""Device selection: a CPU or a GPU, and the number of CPU threads."""

import torch

from tagkit.config import DEVICES, default_threads, is_device
from tagkit.errors import DeviceError, shorten


def choose_device(name: str) -> torch.device:
    """The device of that name; for 'auto' the GPU if there is one.

    Raises:
        DeviceError: there is no device of that name.
    """
    if not is_device(name):
        raise DeviceError(f"device {shorten(name)}: expected {DEVICES}")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise DeviceError(f"device {name}: there is no GPU that torch can use; use cpu or auto")
        if device.index is not None and device.index >= count:
            raise DeviceError(f"device {name}: {_gpus(count)}")
    return device


def _gpus(count: int) -> str:
    return "expected cuda:0" if count == 1 else f"expected cuda:0 to cuda:{count - 1}"


def set_threads(count: int | None) -> int:
    """Set the number of CPU threads that torch uses, all cores for 0; returns the number.

    For None it is one. The networks here are so small that a second thread costs more than it
    gains: training ran at 70 % of one thread's speed with two.
    """
    count = 1 if count is None else count or default_threads()
    torch.set_num_threads(count)
    return count
