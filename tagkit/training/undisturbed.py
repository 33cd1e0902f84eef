"""Callbacks of a program that leave torch's random numbers as they were.

torch has one state of them for all of a process. A callback that draws from it, to show a sample
say, would give a run other weights than the same seed gives without it.
"""

from functools import wraps
from typing import Any, cast

import torch

from tagkit.training.callbacks import Listener


class _Undisturbed:
    """Calls a listener, and restores torch's random state after each callback."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def __getattr__(self, name: str) -> Any:
        callback = getattr(self._listener, name)

        @wraps(callback)
        def call(*arguments: Any) -> None:
            before = torch.get_rng_state()
            try:
                callback(*arguments)
            finally:
                torch.set_rng_state(before)

        return call


def undisturbed(listener: Listener) -> Listener:
    """Wrap a listener so that its callbacks leave torch's random state as it was."""
    return cast(Listener, _Undisturbed(listener))
