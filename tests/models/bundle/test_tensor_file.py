"""Files of tensors: their bytes are those of safetensors, and no tensor is copied on the way."""

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save
from says import refuses

from tagkit.models.bundle.tensor_file import (
    DTYPES,
    link_or_copy,
    link_or_write,
    read_into,
    read_tensors,
    write_tensors,
)


def some() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    kinds = {name: torch.arange(6).to(dtype).reshape(2, 3) for dtype, name in DTYPES.items()}
    return {
        **kinds,
        "a weight": torch.randn(5, 4),
        "transposed": torch.randn(3, 4).T,
        "none": torch.zeros(0, 3),
        "number": torch.tensor(3),
        "not finite, or -0": torch.tensor([float("nan"), -0.0, float("inf")]),
        "ü": torch.ones(1),
    }


def test_the_bytes_are_those_that_safetensors_writes(tmp_path: Path) -> None:
    tensors = some()
    digest = write_tensors(tmp_path / "a", tensors)
    expected = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    assert (tmp_path / "a").read_bytes() == expected
    assert digest == hashlib.sha256(expected).hexdigest()


@given(sizes=st.lists(st.integers(0, 40), max_size=5), data=st.data())
def test_reading_what_was_written_gives_it_back(
    sizes: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tensors") / "a"
    dtypes = st.sampled_from([torch.float32, torch.int64, torch.uint8, torch.bool])
    tensors = {
        f"t{number}": torch.arange(size).to(data.draw(dtypes)) for number, size in enumerate(sizes)
    }
    digest = write_tensors(path, tensors)
    found, again = read_tensors(path)
    assert digest == again
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_writing_and_reading_make_no_copy_of_the_tensors(tmp_path: Path) -> None:
    size = 8 * 2**20
    tensors = {name: torch.ones(size // 4) for name in "ab"}
    tracemalloc.start()  # memory of Python; that of tensors is not counted
    try:
        write_tensors(tmp_path / "a", tensors)
        read_tensors(tmp_path / "a")
        link_or_write(tmp_path / "b", tensors, [tmp_path / "a"])
        assert tracemalloc.get_traced_memory()[1] < 3 * 2**20
        tracemalloc.reset_peak()
        save(tensors)
        assert tracemalloc.get_traced_memory()[1] >= 2 * size  # so it would be seen
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("more", [False, True])
def test_a_file_that_holds_the_same_gets_a_second_name(tmp_path: Path, more: bool) -> None:
    tensors = some()
    held = {**tensors, "more": torch.ones(2)} if more else tensors
    digest = write_tensors(tmp_path / "a", held)
    assert link_or_write(tmp_path / "b", tensors, [tmp_path / "none", tmp_path / "a"]) == digest
    assert (tmp_path / "b").samefile(tmp_path / "a")


def _of_another_name(tensors: dict[str, torch.Tensor]) -> None:
    tensors["number 2"] = tensors.pop("number")


def _of_another_shape(tensors: dict[str, torch.Tensor]) -> None:
    tensors["a weight"] = tensors["a weight"].T


def _of_another_sign_of_zero(tensors: dict[str, torch.Tensor]) -> None:
    tensors["not finite, or -0"][1] = 0.0


@pytest.mark.parametrize("change", [_of_another_name, _of_another_shape, _of_another_sign_of_zero])
def test_a_file_that_holds_others_does_not(
    tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    held = some()
    change(held)
    write_tensors(tmp_path / "a", held)
    (tmp_path / "broken").write_bytes(b"no tensors")
    link_or_write(tmp_path / "b", some(), [tmp_path / "a", tmp_path / "broken"])
    assert not (tmp_path / "b").samefile(tmp_path / "a")
    assert (tmp_path / "b").stat().st_nlink == 1
    assert torch.equal(load_file(tmp_path / "b")["a weight"], some()["a weight"])


def _header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode()


DAMAGED = [
    (b"", "a has no header"),
    (b"\xff" * 100, "a has no header"),
    (_header("[]"), "a has no header"),
    (_header('{"x":1}'), "a has an entry that is no tensor"),
    (_header('{"x":{"dtype":"F7","shape":[],"data_offsets":[0,4]}}') + bytes(4),
     "a has an entry that is no tensor"),
    (_header('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}') + bytes(4),
     "a has a tensor of another size than its shape"),
    (_header('{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}') + bytes(8),
     "a has a gap between its tensors"),
    (_header('{"x":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}'),
     "a has another size than its header says"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "problem"), DAMAGED)
def test_a_damaged_file_is_refused_before_memory_is_taken(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    (tmp_path / "a").write_bytes(content)
    with refuses(ValueError, problem):
        read_tensors(tmp_path / "a")


def test_tensors_are_filled_from_a_file_in_their_own_memory(tmp_path: Path) -> None:
    digest = write_tensors(tmp_path / "a", some())
    tensors = {name: torch.zeros_like(tensor) for name, tensor in some().items()}
    assert not tensors["transposed"].is_contiguous()
    assert read_into(tmp_path / "a", tensors) == digest
    assert write_tensors(tmp_path / "b", tensors) == digest
    for change in (_of_another_name, _of_another_shape):
        change(tensors)
        with refuses(ValueError, "tensors"):
            read_into(tmp_path / "a", tensors)
        tensors = some()


def test_without_hard_links_a_file_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"content")
    link_or_copy(tmp_path / "b", tmp_path / "a")
    assert (tmp_path / "b").samefile(tmp_path / "a")

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("os.link", refuse)
    link_or_copy(tmp_path / "c", tmp_path / "a")
    assert (tmp_path / "c").read_bytes() == b"content"
    assert not (tmp_path / "c").samefile(tmp_path / "a")
