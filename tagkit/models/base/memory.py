"""Memory that is too short: what says so, and how to free what a failed attempt held."""

import errno
import traceback

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
