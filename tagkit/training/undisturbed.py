"""Callbacks of a program that leave torch's random numbers as they were.

torch has one state of them for all of a process, and one for each GPU. A callback that draws from
it, to show a sample say, would give a run other weights than the same seed gives without it.
"""

from functools import wraps
from typing import Any, cast

import torch

from tagkit.training.callbacks import Listener


class _Undisturbed:
    """Calls a listener, and restores torch's random states after each callback."""

    def __init__(self, listener: Listener, device: torch.device) -> None:
        self._listener = listener
        self._gpus = [device] if device.type == "cuda" else []

    def __getattr__(self, name: str) -> Any:
        callback = getattr(self._listener, name)

        @wraps(callback)
        def call(*arguments: Any, **options: Any) -> None:
            with torch.random.fork_rng(self._gpus):
                callback(*arguments, **options)

        return call


def undisturbed(listener: Listener, device: torch.device) -> Listener:
    """Wrap a listener so that its callbacks leave the random states of a run on `device` alone.

    These are torch's state of the CPU and, on a GPU, that of this GPU.
    """
    return cast(Listener, _Undisturbed(listener, device))
