"""How many threads compute: one, unless another number was chosen, however many cores there are.

NumPy's BLAS and torch spread a product over all cores from a small size on, and their threads wait
for one another in a loop. On cores that other work uses they wait for as long as that work is
given: on two cores with two other processes, prediction in batches of 8 to 12 sentences took 30 ms
a sentence with NumPy's threads in place of 0.8, and single sentences 44 ms with torch's in place
of 2. On idle cores two threads of NumPy gained 4 %.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any

import torch

_lock = Lock()
_chosen = 1  # threads of torch
_inside = 0  # blocks that are being executed, in all threads of the program
_before = 1  # threads of torch outside of them
_limited: Any = None  # what restores the numbers of threads of BLAS
_own = local()  # `depth`: blocks that this thread is in


def choose_threads(count: int) -> None:
    """Let torch have so many threads from now on, within `chosen_threads` and elsewhere."""
    global _chosen, _before
    _chosen = _before = count
    torch.set_num_threads(count)


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process."""
    # As it is imported, threadpoolctl sets a variable of the environment that processes which this
    # one starts would have too.
    name = "KMP_DUPLICATE_LIB_OK"
    before = os.environ.get(name)
    from threadpoolctl import ThreadpoolController  # looks through all libraries that are loaded

    if before is None:
        os.environ.pop(name, None)
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def chosen_threads() -> Iterator[None]:
    """Within it torch has the threads that were chosen, and NumPy's products have one.

    These numbers belong to the process: other threads of the program have them too. So they are
    restored when the last of several blocks ends, which may be in several threads.
    """
    global _inside, _before, _limited
    with _lock:
        if not _inside:
            _limited = _libraries().limit(limits=1)
            _before = torch.get_num_threads()
        _inside += 1  # not before: a limit that failed is none to restore
        torch.set_num_threads(_chosen)
    _own.depth = _depth() + 1
    try:
        yield
    finally:
        _own.depth -= 1
        with _lock:
            _inside -= 1
            if not _inside:
                _limited.restore_original_limits()
                torch.set_num_threads(_before)


@contextmanager
def given_threads(count: int) -> Iterator[None]:
    """`chosen_threads` with so many threads of torch, whatever number was chosen before.

    At the end that number is the chosen one again.
    """
    global _chosen
    with kept_threads():
        _chosen = count
        with chosen_threads():
            yield


@contextmanager
def kept_threads() -> Iterator[None]:
    """At the end torch has the threads that it has now, and the same number is the chosen one."""
    global _chosen, _before
    chosen, before, now = _chosen, _before, torch.get_num_threads()
    try:
        yield
    finally:
        _chosen, _before = chosen, before
        torch.set_num_threads(now)


def _depth() -> int:
    depth: int = getattr(_own, "depth", 0)
    return depth


def _forget_other_threads() -> None:
    """In a process that was forked: of all threads it has the one that forked.

    Blocks of the others never end there, and one of them may have held the lock. The numbers of
    threads are left as they are: one is enough there.
    """
    global _inside, _lock
    _lock, _inside = Lock(), _depth()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_forget_other_threads)
