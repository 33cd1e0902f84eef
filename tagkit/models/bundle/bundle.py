"""A model as a folder: weights, configuration, vocabulary, metadata. No pickle.

    model.safetensors   the weights
    config.toml         the whole configuration, resolved
    vocabulary.json     words, characters, tags, values of feature columns
    metadata.json       format version, versions, digests of the other three and of the corpora,
                        scores; written last

A folder is written under a temporary name next to its final place, and then renamed.

The header of the weights must agree with the model's own shapes and with the file's size before
memory is allocated, so that a false size costs no memory. Loading needs their memory once.

Language models whose states a model reads lie inside it: their configurations and vocabularies in
`vocabulary.json`, their weights among the others, so that the folder has the same four files as any
other, and their digests cover all of it.
"""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tagkit import __version__
from tagkit.config import Config, to_toml
from tagkit.errors import BundleError, TagkitError
from tagkit.features.language_part import LanguagePart
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.calibration import (
    KEY,
    ModelCalibration,
    read_calibration,
    set_temperatures,
)
from tagkit.models.base.model import Model
from tagkit.models.bundle.language_reader import PREFIX, ContextualReader, LanguageReader, config_of
from tagkit.models.bundle.tensor_file import (
    file_digest,
    kind_of,
    kinds_in,
    open_tensors,
    write_tensors,
)
from tagkit.models.folder.parts import (
    CONFIG,
    FORMAT_VERSION,
    VOCABULARY,
    ModelParts,
    check_affixes,
    check_units,
    find_bundle,
    metadata_bytes,
    open_part,
    read_parts,
    read_whole,
    require_digest,
)
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.task_table import task_of
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.storage import METADATA, WEIGHTS, digest_of_bytes, whole_folder
from tagkit.text.json_text import to_json
from tagkit.wording import quoted, reason


@dataclass(frozen=True)
class Bundle(ModelParts):
    """A model folder's contents.

    Attributes:
        model: on the CPU.
        calibration: of the model, whose heads have its temperatures; None where there is none.
    """

    model: Model
    calibration: ModelCalibration | None = None


def save_bundle(
    folder: Path,
    model: Model,
    vocabulary: Vocabulary,
    config: Config,
    facts: dict[str, Any],
) -> None:
    """Write a model folder; an existing one is replaced once the new one is complete.

    Args:
        folder: where to write.
        model: its weights are saved, on whichever device they are.
        vocabulary: of the model.
        config: the resolved configuration.
        facts: further entries of `metadata.json`.

    Raises:
        BundleError: it cannot be written.
    """
    texts = {
        CONFIG: to_toml(config).encode(),
        VOCABULARY: to_json(vocabulary.to_dict(), indent=0).encode(),
    }
    try:
        with whole_folder(folder) as temporary:
            digests = {WEIGHTS: write_tensors(temporary / WEIGHTS, model.saved_tensors())}
            digests |= {name: digest_of_bytes(content) for name, content in texts.items()}
            metadata = {
                # First, and never renamed: a version that cannot read the rest must find it.
                "format_version": FORMAT_VERSION,
                "tagkit": __version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
                "parameters": model.saved_weights,
                "sha256": digests,
                **facts,
            }
            texts[METADATA] = metadata_bytes(metadata)
            for name, content in texts.items():
                (temporary / name).write_bytes(content)
    except OSError as error:
        raise BundleError(f"{folder}: cannot be written: {reason(error)}") from None


def load_bundle(path: Path) -> Bundle:
    """The model in a folder, on the CPU and without dropout; every part is checked.

    No memory is allocated for a size before that size agrees with the weights file, and no part
    over its limit is read.

    Raises:
        BundleError: a part is missing, cut short, altered, too new, or does not fit the others.
    """
    return read_whole(path, _load)


