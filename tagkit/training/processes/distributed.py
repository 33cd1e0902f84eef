"""The processes that train one model together: usually one alone, more with `torchrun`.

torch.distributed connects those that a launcher has started. Each holds the whole model, reads its
share of every batch, and adds its gradients to those of the others (data parallelism: Goodfellow,
Bengio and Courville, section 12.1.3). The first one also writes for TensorBoard.
"""

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed

from tagkit.errors import ConfigError
from tagkit.storage import cannot_write
from tagkit.training.processes.launcher import is_alone


def processes_of(
    device: torch.device, tracker: str = "none", folder: Path | None = None
) -> "Processes":
    """All processes of this run.

    Args:
        device: of this process.
        tracker: "tensorboard", or "none".
        folder: under which a tracker writes.

    Raises:
        ConfigError: the tracker is not installed.
    """
    if tracker != "none" and not has_tensorboard():
        raise ConfigError(
            f"train.tracker = {tracker!r}",
            ["it is not installed; pip install 'tagkit[tensorboard]'"],
        )
    if not is_alone():
        if device.type == "cuda" and device.index is None:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        # Once in a program, which may train again: with its default, for CPUs and for GPUs.
        if not distributed.is_initialized():
            distributed.init_process_group()
            atexit.register(_disconnect)
    return Processes(device, None if tracker == "none" else folder)


def _disconnect() -> None:
    # Without this a process that ends a moment after another one is now and then aborted by what
    # connects them, whatever its exit status was to be.
    if distributed.is_initialized():
        distributed.destroy_process_group()


def has_tensorboard() -> bool:
    """Whether the writer of TensorBoard's files is installed."""
    return find_spec("tensorboard") is not None


class Processes:
    """All processes of a run, as one of them sees them.

    Each of these methods is to be called by all processes at the same point: where one does not,
    the others wait for it forever. So what depends on a clock or a signal is decided together.
    """

    def __init__(self, device: torch.device, tracked: Path | None = None) -> None:
        """`device` of this process, and the folder under which the first one writes curves."""
        connected = not is_alone()
        self.count: int = distributed.get_world_size() if connected else 1
        self.rank: int = distributed.get_rank() if connected else 0
        self._device = device
        self._tracked = tracked if self.is_first else None
        self._writer: Any = None  # torch's SummaryWriter

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def max_over_ranks(self, number: int) -> int:
        """The largest of the processes' numbers."""
        return int(self.gather(torch.tensor(number)).max())

    def from_first_rank(self, number: float) -> float:
        """The first process's number, where rounding may differ between processes."""
        return float(self.gather(torch.tensor(number, dtype=torch.float64))[0])

    def sum_over_ranks(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes; one message for each dtype.

        Tensors of several dtypes in one message would all be sent in the widest of them.
        """
        if self.count == 1:
            return
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            # One long message: for tens of small ones the network's latency would add up.
            flat = torch.cat([tensor.reshape(-1).to(self._device) for tensor in alike])
            distributed.all_reduce(flat)
            parts = torch.split(flat, [tensor.numel() for tensor in alike])
            for tensor, part in zip(alike, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def gather(self, tensor: Tensor) -> Tensor:
        """(processes, ...) the processes' tensors, by rank."""
        if self.count == 1:
            return tensor.unsqueeze(0)
        own = tensor.to(self._device).contiguous()
        gathered = [torch.empty_like(own) for _ in range(self.count)]
        distributed.all_gather(gathered, own)
        return torch.stack(gathered).cpu()

    def barrier(self) -> None:
        """Wait until all processes have called this."""
        if self.count > 1:
            distributed.barrier()

    @contextmanager
    def tracking(self, name: str) -> Iterator[None]:
        """Within this context the tracker, if there is one, writes into a folder of this name.

        Raises:
            CheckpointError: it cannot write.
        """
        if self._tracked is None:
            yield
            return
        from torch.utils.tensorboard import SummaryWriter

        # Around the tracker's own calls alone: other errors of the run are not its errors.
        with self._tracker_errors():
            self._writer = SummaryWriter(self._tracked / name)
        try:
            yield
        finally:
            with self._tracker_errors():
                self._writer.close()

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Send values to the tracker, if there is one.

        Raises:
            CheckpointError: it cannot write.
        """
        if self._writer is not None:
            with self._tracker_errors():
                for name, value in values.items():
                    self._writer.add_scalar(name, value, step)
                self._writer.flush()

    @contextmanager
    def _tracker_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(self._tracked or Path(), error) from None
