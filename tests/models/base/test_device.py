"""Device selection."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS
from says import Says, refuses
from torch import nn

from tagkit.errors import DeviceError
from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.models.base import device as module
from tagkit.models.base.device import choose_device, choose_workers, joined, set_threads, to_tensors
from tagkit.nn.layers.recurrent_layer import RecurrentLayer


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(module, "check_computes", lambda device: None)


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("auto", 0, "cpu"),
        ("auto", 1, "cuda"),
        ("cpu", 1, "cpu"),
        ("cuda", 1, "cuda"),
        ("cuda:1", 2, "cuda:1"),
    ],
)
def test_auto_is_the_gpu_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, name: str, count: int, expected: str
) -> None:
    gpus(monkeypatch, count)
    assert choose_device(name) == torch.device(expected)


def test_on_a_gpu_recurrent_products_have_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 1)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    choose_device("cpu")
    assert torch.backends.cudnn.allow_tf32
    choose_device("auto")
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(
    ("name", "count", "problem"),
    [
        ("cuda", 0, Says("device cuda: ", "cpu or auto")),
        ("cuda:1", 1, Says("device cuda:1: ", "cuda:0")),
        ("cuda:4", 3, Says("device cuda:4: ", "cuda:0 to cuda:2")),
        ("mps", 1, Says("device 'mps': ")),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, name: str, count: int, problem: Says
) -> None:
    gpus(monkeypatch, count)
    with refuses(DeviceError, problem) as refused:
        choose_device(name)
    assert "cuda:1" not in str(refused.value).removeprefix("device cuda:1")


def test_a_gpu_for_which_torch_has_no_kernels_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = module.check_computes
    gpus(monkeypatch, 1)
    monkeypatch.setattr(module, "check_computes", check)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA error: no kernel image is available\nCompile with ...")

    monkeypatch.setattr(torch, "zeros", fail)
    for name in ("auto", "cuda"):
        with pytest.raises(DeviceError) as refused:
            choose_device(name)
        assert str(refused.value) == (Says("GPU", "CUDA"))
    assert choose_device("cpu").type == "cpu"


@pytest.mark.cuda
def test_a_gpu_that_computes_is_taken() -> None:
    assert choose_device("auto") == torch.device("cuda")


def test_one_thread_is_used_unless_another_number_is_asked_for(threads: int) -> None:
    assert (set_threads(3), torch.get_num_threads()) == (3, 3)
    assert (set_threads(None), torch.get_num_threads()) == (1, 1)
    assert set_threads(0) == torch.get_num_threads() >= 1
    two: Any = np.int64(2)
    assert (type(set_threads(two)), torch.get_num_threads()) == (int, 2)
    set_threads(None)


@pytest.mark.parametrize("count", [-1, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused(count: Any) -> None:
    before = torch.get_num_threads()
    with refuses(DeviceError, "threads", "1", "0"):
        set_threads(count)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("cores", "threads", "processes", "expected"),
    [(1, 1, 1, 1), (2, 1, 1, 2), (8, 1, 1, 2), (2, 2, 1, 1), (3, 2, 1, 1), (4, 2, 1, 2),
     (2, 1, 2, 1), (4, 1, 2, 2)],
)  # fmt: skip
def test_there_are_two_workers_where_each_has_cores_of_its_own(
    monkeypatch: pytest.MonkeyPatch, cores: int, threads: int, processes: int, expected: int
) -> None:
    monkeypatch.setattr("tagkit.models.base.device.default_threads", lambda: cores)
    both, one = _layers(bidirectional=True), _layers(bidirectional=False)
    assert choose_workers("auto", threads, processes, both) == expected
    assert [choose_workers(count, threads, processes, both) for count in (1, 2)] == [1, 2]
    # Nothing is left for a second one.
    assert [choose_workers(count, threads, processes, one) for count in ("auto", 1, 2)] == [1, 1, 1]


def _layers(*, bidirectional: bool) -> nn.Module:
    layer = RecurrentLayer(
        cell="gru", options=CELL_OPTIONS, inputs=2, hidden=2, bidirectional=bidirectional,
        merge="concat", segment=0,
    )  # fmt: skip
    return nn.Sequential(nn.Linear(2, 2), layer)


@pytest.mark.parametrize("count", [1025, 10**20])
def test_more_threads_than_a_system_has_are_refused(count: int) -> None:
    with refuses(DeviceError, "threads", "1,024", "10"):
        set_threads(count)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_numbers_that_are_not_of_32_bits_by_default_are_refused(dtype: torch.dtype) -> None:
    torch.set_default_dtype(dtype)
    try:
        with pytest.raises(DeviceError) as caught:
            choose_device("cpu")
    finally:
        torch.set_default_dtype(torch.float32)
    assert str(caught.value) == (
        f"torch's default type of numbers is {dtype}, and models have float32: call "
        "torch.set_default_dtype(torch.float32) first"
    )


META = torch.device("meta")


def a_batch() -> Batch[Arrays]:
    groups = (np.array([[2], [3]]), np.array([[4, 5]]))
    words = Words(np.array([3, 2, 4]), np.array([0, 1, 0]), groups, np.zeros((3, 0), np.int64))
    mask = np.array([[True, True], [True, False]])
    states = np.ones((2, 2, 3), np.float32)
    tokens = Tokens(np.array([[0, 1], [2, 0]]), mask, (), np.array([0, 1]), states)
    return Batch(words, tokens, {"tags": np.array([[1, 0], [1, 0]])}, np.ones(2, np.float32))


def parts(batch: Batch[Any]) -> list[Any]:
    words, tokens = batch.words, batch.tokens
    return [words.word_ids, words.vector_rows, *words.char_ids, words.affix_ids, tokens.rows,
            tokens.mask, tokens.documents, tokens.contextual, *batch.targets.values(),
            batch.weights]  # fmt: skip


def test_tensors_have_the_memory_and_the_type_of_their_arrays_on_a_cpu() -> None:
    batch = a_batch()
    pairs = [*zip(parts(batch), parts(to_tensors(batch)), strict=True)]
    assert all(np.may_share_memory(own, tensor.numpy()) for own, tensor in pairs if own.size)
    assert [own.dtype for own, _ in pairs] == [tensor.numpy().dtype for _, tensor in pairs]
    assert to_tensors(batch.words).word_ids.tolist() == [3, 2, 4]
    assert to_tensors(replace(batch.tokens, documents=None)).documents is None


def test_every_array_of_a_batch_goes_to_another_device() -> None:
    moved = to_tensors(a_batch(), META)
    assert [group.shape for group in moved.words.char_ids] == [(3, 2)]
    assert all(tensor.is_meta for tensor in parts(moved))


def test_groups_of_words_are_joined_in_order_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = [
        np.array([[2], [3]]),
        np.array([[4, 5, 0], [6, 7, 8]]),
        np.array([[9] * 4]),
    ]
    (whole,) = joined(groups)
    assert whole.tolist() == [[2, 0, 0, 0], [3, 0, 0, 0], [4, 5, 0, 0], [6, 7, 8, 0], [9, 9, 9, 9]]
    monkeypatch.setattr(module, "_JOINED_CHARS", 12)  # the first two, with their padding
    first, second = joined(groups)
    assert first.tolist() == [[2, 0, 0], [3, 0, 0], [4, 5, 0], [6, 7, 8]]
    assert second is groups[2]
    monkeypatch.setattr(module, "_JOINED_CHARS", 1)  # no group is cut
    assert all(one is other for one, other in zip(joined(groups), groups, strict=True))
    assert joined([]) == ()


def test_groups_are_joined_on_their_way_to_a_gpu() -> None:
    words = Words(np.array([3, 2]), np.array([0, 1]),
                  (np.array([[2]]), np.array([[3, 4]])), np.zeros((2, 0)))  # fmt: skip
    assert [group.shape for group in to_tensors(words, META).char_ids] == [(2, 2)]
    assert len(to_tensors(words).char_ids) == 2
