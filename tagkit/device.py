"""Where the numbers are worked out: a CPU or a GPU, and with how many threads."""

import torch

from tagkit.config import default_threads
from tagkit.errors import DeviceError


def choose_device(name: str) -> torch.device:
    """The device of that name; for 'auto' the GPU if there is one.

    Raises:
        DeviceError: a GPU that is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise DeviceError(f"device {name}: there is no GPU that torch can use; use cpu or auto")
        if device.index is not None and device.index >= count:
            raise DeviceError(f"device {name}: expected cuda:0 to cuda:{count - 1}")
    return device


def set_threads(count: int | None) -> int:
    """Let torch use that many threads of the CPU, all cores for 0; how many that is.

    For None it is one. The networks here are so small that a second thread costs more than it
    brings: training ran at 70 % of one thread's speed with two.
    """
    count = 1 if count is None else count or default_threads()
    torch.set_num_threads(count)
    return count
