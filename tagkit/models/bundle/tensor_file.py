"""Tensors <-> a file in the safetensors format.

The library safetensors reads such files. It reads rather than maps them (`pread`): the weights of a
model in use would change where somebody writes into a mapped file. They are written here, in the
same bytes, as the library's writer would first copy all tensors of a GPU, makes files that their
owner alone can read, and does not say by number which error of the system it met (a full disk).
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tagkit.wording import quoted

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
_ORDER = {dtype: number for number, dtype in enumerate(DTYPES)}


def are_equal(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors of one kind have the same bytes; 0 and -0 are not equal, a NaN may be."""
    return torch.equal(_bytes_of(left), _bytes_of(right).to(left.device))


def _bytes_of(tensor: Tensor) -> Tensor:
    """(bytes,) the memory of a contiguous tensor, or of a contiguous copy."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


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
            content: Any = _bytes_of(_as_in_file(tensors[name])).numpy().data
            file.write(content)
            digest.update(content)
    return digest.hexdigest()


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """An open file of tensors (`safetensors.safe_open`): its header and its size agree.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no safetensors file, or it ends early.
    """
    path.open("rb").close()  # of a file that cannot be opened, the library gives no number
    try:
        with safe_open(path, framework="pt", backend="pread") as file:
            yield file
    except SafetensorError as error:
        problem = quoted(str(error).rpartition("header: ")[2], 200)[1:-1]
        raise ValueError(f"{path.name}: not a valid safetensors file: {problem}") from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a file, and its SHA-256 in hexadecimal.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no safetensors file, or it ends early.
    """
    with open_tensors(path) as file:
        if not {dtype for dtype, _ in kinds_in(file).values()} <= set(DTYPES.values()):
            raise ValueError(f"{path.name} has numbers of an unknown type")
        tensors: dict[str, Tensor] = file.get_tensors()
    # Afterwards: of a file that was replaced meanwhile, the digest must not be that of the old one.
    return tensors, file_digest(path)


def read_into(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Fill tensors with those of a file, which has the same names; its SHA-256 in hexadecimal.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no file of such tensors, or it ends early; some may be filled.
    """
    with open_tensors(path) as file:
        if kinds_in(file) != {name: kind_of(tensor) for name, tensor in tensors.items()}:
            raise ValueError(f"{path.name} holds other tensors")
        for name, tensor in tensors.items():
            tensor.detach().copy_(file.get_tensor(name))
    return file_digest(path)


def kinds_in(file: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each tensor in a file of `open_tensors`; none of them is read."""
    slices = {name: file.get_slice(name) for name in file.keys()}
    return {name: (each.get_dtype(), tuple(each.get_shape())) for name, each in slices.items()}


def kind_of(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    """Dtype, by its name in the format, and shape."""
    return DTYPES[tensor.dtype], tuple(tensor.shape)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def link_or_copy(path: Path, source: Path) -> None:
    """Make a new file a second name of `source`, or a copy where there are no hard links.

    Raises:
        OSError: it can be neither.
    """
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)


def _as_in_file(tensor: Tensor) -> Tensor:
    """The tensor with the bytes of the file, on the CPU; mostly the tensor itself."""
    found = tensor.detach().cpu().contiguous()
    return found if sys.byteorder == "little" else torch.from_numpy(found.numpy().byteswap())
