"""Tensors <-> a file in the safetensors format, one tensor at a time.

safetensors' own writer makes two copies of all tensors before the first byte is written. Here each
tensor is written from its own memory, read into its own memory, and hashed on the way; the bytes of
the file are the same.
"""

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagkit.errors import BundleError
from tagkit.models.folder.weights_header import are_counts, read_header

# Names in the format, in the order of the data: the widest first, so that each tensor is aligned.
DTYPES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}
_ORDER = {dtype: number for number, dtype in enumerate(DTYPES)}
_READ_BLOCK = 2**20  # bytes of a file that are read and compared at a time
_MEMORY_BLOCK = 2**16  # bytes of two tensors in memory that are compared at a time


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor in the header of a file.

    Attributes:
        name: of the tensor.
        dtype: of its numbers.
        shape: of the tensor.
        size: of its data in bytes.
    """

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    size: int


def bytes_of(tensor: Tensor) -> memoryview:
    """The memory of a contiguous tensor on the CPU, as bytes."""
    # (any shape) -> (numbers,) -> (bytes,): views of the same memory
    content: Any = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return memoryview(content)


def are_equal(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors have the same bytes: 0 and -0, or NaN, are compared as bytes too."""
    if left.device.type != "cpu" or not (left.is_contiguous() and right.is_contiguous()):
        left, right = left.cpu().contiguous(), right.cpu().contiguous()
    # Most pairs differ in their first block; comparing all of two large tensors takes longer.
    ours, theirs = bytes_of(left), bytes_of(right)
    return all(
        ours[begin : begin + _MEMORY_BLOCK] == theirs[begin : begin + _MEMORY_BLOCK]
        for begin in range(0, len(ours), _MEMORY_BLOCK)
    )


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write a new file; its SHA-256 in hexadecimal.

    Args:
        path: of the file.
        tensors: by name. One on a GPU, or one that is not contiguous, is copied alone.

    Raises:
        OSError: it cannot be written.
    """
    names = sorted(tensors, key=lambda name: (_ORDER[tensors[name].dtype], name))
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        tensor = tensors[name]
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that the data are aligned
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for part in (len(text).to_bytes(8, "little"), text):
            file.write(part)
            digest.update(part)
        for name in names:
            content = bytes_of(_as_in_file(tensors[name]))
            file.write(content)
            digest.update(content)
    return digest.hexdigest()


def read_tensors(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file, and its SHA-256 in hexadecimal.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no safetensors file, or it ends early.
    """
    digest = hashlib.sha256()
    tensors: dict[str, Tensor] = {}
    with path.open("rb") as file:
        raw, entries = _read_entries(file, path)
        digest.update(raw)
        for entry in entries:
            fresh = torch.empty(entry.shape, dtype=entry.dtype)
            tensors[entry.name] = read_data(file, path, fresh, digest.update)
    return tensors, digest.hexdigest()


