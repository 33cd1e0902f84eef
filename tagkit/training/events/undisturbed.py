"""Callbacks of a program that leave torch's random numbers and threads as they were.

torch has one state of them for all of a process, and one for each GPU. A callback that draws from
it, to show a sample say, would give a run other weights than the same seed gives without it. So
would one that sets the number of threads, among which sums are split.
"""

from functools import wraps
from typing import Any, cast

import torch

from tagkit.nn.threads import kept_threads
from tagkit.training.events.callbacks import Listener


class _Undisturbed:
    """Calls a listener, and restores what is torch's after each callback."""

    def __init__(self, listener: Listener, device: torch.device) -> None:
        self._listener = listener
        self._gpus = [device] if device.type == "cuda" else []

    def __getattr__(self, name: str) -> Any:
        callback = getattr(self._listener, name)

        @wraps(callback)
        def call(*arguments: Any, **options: Any) -> None:
            with torch.random.fork_rng(self._gpus), kept_threads():
                callback(*arguments, **options)

        return call


def undisturbed(listener: Listener, device: torch.device) -> Listener:
    """Wrap a listener so that its callbacks leave the random states of a run on `device` alone.

    These are torch's state of the CPU and, on a GPU, that of this GPU. The number of threads stays
    too.
    """
    return cast(Listener, _Undisturbed(listener, device))
