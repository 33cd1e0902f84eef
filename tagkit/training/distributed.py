"""The processes that train one model together: usually one alone, more with `accelerate launch`.

Accelerate finds out about them, and carries what they tell each other.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import is_tensorboard_available
from torch import Tensor

from tagkit.errors import ConfigError
from tagkit.storage import cannot_write


def processes_of(
    device: torch.device, precision: str, tracker: str = "none", folder: Path | None = None
) -> "Processes":
    """All processes of this run.

    Accelerate takes device and precision as those of the whole program; a program may train twice.

    Args:
        device: of this process.
        precision: fp32, bf16 or fp16.
        tracker: "tensorboard", or "none".
        folder: under which a tracker writes.

    Raises:
        ConfigError: the tracker is not installed.
    """
    if tracker != "none" and not is_tensorboard_available():
        raise ConfigError(
            f"train.tracker = {tracker!r}",
            ["it is not installed; pip install 'tagkit[tensorboard]'"],
        )
    if not torch.distributed.is_initialized():
        AcceleratorState._reset_state(reset_partial_state=True)
    return Processes(
        Accelerator(
            device_placement=False,
            cpu=device.type == "cpu",
            mixed_precision=precision.replace("fp32", "no"),
            log_with=None if tracker == "none" else tracker,
            project_dir=folder,
        )
    )


def is_first() -> bool:
    """Whether this process is the one that writes and talks, as launchers have it."""
    return os.environ.get("RANK", "0") == "0"


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
        """Put into each tensor its sum over all processes; one message for each dtype.

        Tensors of several dtypes in one message would all be sent in the widest of them.
        """
        if self.count == 1:
            return
        device = self.accelerator.device
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            flat = self._sum(torch.cat([tensor.reshape(-1).to(device) for tensor in alike]))
            parts = torch.split(flat, [tensor.numel() for tensor in alike])
            for tensor, part in zip(alike, parts, strict=True):
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

    @contextmanager
    def tracking(self, name: str) -> Iterator[None]:
        """Within this context the tracker, if there is one, writes into a folder of this name.

        Raises:
            CheckpointError: it cannot write.
        """
        try:
            self.accelerator.init_trackers(name)
            try:
                yield
            finally:
                for tracker in self.accelerator.trackers:
                    tracker.finish()
        except OSError as error:
            raise cannot_write(Path(self.accelerator.project_dir or name), error) from None

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Tell the tracker, if there is one."""
        self.accelerator.log(dict(values), step=step)

    def _sum(self, tensor: Tensor) -> Tensor:
        summed: Tensor = self.accelerator.reduce(tensor.to(self.accelerator.device), "sum")
        return summed
