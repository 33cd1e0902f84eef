"""The processes that train one model together: usually one alone, more with `accelerate launch`.

Accelerate finds out about them, and carries what they tell each other.
"""

from collections.abc import Sequence

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor


def processes_of(device: torch.device, precision: str) -> "Processes":
    """All processes of this run, for a device and a precision: fp32, bf16 or fp16.

    Accelerate takes device and precision as those of the whole program; a program may train twice.
    """
    if not torch.distributed.is_initialized():
        AcceleratorState._reset_state(reset_partial_state=True)
    return Processes(
        Accelerator(
            device_placement=False,
            cpu=device.type == "cpu",
            mixed_precision=precision.replace("fp32", "no"),
        )
    )


class Processes:
    """All processes of a run, as one of them sees them."""

    def __init__(self, accelerator: Accelerator) -> None:
        """`accelerator` of this process."""
        self.accelerator = accelerator
        self.count: int = accelerator.num_processes
        self.number: int = accelerator.process_index

    @property
    def is_first(self) -> bool:
        """Whether this one writes and talks."""
        return self.number == 0

    def most(self, number: int) -> int:
        """The largest of the numbers that they have."""
        return int(self.all_of(torch.tensor(number)).max())

    def first(self, number: float) -> float:
        """The number that the first one has: two sums of floats need not be the same."""
        return float(self.all_of(torch.tensor(number, dtype=torch.float64))[0])

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Put into each tensor its sum over all processes; in one message."""
        if self.count == 1:
            return
        flat = self._sum(torch.cat([tensor.reshape(-1) for tensor in tensors]))
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    def all_of(self, tensor: Tensor) -> Tensor:
        """(processes, ...) the tensors that the processes have."""
        if self.count == 1:
            return tensor.unsqueeze(0)
        gathered: Tensor = self.accelerator.gather(tensor.unsqueeze(0).to(self.accelerator.device))
        return gathered.cpu()

    def wait(self) -> None:
        """Wait for all others to come here."""
        if self.count > 1:
            self.accelerator.wait_for_everyone()

    def _sum(self, tensor: Tensor) -> Tensor:
        summed: Tensor = self.accelerator.reduce(tensor.to(self.accelerator.device), "sum")
        return summed