def read_into(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Fill tensors with those of a file, which has the same names; its SHA-256 in hexadecimal.

    No memory is needed for tensors on the CPU: each is read into its own.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no file of such tensors, or it ends early; some may be filled.
    """
    with path.open("rb") as file:
        raw, entries = _read_entries(file, path)
        kinds = {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()}
        if {entry.name: (entry.dtype, entry.shape) for entry in entries} != kinds:
            raise ValueError(f"{path.name} holds other tensors")
        digest = hashlib.sha256(raw)
        for entry in entries:
            wanted = tensors[entry.name].detach()
            direct = wanted.device.type == "cpu" and wanted.is_contiguous()
            memory = wanted if direct else torch.empty(entry.shape, dtype=entry.dtype)
            found = read_data(file, path, memory, digest.update)
            if found is not wanted:
                wanted.copy_(found)
    return digest.hexdigest()


def link_or_copy(path: Path, source: Path) -> None:
    """Make a new file a second name of `source`, or a copy where there are no hard links.

    Raises:
        OSError: it can be neither.
    """
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)


def link_or_write(path: Path, tensors: Mapping[str, Tensor], candidates: Iterable[Path]) -> str:
    """Write a new file, or make it a second name of one that holds the same; its SHA-256.

    Args:
        path: of the file.
        tensors: by name.
        candidates: files that may hold these tensors, bit for bit, and others besides. None is
            ever written to: files are replaced by a rename, which leaves the other name as it is.

    Raises:
        OSError: it cannot be written.
    """
    for candidate in candidates:
        with suppress(OSError):  # it is not there, or the file system has no hard links
            os.link(candidate, path)
            # Through the new name, which nobody else replaces meanwhile.
            if found := _digest_if_equal(path, tensors):
                return found
        path.unlink(missing_ok=True)
    return write_tensors(path, tensors)


def _digest_if_equal(path: Path, tensors: Mapping[str, Tensor]) -> str | None:
    """The SHA-256 of a file that holds these tensors; else None. It is read block by block."""
    with path.open("rb") as file:
        try:
            raw, entries = _read_entries(file, path)
        except ValueError:
            return None
        kinds = {entry.name: (entry.dtype, entry.shape) for entry in entries}
        if any(kinds.get(name) != (t.dtype, tuple(t.shape)) for name, t in tensors.items()):
            return None
        digest = hashlib.sha256(raw)
        for entry in entries:
            wanted = tensors.get(entry.name)
            content = None if wanted is None else bytes_of(_as_in_file(wanted))
            for begin in range(0, entry.size, _READ_BLOCK):
                block = file.read(min(_READ_BLOCK, entry.size - begin))
                if content is not None and content[begin : begin + _READ_BLOCK] != block:
                    return None
                digest.update(block)
    return digest.hexdigest()


def _as_in_file(tensor: Tensor) -> Tensor:
    """The tensor with the bytes of the file, on the CPU; mostly the tensor itself."""
    found = tensor.detach().cpu().contiguous()
    return found if sys.byteorder == "little" else torch.from_numpy(found.numpy().byteswap())


def read_data(
    file: BufferedReader, path: Path, memory: Tensor, count: Callable[[memoryview], None]
) -> Tensor:
    """The next tensor of a file: `memory`, or a copy where this machine orders bytes otherwise.

    Args:
        file: behind its header and all tensors before.
        path: of the file.
        memory: contiguous and on the CPU; the bytes of the file are read into it.
        count: called with these bytes, for a digest.

    Raises:
        ValueError: the file ends early.
    """
    content = bytes_of(memory)
    if file.readinto(content) != len(content):
        raise ValueError(f"{path.name} was cut short while it was read")
    count(content)
    return _as_in_file(memory)  # swapping twice gives it back


def _read_entries(file: BufferedReader, path: Path) -> tuple[bytes, list[Entry]]:
    """The bytes of the header, and its tensors in the order of their data.

    No memory is taken for a size that the file does not have.
    """
    try:
        header = read_header(file, path.stat().st_size, path)
    except BundleError:
        raise ValueError(f"{path.name} has no header") from None
    entries = list(_entries(header.tensors, path.name))
    if len(header.raw) + sum(entry.size for entry in entries) != header.size:
        raise ValueError(f"{path.name} has another size than its header says")
    return header.raw, entries


def _entries(header: Mapping[str, Any], source: str) -> Iterator[Entry]:
    """Checked entries of a header, in the order of their data, which has no gaps."""
    rows: list[tuple[int, int, Entry]] = []
    for name, found in header.items():
        row = found if isinstance(found, dict) else {}
        dtype = _BY_NAME.get(str(row.get("dtype")))
        shape, offsets = row.get("shape"), row.get("data_offsets")
        if dtype is None or not are_counts(shape) or not are_counts(offsets) or len(offsets) != 2:
            raise ValueError(f"{source} has an entry that is no tensor")
        size = offsets[1] - offsets[0]
        if math.prod(shape) * dtype.itemsize != size:
            raise ValueError(f"{source} has a tensor of another size than its shape")
        rows.append((offsets[0], offsets[1], Entry(name, dtype, tuple(shape), size)))
    end = 0
    for begin, after, entry in sorted(rows, key=lambda row: row[:2]):
        if begin != end:
            raise ValueError(f"{source} has a gap between its tensors")
        end = after
        yield entry
