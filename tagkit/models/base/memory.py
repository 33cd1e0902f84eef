"""Memory: what says that it is short, what a failed attempt held, and pauses of its collector."""

import errno
import gc
import os
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# torch.OutOfMemoryError is of a GPU's allocator alone. A CPU's is a RuntimeError with one of the
# first three texts, and cuBLAS and cuDNN report a status of their own.
_TEXTS = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "alloc_failed",
    "allocation_failed",
    # oneDNN asks for its own memory when a layer is computed, and says no more than this.
    "could not execute a primitive",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was too short, of the CPU or of a GPU."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(each in text for each in _TEXTS)
    )


def forget(error: BaseException) -> None:
    """Free what an attempt held that ended with this error, so that a smaller one has room."""
    import torch  # not above: commands ask what an error is before they need torch

    # The traceback holds the frames of the failed attempt, and they hold its activations.
    traceback.clear_frames(error.__traceback__)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


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
