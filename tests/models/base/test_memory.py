"""Memory that is too short; the garbage collector is paused in prediction, and then as before."""

import errno
import gc
import os
import threading
import warnings
from types import SimpleNamespace

import pytest
import torch

from tagkit.models.base.memory import forget, is_out_of_memory, without_collection
from tagkit.nn.threads import chosen_threads


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


@without_collection()
def is_collecting() -> bool:
    return gc.isenabled()


def test_it_is_paused_and_enabled_again() -> None:
    assert gc.isenabled()
    assert not is_collecting()
    assert gc.isenabled()


def test_an_error_enables_it_again() -> None:
    with pytest.raises(KeyError), without_collection():
        raise KeyError
    assert gc.isenabled()


def test_a_caller_that_has_paused_it_keeps_it_paused() -> None:
    with without_collection():
        assert not is_collecting()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_pauses_of_several_threads_leave_it_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def first() -> None:
        with without_collection():
            begun.set()
            may_end.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait(10)

    def looked() -> bool:  # as the second one looks, the first one ends
        found = gc.isenabled()
        may_end.set()
        thread.join(10)
        return found

    watched = SimpleNamespace(isenabled=looked, disable=gc.disable, enable=gc.enable)
    monkeypatch.setattr("tagkit.models.base.memory.gc", watched)
    with without_collection():
        may_end.set()
    thread.join(10)
    assert gc.isenabled()


def test_it_is_enabled_where_one_thread_ends_and_another_goes_on() -> None:
    ended = threading.Event()

    def first() -> None:
        with without_collection():
            pass
        ended.set()

    with without_collection():
        threading.Thread(target=first).start()
        ended.wait(10)
        assert gc.isenabled()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_in_a_process_that_is_forked_while_another_thread_predicts_it_is_as_before() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def predict() -> None:
        with without_collection(), chosen_threads():
            begun.set()
            may_end.wait(10)

    thread = threading.Thread(target=predict)
    thread.start()
    begun.wait(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if not child:
        try:
            before = gc.isenabled()
            with chosen_threads():
                found = is_collecting()
            os._exit(0 if before and not found and gc.isenabled() else 1)
        finally:
            os._exit(2)
    may_end.set()
    thread.join(10)
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_pause_goes_on_in_a_process_that_is_forked_within_it() -> None:
    with without_collection():
        child = os.fork()
        if not child:
            try:
                os._exit(1 if gc.isenabled() else 0)
            finally:
                os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
