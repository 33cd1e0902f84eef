"""Prediction and scoring without Python's garbage collector, which would find nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, unless the caller has already done so.

    Answers are tens of thousands of small objects without cycles. The collector searched the new
    ones 240 times for a corpus of 47,000 tokens, a fifth of the time, and all objects of the
    process again and again: prediction became slower the more answers a program kept. The same is
    true of the sentences and spans of files that are compared, which took a third longer.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
