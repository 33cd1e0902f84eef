"""The weights of a model folder: the header is compared with the model before any data is read.

The header must agree with the model's own shapes and with the
file's size before memory is allocated, so that a false size costs no memory. Each tensor is read
directly into its own memory: loading needs the memory of the weights once.
"""

import hashlib
import math
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tagkit.config import Config
from tagkit.errors import BundleError
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.model import Model
from tagkit.models.bundle.language_parts import build_contextual
from tagkit.models.bundle.language_reader import PREFIX
from tagkit.models.bundle.tensor_file import DTYPES, read_data
from tagkit.models.folder.weights_header import Header, are_counts
from tagkit.models.task_table import task_of
from tagkit.wording import quoted

# Together with all functions of nn.init these draw random weights.
_RANDOM_FILLS = (Tensor.normal_, Tensor.uniform_)


class _SkipRandomInit(TorchFunctionMode):
    """Skips the drawing of random weights, for models on the meta device.

    On that device torch's own `normal_` imports its compiler, which takes a second.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call `func`, unless it draws random numbers."""
        named = kwargs or {}
        # The fill functions return the tensor that they fill, which is their first argument.
        if func in _RANDOM_FILLS or getattr(func, "__module__", None) == nn.init.__name__:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def build_without_weights(config: Config, vocabulary: Vocabulary) -> Model:
    """A model on the meta device: it has names and shapes only, until `set_weights`."""
    # No random number is drawn, so loading leaves the caller's generator alone.
    with torch.device("meta"), _SkipRandomInit():
        model = task_of(config).build(config, vocabulary, None)
        if vocabulary.contextual:
            model.contextual = build_contextual(vocabulary)
        return model


def set_weights(
    model: Model, weights: Mapping[str, Tensor], config: Config, vocabulary: Vocabulary
) -> None:
    """Give a model of `build_without_weights` these weights; names and shapes must be its own."""
    # assign=True takes the tensors themselves: there is no memory to copy them into.
    own = {name: each for name, each in weights.items() if not name.startswith(PREFIX)}
    model.load_state_dict(own, assign=True)
    if model.contextual is not None:
        model.contextual.set_tensors(weights)
    # Buffers that are not saved, such as forbidden transitions, are still on the meta device.
    model.set_constants(config, vocabulary)


def check_header(header: Header, wanted: Mapping[str, Tensor], path: Path) -> None:
    """Raise unless a header describes exactly the tensors of a model.

    Args:
        header: of the file.
        wanted: name -> tensor of the right shape and type; it may be on the meta device.
        path: of the file, for messages.

    Raises:
        BundleError: names, types, shapes or offsets differ.
    """
    # Sorted, so that of several differences the same one is always reported.
    for name in sorted(wanted.keys() ^ header.tensors.keys()):
        problem = "lacks" if name in wanted else "has an unknown"
        raise BundleError(
            f"{path}: {problem} tensor {_shown(name)}; it does not fit the configuration"
        )
    for name, tensor in wanted.items():
        _check_tensor(header.tensors[name], tensor, f"{path}: tensor {name}")
    # The tensors must fill the data without gap or overlap, as the format demands; otherwise bytes
    # could be read twice, or hidden between tensors.
    end = 0
    for name in header.by_offset():
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


def read_weights(
    file: BufferedReader, header: Header, wanted: Mapping[str, Tensor], path: Path
) -> tuple[dict[str, Tensor], str]:
    """The tensors after a checked header, and the SHA-256 of the whole file.

    Raises:
        BundleError: the file ends early, or memory runs out.
    """
    # Hashed while it is read, so that a large file is read once.
    digest = hashlib.sha256(header.raw)
    weights: dict[str, Tensor] = {}
    try:
        for name in header.by_offset():
            # Shape and dtype of the model, not of the file: what the header says is checked only.
            fresh = torch.empty(wanted[name].shape, dtype=wanted[name].dtype, device="cpu")
            weights[name] = read_data(file, path, fresh, digest.update)
    except ValueError:
        raise BundleError(f"{path}: cut short while it was read") from None
    except (MemoryError, RuntimeError):  # torch raises RuntimeError when it cannot allocate
        raise BundleError(
            f"{path}: expected {header.size / 1e9:,.1f} GB of free memory for the weights, found "
            "less"
        ) from None
    return weights, digest.hexdigest()


def require_finite(weights: Mapping[str, Tensor], path: Path) -> None:
    """Raise unless all weights are finite.

    Raises:
        BundleError: one is NaN or infinite.
    """
    for name, tensor in weights.items():
        if tensor.numel() and tensor.is_floating_point():
            # Both are NaN if any number is. Unlike isfinite() it needs no memory.
            smallest, largest = torch.aminmax(tensor)
            if not math.isfinite(smallest) or not math.isfinite(largest):
                raise BundleError(
                    f"{path}: tensor {name}: expected finite numbers, found NaN or infinity; train "
                    "the model again"
                )


def _check_tensor(found: Any, tensor: Tensor, where: str) -> None:
    """Raise unless a header's entry has the type, shape and size of the model's tensor."""
    if not isinstance(found, dict):
        raise BundleError(f"{where}: expected an object in the header, found {_shown(found)}")
    dtype, shape = found.get("dtype"), found.get("shape")
    if dtype != DTYPES[tensor.dtype]:
        raise BundleError(
            f"{where}: expected numbers of type {DTYPES[tensor.dtype]}, found {_shown(dtype)}"
        )
    if not are_counts(shape) or tuple(shape) != tuple(tensor.shape):
        text = _shown(tuple(shape) if are_counts(shape) else shape)
        raise BundleError(f"{where}: expected shape {tuple(tensor.shape)}, found {text}")
    offsets = found.get("data_offsets")
    size = tensor.numel() * tensor.element_size()
    if not are_counts(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != size:
        raise BundleError(f"{where}: expected {size:,} bytes of data, found {_shown(offsets)}")


def _shown(value: Any) -> str:
    """A value of a header, for a message: of limited length, without control characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 and text.isprintable() else quoted(text)
