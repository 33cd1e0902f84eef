"""The header of a file of weights: what it holds, before memory is taken for any of it. No torch.

A safetensors file is eight bytes with the length of its header, the header in JSON (name -> dtype,
shape, data_offsets), and the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeGuard

from tagkit.errors import BundleError
from tagkit.text.json_text import from_json

MAX_HEADER_BYTES = 16 * 2**20  # a model has some hundred tensors of some hundred bytes each


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a safetensors file.

    Attributes:
        tensors: name -> dtype, shape and data_offsets as found in the file, unchecked.
        raw: all bytes before the data.
        size: of the whole file, in bytes.
    """

    tensors: Mapping[str, Any]
    raw: bytes
    size: int

    def by_offset(self) -> list[str]:
        """Names of the tensors, which have been checked, in the order of their data."""
        return sorted(self.tensors, key=lambda name: self.tensors[name]["data_offsets"])


def read_header(file: BufferedReader, size: int, path: Path) -> Header:
    """The header of a file of `size` bytes; the file is read up to its data.

    Raises:
        BundleError: there is no valid header.
    """
    start = file.read(8)
    length = int.from_bytes(start, "little")  # unsigned, up to 2**64: nothing is read before the if
    if len(start) < 8 or length > min(MAX_HEADER_BYTES, size - 8):
        raise BundleError(f"{path}: not a safetensors file: expected a header, found none")
    raw = file.read(length)
    try:
        tensors = from_json(raw)
    except ValueError as error:
        raise BundleError(f"{path}: not a safetensors file: its header is {error}") from None
    if not isinstance(tensors, dict):
        raise BundleError(f"{path}: not a safetensors file: its header is not a JSON object")
    tensors.pop("__metadata__", None)  # strings that other programs may add; not a tensor
    return Header(tensors, start + raw, size)


def are_counts(value: Any) -> TypeGuard[list[int]]:
    """Whether a value of JSON is a list of integers, none below 0."""
    # `type(each) is int`: JSON's true would pass isinstance, as bool is an int.
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)
