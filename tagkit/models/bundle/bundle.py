"""A model as a folder: weights, configuration, vocabulary, metadata. No pickle.

    model.safetensors   the weights
    config.toml         the whole configuration, resolved
    vocabulary.json     words, characters, tags, values of feature columns
    metadata.json       format version, versions, digests of the other three and of the corpora,
                        scores; written last

A folder is written under a temporary name next to its final place, and then renamed.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagkit import __version__
from tagkit.config import Config, to_toml
from tagkit.errors import BundleError
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.agreement import check_affixes, check_units
from tagkit.models.base.calibration import (
    KEY,
    ModelCalibration,
    read_calibration,
    set_temperatures,
)
from tagkit.models.base.model import Model
from tagkit.models.bundle.language_parts import check_contextual
from tagkit.models.bundle.tensor_file import file_digest, write_tensors
from tagkit.models.bundle.weights import (
    build_without_weights,
    read_weights,
    require_finite,
    set_weights,
)
from tagkit.models.folder.parts import (
    CONFIG,
    FORMAT_VERSION,
    VOCABULARY,
    ModelParts,
    find_bundle,
    metadata_bytes,
    open_part,
    read_parts,
    read_whole,
    require_digest,
)
from tagkit.models.tagging.feature_crf import check_feature_crf
from tagkit.models.task_table import task_of
from tagkit.storage import METADATA, WEIGHTS, digest_of_bytes, whole_folder
from tagkit.text.json_text import to_json
from tagkit.wording import reason


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
    check_feature_crf(model.feature_crf, folder / WEIGHTS)
    calibration = None
    if KEY in parts.metadata:
        calibration = read_calibration(parts.metadata, model, folder / METADATA)
    if calibration is not None:
        set_temperatures(model, calibration.temperatures)
    return Bundle(vocabulary, config, parts.metadata, model.eval(), calibration)


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
