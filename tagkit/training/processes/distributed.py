"""The processes that train one model together: usually one alone, more with `accelerate launch`.

Accelerate finds the other processes and connects them; it also writes for TensorBoard. A process
alone without a tracker does not import it. Each holds the whole model, reads its share
of every batch, and adds its gradients to those of the others (data parallelism: Goodfellow, Bengio
and Courville, section 12.1.3).
"""

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tagkit.errors import ConfigError
from tagkit.storage import cannot_write

if TYPE_CHECKING:
    from accelerate import Accelerator

# One of them is set where torchrun, accelerate or MPI has started the processes.
_PROCESS_COUNTS = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")


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
    # Without this check Accelerate would train without a tracker, and say so at debug level only.
    if tracker != "none" and not has_tensorboard():
        raise ConfigError(
            f"train.tracker = {tracker!r}",
            ["it is not installed; pip install 'tagkit[tensorboard]'"],
        )
    if tracker == "none" and not any(name in os.environ for name in _PROCESS_COUNTS):
        return Processes(None)
    from accelerate import Accelerator
    from accelerate.state import is_initialized

    # Accelerate keeps device and precision for the whole program, which may train again with other
    # ones. So only the first run names a device, which decides how processes are connected (and is
    # of no use to a process without others); precision is left to torch: see `precision`.
    cpu = device.type == "cpu" and not is_initialized()
    accelerator = Accelerator(
        device_placement=False,  # model and batches are moved by us
        cpu=cpu,
        mixed_precision="no",
        log_with=None if tracker == "none" else tracker,
        project_dir=folder,
    )
    # Not at the end of a run: the program may train again.
    atexit.unregister(_disconnect)
    atexit.register(_disconnect)
    return Processes(accelerator)


def _disconnect() -> None:
    # Without this a process that ends a moment after another one is now and then aborted by what
    # connects them, whatever its exit status was to be.
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def has_tensorboard() -> bool:
    """Whether the writer of TensorBoard's files is installed, in either of its packages."""
    return any(find_spec(name) for name in ("tensorboard", "tensorboardX"))


class Processes:
    """All processes of a run, as one of them sees them.

    Each of these methods is to be called by all processes at the same point: where one does not,
    the others wait for it forever. So what depends on a clock or a signal is decided together.
    """

    def __init__(self, accelerator: "Accelerator | None") -> None:
        """`accelerator` of this process; None for a process alone without a tracker."""
        self.accelerator: Any = accelerator
        self.count: int = accelerator.num_processes if accelerator else 1
        self.rank: int = accelerator.process_index if accelerator else 0

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
        device = self.accelerator.device
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            # One long message: for tens of small ones the network's latency would add up.
            flat = self._sum(torch.cat([tensor.reshape(-1).to(device) for tensor in alike]))
            parts = torch.split(flat, [tensor.numel() for tensor in alike])
            for tensor, part in zip(alike, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def gather(self, tensor: Tensor) -> Tensor:
        """(processes, ...) the processes' tensors, by rank."""
        if self.count == 1:
            return tensor.unsqueeze(0)
        gathered: Tensor = self.accelerator.gather(tensor.unsqueeze(0).to(self.accelerator.device))
        return gathered.cpu()

    def barrier(self) -> None:
        """Wait until all processes have called this."""
        if self.count > 1:
            self.accelerator.wait_for_everyone()

    @contextmanager
    def tracking(self, name: str) -> Iterator[None]:
        """Within this context the tracker, if there is one, writes into a folder of this name.

        Raises:
            CheckpointError: it cannot write.
        """
        if self.accelerator is None:
            yield
            return
        # Around the tracker's own calls alone: other errors of the run are not its errors.
        with self._tracker_errors(name):
            self.accelerator.init_trackers(name)
        try:
            yield
        finally:
            with self._tracker_errors(name):
                # Not Accelerate's end_training: it would disconnect the processes as well.
                for tracker in self.accelerator.trackers:
                    tracker.finish()

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Send values to the tracker, if there is one.

        Raises:
            CheckpointError: it cannot write.
        """
        if self.accelerator is not None:
            with self._tracker_errors("tracker"):
                self.accelerator.log(dict(values), step=step)

    @contextmanager
    def _tracker_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(Path(self.accelerator.project_dir or name), error) from None

    def _sum(self, tensor: Tensor) -> Tensor:
        summed: Tensor = self.accelerator.reduce(tensor.to(self.accelerator.device), "sum")
        return summed
