"""The weights of a model folder: the header is compared with the model before any data is read.

A safetensors file is eight bytes with the length of its header, the header in JSON (name -> dtype,
shape, data_offsets), and the data. What a header claims is believed only where the model's own
shapes and the file's size agree with it, so that a false size costs no memory. Each tensor is read
straight into its place: loading needs the memory of the weights once.
"""

import hashlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tagkit.config import Config
from tagkit.errors import BundleError, shorten
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.model import Model
from tagkit.models.task_table import task_of
from tagkit.text.json_text import from_json

MAX_HEADER_BYTES = 16 * 2**20  # a model has some hundred tensors of some hundred bytes each
_DTYPES = {torch.float32: "F32", torch.int64: "I64"}  # that models hold, as safetensors names them


# With all functions of nn.init, those that fill tensors with random numbers.
_DRAWS = (Tensor.normal_, Tensor.uniform_)


class _Unfilled(TorchFunctionMode):
    """Tensors are made on the meta device, without memory, and no weights are drawn.

    On that device torch's own `normal_` imports its compiler, which takes a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call `func`, unless it draws numbers."""
        named = kwargs or {}
        if func in _DRAWS or getattr(func, "__module__", None) == nn.init.__name__:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def outline(config: Config, vocabulary: Vocabulary) -> Model:
    """A model without memory for its weights, to compare shapes with; `fill` makes it real."""
    with torch.device("meta"), _Unfilled():
        return task_of(config).build(config, vocabulary, None)


def fill(
    model: Model, weights: Mapping[str, Tensor], config: Config, vocabulary: Vocabulary
) -> None:
    """Make an outline a model with these weights, which it keeps; names and shapes are its own."""
    model.load_state_dict(weights, assign=True)
    model.set_constants(config, vocabulary)


@dataclass(frozen=True, slots=True)
class Header:
    """What a weights file says of itself.

    Attributes:
        tensors: name -> dtype, shape and data_offsets, as they stand there, unchecked.
        raw: the bytes in front of the data.
        size: of the whole file in bytes.
    """

    tensors: Mapping[str, Any]
    raw: bytes
    size: int


def read_header(file: BufferedReader, size: int, path: Path) -> Header:
    """The header of a file of `size` bytes, which is read up to the data.

    Raises:
        BundleError: it is no header.
    """
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(MAX_HEADER_BYTES, size - 8):
        raise BundleError(f"{path}: not a safetensors file: expected a header, found none")
    raw = file.read(length)
    try:
        tensors = from_json(raw)
    except ValueError as error:
        raise BundleError(f"{path}: not a safetensors file: its header is {error}") from None
    if not isinstance(tensors, dict):
        raise BundleError(f"{path}: not a safetensors file: its header is not a JSON object")
    tensors.pop("__metadata__", None)
    return Header(tensors, start + raw, size)


def compare(header: Header, wanted: Mapping[str, Tensor], path: Path) -> None:
    """Raise unless a header describes just the tensors of a model.

    Args:
        header: of the file.
        wanted: name -> tensor of the right shape and type; it may be on the meta device.
        path: of the file, for messages.

    Raises:
        BundleError: names, types, shapes or places differ.
    """
    for name in sorted(wanted.keys() ^ header.tensors.keys()):
        problem = "lacks" if name in wanted else "has an unknown"
        raise BundleError(
            f"{path}: {problem} tensor {_shown(name)}; it does not fit the configuration"
        )
    for name, tensor in wanted.items():
        _compare_tensor(header.tensors[name], tensor, f"{path}: tensor {name}")
    end = 0
    for name in in_order(header):
        begin, after = header.tensors[name]["data_offsets"]
        if begin != end:
            raise BundleError(
                f"{path}: tensor {name}: expected to begin at byte {end:,} of the data, found "
                f"{begin:,}"
            )
        end = after
    expected = len(header.raw) + end
    if header.size != expected:
        raise BundleError(f"{path}: expected {expected:,} bytes, found {header.size:,}")


def in_order(header: Header) -> list[str]:
    """Names of the tensors of a header that was compared, in the order of their data."""
    return sorted(header.tensors, key=lambda name: header.tensors[name]["data_offsets"])


def read_weights(
    file: BufferedReader, header: Header, wanted: Mapping[str, Tensor], path: Path
) -> tuple[dict[str, Tensor], str]:
    """The tensors behind a header that was compared, and the SHA-256 of the whole file.

    Raises:
        BundleError: the file ends early, or there is not the memory.
    """
    digest = hashlib.sha256(header.raw)
    weights: dict[str, Tensor] = {}
    try:
        for name in in_order(header):
            tensor = torch.empty(wanted[name].shape, dtype=wanted[name].dtype, device="cpu")
            content: Any = tensor.reshape(-1).view(torch.uint8).numpy()  # a view of its memory
            if file.readinto(content) != len(content):
                raise BundleError(f"{path}: cut short while it was read")
            digest.update(content)
            if sys.byteorder == "big":
                tensor.numpy().byteswap(inplace=True)
            weights[name] = tensor
    except (MemoryError, RuntimeError):  # torch raises the latter
        raise BundleError(
            f"{path}: expected {header.size / 1e9:,.1f} GB of free memory for the weights, found "
            "less"
        ) from None
    return weights, digest.hexdigest()


def require_finite(weights: Mapping[str, Tensor], path: Path) -> None:
    """Raise where a weight is NaN or infinite.

    Raises:
        BundleError: one is.
    """
    for name, tensor in weights.items():
        if tensor.numel() and tensor.is_floating_point():
            smallest, largest = torch.aminmax(tensor)  # NaN where there is one; needs no memory
            if not math.isfinite(smallest) or not math.isfinite(largest):
                raise BundleError(
                    f"{path}: tensor {name}: expected finite numbers, found NaN or infinity; train "
                    "the model again"
                )


def _compare_tensor(found: Any, tensor: Tensor, where: str) -> None:
    """Raise where what a header says of a tensor is not what the model has."""
    if not isinstance(found, dict):
        raise BundleError(f"{where}: expected an object in the header, found {_shown(found)}")
    dtype, shape = found.get("dtype"), found.get("shape")
    if dtype != _DTYPES[tensor.dtype]:
        raise BundleError(
            f"{where}: expected numbers of type {_DTYPES[tensor.dtype]}, found {_shown(dtype)}"
        )
    if not _are_ints(shape) or tuple(shape) != tuple(tensor.shape):
        text = _shown(tuple(shape) if _are_ints(shape) else shape)
        raise BundleError(f"{where}: expected shape {tuple(tensor.shape)}, found {text}")
    offsets = found.get("data_offsets")
    size = tensor.numel() * tensor.element_size()
    if not _are_ints(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != size:
        raise BundleError(f"{where}: expected {size:,} bytes of data, found {_shown(offsets)}")


def _are_ints(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)


def _shown(value: Any) -> str:
    """A value of a header for a message, of bounded length."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 and text.isprintable() else shorten(text)
