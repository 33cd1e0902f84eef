"""One thread for NumPy's products of matrices, however many cores there are.

NumPy's BLAS spreads a product over all cores from a size on that a step of eight sentences has, and
its threads wait for one another in a loop. On cores that other work uses they wait for as long as
that work is given: prediction in batches of 8 to 12 sentences took 30 ms a sentence in place of
0.8, on two cores with two other processes. On idle ones two threads gained 4 %.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0  # blocks that are being executed, in all threads
_limited: Any = None  # what restores the numbers of threads of before


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process."""
    from threadpoolctl import ThreadpoolController  # looks through all libraries that are loaded

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it NumPy's products have one thread: those of other threads of the program too.

    The number of threads belongs to the process. So it is restored when the last of several blocks
    ends, which may be in several threads.
    """
    global _inside, _limited
    with _lock:
        if not _inside:
            _limited = _libraries().limit(limits=1)
        _inside += 1  # not before: a limit that failed is none to restore
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limited.restore_original_limits()
