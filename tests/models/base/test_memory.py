"""Memory that is too short."""

import errno

import pytest
import torch

from tagkit.models.base.memory import forget, is_out_of_memory


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
        RuntimeError("[alloc_cpu.cpp:125] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
        RuntimeError("could not execute a primitive"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)  # fmt: skip
def test_what_says_that_memory_is_short_is_recognised(error: BaseException) -> None:
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        ValueError("out of memory"),  # a word of the input
        OSError(errno.ENOSPC, "No space left on device"),
        RecursionError(),
    ],
)
def test_other_errors_are_not(error: BaseException) -> None:
    assert not is_out_of_memory(error)


def test_what_a_failed_attempt_held_is_freed() -> None:
    class Held:
        there = 0

        def __init__(self) -> None:
            Held.there += 1

        def __del__(self) -> None:
            Held.there -= 1

    def attempt() -> None:
        held = Held()
        raise MemoryError(held is None)

    try:
        attempt()
    except MemoryError as error:
        assert Held.there == 1
        forget(error)
        assert Held.there == 0
