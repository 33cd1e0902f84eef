"""The weights of a model folder: the header is compared with the model before any data is read.

The header must agree with the model's own shapes and with the file's size before memory is
allocated, so that a false size costs no memory. Loading needs the memory of the weights once.
"""

import math
from collections.abc import Mapping
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
from tagkit.models.bundle.tensor_file import kind_of, kinds_in, open_tensors
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


def read_weights(path: Path, wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a model from its file.

    Args:
        path: of the file.
        wanted: name -> tensor of the right shape and type; it may be on the meta device.

    Raises:
        BundleError: names, types, shapes or sizes differ, or memory runs out.
    """
    try:
        with open_tensors(path) as file:
            _check_kinds(kinds_in(file), wanted, path)
            return {name: file.get_tensor(name) for name in wanted}
    except ValueError as error:
        raise BundleError(f"{path.parent}/{error}") from None
    except (MemoryError, RuntimeError):  # torch raises RuntimeError when it cannot allocate
        size = sum(tensor.nbytes for tensor in wanted.values())
        raise BundleError(
            f"{path}: expected {size / 1e9:,.1f} GB of free memory for the weights, found less"
        ) from None


def _check_kinds(
    found: Mapping[str, tuple[str, tuple[int, ...]]], wanted: Mapping[str, Tensor], path: Path
) -> None:
    """Raise unless a file has exactly the tensors of a model."""
    # Sorted, so that of several differences the same one is always reported.
    for name in sorted(wanted.keys() ^ found.keys()):
        problem = "lacks" if name in wanted else "has an unknown"
        raise BundleError(
            f"{path}: {problem} tensor {_shown(name)}; it does not fit the configuration"
        )
    for name, tensor in wanted.items():
        names = ("numbers of type", "shape")
        for what, ours, theirs in zip(names, kind_of(tensor), found[name], strict=True):
            if ours != theirs:
                raise BundleError(f"{path}: tensor {name}: expected {what} {ours}, found {theirs}")


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


def _shown(name: str) -> str:
    """The name of a tensor, for a message: of limited length, without control characters."""
    return name if len(name) <= 80 and name.isprintable() else quoted(name)
