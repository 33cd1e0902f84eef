"""Files of tensors: their bytes are those of safetensors, and none is copied to be written."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save
from says import refuses

from tagkit.models.bundle.tensor_file import (
    DTYPES,
    are_equal,
    link_or_copy,
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


def test_writing_makes_no_copy_of_the_tensors(tmp_path: Path) -> None:
    size = 8 * 2**20
    tensors = {name: torch.ones(size // 4) for name in "ab"}
    tracemalloc.start()  # memory of Python; that of tensors is not counted
    try:
        write_tensors(tmp_path / "a", tensors)
        assert tracemalloc.get_traced_memory()[1] < 3 * 2**20
        tracemalloc.reset_peak()
        save(tensors)
        assert tracemalloc.get_traced_memory()[1] >= 2 * size  # so it would be seen
    finally:
        tracemalloc.stop()


def _of_another_name(tensors: dict[str, torch.Tensor]) -> None:
    tensors["number 2"] = tensors.pop("number")


def _of_another_shape(tensors: dict[str, torch.Tensor]) -> None:
    tensors["a weight"] = tensors["a weight"].T


def test_tensors_are_equal_where_their_bytes_are() -> None:
    for tensor in some().values():
        assert are_equal(tensor, tensor.clone())
    zero, large = torch.zeros(1), torch.zeros(100_000)
    assert not are_equal(zero, -zero)
    assert not are_equal(large, large.index_fill(0, torch.tensor(99_999), 1.0))


def _header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode()


DAMAGED = [
    b"",
    b"\xff" * 100,
    _header("[]"),
    _header("[" * 100_000),
    _header("{"),
    _header('{"x":1}'),
    _header('{"x":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}}') + bytes(4),
    _header('{"x":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}') + bytes(4),
    _header('{"x":{"dtype":"F7","shape":[],"data_offsets":[0,4]}}') + bytes(4),
    _header('{"x":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}') + bytes(1),
    _header('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}') + bytes(4),
    _header('{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}') + bytes(8),
    _header('{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}') + bytes(8),
    _header('{"x":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}'),
    _header('{"x":{"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,4]}}'),
    _header('{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}}'),
]


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_file_is_refused_before_memory_is_taken(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with refuses(ValueError, "a") as refused:
        read_tensors(tmp_path / "a")
    assert len(str(refused.value)) < 240


def test_tensors_are_filled_from_a_file(tmp_path: Path) -> None:
    digest = write_tensors(tmp_path / "a", some())
    tensors = {name: torch.zeros_like(tensor) for name, tensor in some().items()}
    assert not tensors["transposed"].is_contiguous()
    assert read_into(tmp_path / "a", tensors) == digest
    assert write_tensors(tmp_path / "b", tensors) == digest
    for change in (_of_another_name, _of_another_shape):
        change(tensors)
        with refuses(ValueError, "other tensors"):
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