def _load(path: Path) -> Bundle:
    """The model, from one reading of its parts."""
    folder = find_bundle(path)
    parts = read_parts(folder)
    vocabulary, config = parts.vocabulary, parts.config
    task_of(config).check(config, vocabulary, folder / CONFIG, folder / VOCABULARY)
    check_affixes(config, vocabulary, folder / CONFIG)  # of every task
    check_units(config, vocabulary, folder / VOCABULARY)
    if config.embeddings.contextual or vocabulary.contextual:
        check_contextual(config, vocabulary, folder / CONFIG, folder / VOCABULARY)
    model = build_without_weights(config, vocabulary)
    digest = parts.metadata["sha256"][WEIGHTS]
    weights = _read_weights(folder / WEIGHTS, model.saved_tensors(), digest)
    set_weights(model, weights, config, vocabulary)
    _check_feature_crf(model.feature_crf, folder / WEIGHTS)
    calibration = None
    if KEY in parts.metadata:
        calibration = read_calibration(parts.metadata, model, folder / METADATA)
    if calibration is not None:
        set_temperatures(model, calibration.temperatures)
    return Bundle(vocabulary, config, parts.metadata, model.eval(), calibration)


def _check_feature_crf(crf: FeatureCrf | None, path: Path) -> None:
    """Raise unless weights that were read can be used.

    Args:
        crf: of the model that was read.
        path: of the file, for messages.

    Raises:
        BundleError: its tables are not what `fit` makes.
    """
    if crf is not None and not crf.is_valid():
        last = len(crf.transitions) - 1
        raise BundleError(
            f"{path}: feature_crf: expected ascending keys, tags from 0 to {last} and a share from "
            "0 to below 1; train the model again"
        )


def _read_weights(path: Path, wanted: Mapping[str, Tensor], digest: str) -> dict[str, Tensor]:
    with open_part(path):
        try:
            weights = read_weights(path, wanted)
        except BundleError:
            # A wrong digest explains a bad header, and is the more helpful message.
            require_digest(path, file_digest(path), digest)
            raise
        # Afterwards: a file that replaces this one meanwhile has another digest than its metadata.
        require_digest(path, file_digest(path), digest)
    # Last: NaN in a file whose digest is right was saved so, by a training that diverged.
    require_finite(weights, path)
    return weights


def check_contextual(
    config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
) -> None:
    """Raise unless there is a language model for each that the configuration names.

    Raises:
        BundleError: one is missing or damaged.
    """
    named, parts = len(config.embeddings.contextual), vocabulary.contextual
    if named != len(parts):
        raise BundleError(
            f"{vocabulary_file}: expected {named} language models, as embeddings.contextual has, "
            f"found {len(parts)}"
        )
    for part in parts:
        try:
            inner, units = config_of(part), Vocabulary.from_dict(part.vocabulary)
            task = task_of(inner)
            if task.annotates:
                raise BundleError(f"expected task = 'language-model', found '{inner.task}'")
            task.check(inner, units, config_file, vocabulary_file)
            check_units(inner, units, vocabulary_file)
        except KeyError as error:
            raise BundleError(f"{vocabulary_file}: {_of_part(part)}: lacks {error}") from None
        except (TagkitError, ValueError, TypeError) as error:
            raise BundleError(f"{vocabulary_file}: {_of_part(part)}: {error}") from None


def build_contextual(vocabulary: Vocabulary) -> ContextualReader | None:
    """The language models of a vocabulary, with fresh weights; None where there are none.

    Raises:
        BundleError: the states of one have another size than the vocabulary says.
    """
    readers = []
    for part in vocabulary.contextual:
        config, units = config_of(part), Vocabulary.from_dict(part.vocabulary)
        model = task_of(config).build(config, units, None)
        assert isinstance(model, LanguageModel)  # the only task that annotates nothing
        layers = 1 if part.layers == 1 else model.mixed_layers
        if (layers, layers * model.encoder.outputs) != (part.layers, part.states):
            raise BundleError(
                f"vocabulary: {_of_part(part)}: expected states of "
                f"{layers * model.encoder.outputs} values, found {part.states}"
            )
        readers.append(LanguageReader(part, model))
    return ContextualReader(vocabulary.contextual, readers) if readers else None


def _of_part(part: LanguagePart) -> str:
    return f"the language model of {quoted(part.path)}"


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
