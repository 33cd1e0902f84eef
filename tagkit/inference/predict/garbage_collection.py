"""Prediction and scoring without Python's garbage collector, which would find nothing."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Pauses:
    """Pauses of the garbage collector in progress, in all threads.

    Attributes:
        count: how many.
        was_enabled: whether the collector was enabled before the first of them.
    """

    count: int = 0
    was_enabled: bool = False


_pauses, _lock, _own = _Pauses(), threading.Lock(), threading.local()


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, unless the caller has already done so.

    Answers are tens of thousands of small objects without cycles. The collector searched the new
    ones 240 times for a corpus of 47,000 tokens, a fifth of the time, and all objects of the
    process again and again: prediction became slower the more answers a program kept. The same is
    true of the sentences and spans of files that are compared, which took a third longer.
    """
    if getattr(_own, "is_paused", False):  # by a pause around this one, which ends later
        yield
        return
    # Between a look and what follows from it no other thread may end its pause: the collector would
    # never be enabled again.
    with _lock:
        if not _pauses.count:
            _pauses.was_enabled = gc.isenabled()
        _pauses.count += 1
        gc.disable()
    _own.is_paused = True
    try:
        yield
    finally:
        _own.is_paused = False
        with _lock:
            _pauses.count -= 1
            # Though other threads go on: where one always does, it would never run.
            if _pauses.was_enabled:
                gc.enable()


def _forget_other_threads() -> None:
    """In a process that was forked: the pauses of other threads never end there."""
    global _lock
    _lock = threading.Lock()  # another thread may have held it
    was_paused, is_paused = bool(_pauses.count), getattr(_own, "is_paused", False)
    _pauses.count = int(is_paused)
    if was_paused and not is_paused and _pauses.was_enabled:
        gc.enable()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_forget_other_threads)
