"""A model as a folder: weights, configuration, vocabulary, metadata. No pickle.

    model.safetensors   the weights
    config.toml         the whole configuration, resolved
    vocabulary.json     words, characters, tags, values of feature columns
    metadata.json       format version, versions, digests of the other three and of the corpora,
                        scores; written last

A folder is written under a temporary name next to its final place, and then renamed.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagkit import __version__
from tagkit.config import MAX_CONFIG_BYTES, Config, parse_saved, parse_toml, to_toml
from tagkit.errors import BundleError, ConfigError
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
from tagkit.models.bundle.tensor_file import write_tensors
from tagkit.models.bundle.weights import (
    build_without_weights,
    check_header,
    read_header,
    read_weights,
    require_finite,
    set_weights,
)
from tagkit.models.folder.model_folder import CONFIG, VOCABULARY, find_bundle
from tagkit.models.tagging.feature_crf import check_feature_crf
from tagkit.models.task_table import task_of
from tagkit.storage import BEST, LAST, METADATA, WEIGHTS, digest_of_bytes, whole_folder, write_whole
from tagkit.text.json_text import from_json, require_plain, to_json
from tagkit.wording import quoted, reason

# 2: words have affixes, and the configuration options, that 0.1.0 does not know; both are read.
FORMAT_VERSION = 2
# Limits checked before a part is read; the parts of real models are a hundredth of them.
_READINGS = 3  # of a model that is replaced while it is read
MAX_METADATA_BYTES = 16 * 2**20
MAX_VOCABULARY_BYTES = 512 * 2**20
# Entries of a vocabulary that need no row of weights: characters, in a model that reads none.
MAX_ENTRIES_WITHOUT_ROWS = 2_000_000
_DIGEST = re.compile(r"[0-9a-f]{64}")  # SHA-256 in lower case, as hashlib writes it


@dataclass(frozen=True)
class Bundle:
    """A model folder's contents.

    Attributes:
        model: on the CPU.
        vocabulary: of the model.
        config: the resolved configuration that it was trained with.
        metadata: the contents of `metadata.json`.
        calibration: of the model, whose heads have its temperatures; None where there is none.
    """

    model: Model
    vocabulary: Vocabulary
    config: Config
    metadata: dict[str, Any]
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


def metadata_bytes(metadata: Mapping[str, Any]) -> bytes:
    """The contents of `metadata.json`, as every model has them."""
    return (to_json(metadata, indent=2) + "\n").encode()


def copy_bundle(source: Path, folder: Path) -> None:
    """Replace the model in `folder` by a copy of the one in `source`, its four files alone.

    Of several runs (seeds, trials of a search) the best one's model is copied in this way.

    Raises:
        OSError: it cannot be copied.
    """
    with whole_folder(folder) as temporary:
        for name in (WEIGHTS, CONFIG, VOCABULARY, METADATA):
            shutil.copyfile(source / name, temporary / name)


def store_calibration(folder: Path, calibration: ModelCalibration | None) -> None:
    """Replace the calibration of the model in a folder; None removes it.

    The metadata are written beside and renamed. All else in them, and the other files, stay.

    Args:
        folder: of the model itself, as `model_folder.find_bundle` gives it.
        calibration: of its heads.

    Raises:
        BundleError: the metadata cannot be read or written.
    """
    metadata = read_metadata(folder)
    metadata.pop(KEY, None)
    if calibration is not None:
        metadata[KEY] = calibration.to_dict()
    try:
        write_whole(folder / METADATA, metadata_bytes(metadata))
    except OSError as error:
        raise BundleError(f"{folder}: cannot be written: {reason(error)}") from None


def load_bundle(path: Path) -> Bundle:
    """The model in a folder, on the CPU and without dropout; every part is checked.

    No memory is allocated for a size before that size agrees with the weights file, and no part
    over its limit is read.

    Raises:
        BundleError: a part is missing, cut short, altered, too new, or does not fit the others.
    """
    # A model that is replaced meanwhile is not damaged: some parts were those of the old one.
    for _ in range(_READINGS - 1):
        before = _state_of(path)
        try:
            return _load(path)
        except BundleError:
            if _state_of(path) == before:
                raise
    return _load(path)


def _state_of(path: Path) -> list[tuple[int, int] | None]:
    """What changes where the models of a folder are replaced."""
    found: list[tuple[int, int] | None] = []
    for place in (path, path / BEST, path / LAST):
        for name in (METADATA, WEIGHTS):
            try:
                facts = os.stat(place / name)
            except (OSError, ValueError):  # a name that no system takes
                found.append(None)
            else:
                found.append((facts.st_ino, facts.st_mtime_ns))
    return found


def _load(path: Path) -> Bundle:
    """The model, from one reading of its parts."""
    # From the smallest part to the largest: a mistake is found before the weights are read.
    folder = find_bundle(path)
    metadata = read_metadata(folder)
    digests = _digests(folder, metadata)
    content = _read_verified(folder / CONFIG, MAX_CONFIG_BYTES, digests[CONFIG])
    try:
        table = parse_toml(content)
        config = parse_saved(table, str(folder / CONFIG))
    except ValueError as error:
        raise BundleError(f"{folder / CONFIG}: {error}") from None
    except ConfigError as error:
        raise BundleError(*error.lines) from None
    vocabulary = _read_vocabulary(folder, digests[VOCABULARY])
    task_of(config).check(config, vocabulary, folder / CONFIG, folder / VOCABULARY)
    check_affixes(config, vocabulary, folder / CONFIG)  # of every task
    check_units(config, vocabulary, folder / VOCABULARY)
    check_contextual(config, vocabulary, folder / CONFIG, folder / VOCABULARY)
    model = build_without_weights(config, vocabulary)
    weights = _read_weights(folder / WEIGHTS, model.saved_tensors(), digests[WEIGHTS])
    set_weights(model, weights, config, vocabulary)
    check_feature_crf(model.feature_crf, folder / WEIGHTS)
    calibration = read_calibration(metadata, model, folder / METADATA)
    if calibration is not None:
        set_temperatures(model, calibration.temperatures)
    return Bundle(model.eval(), vocabulary, config, metadata, calibration)


def read_metadata(folder: Path) -> dict[str, Any]:
    """The contents of `metadata.json`.

    Raises:
        BundleError: it cannot be read, or is of a newer format.
    """
    # The metadata has no digest of its own, so it is bounded and checked before it is used.
    path = folder / METADATA
    content = _read(path, MAX_METADATA_BYTES)
    try:
        metadata = from_json(content)
        require_plain(metadata)
    except ValueError as error:
        raise BundleError(f"{path}: damaged: {error}") from None
    if not isinstance(metadata, dict) or "format_version" not in metadata:
        raise BundleError(f"{path}: damaged: expected JSON with a format_version")
    version = metadata["format_version"]
    # Not isinstance: True is an int too.
    if type(version) is not int or version < 1:
        raise BundleError(
            f"{path}: damaged: expected a format_version of 1 or more, found "
            f"{quoted(json.dumps(version))[1:-1]}"
        )
    if version > FORMAT_VERSION:
        made_by = metadata.get("tagkit")
        made_by = quoted(made_by)[1:-1] if isinstance(made_by, str) else "a later version"
        raise BundleError(
            f"{folder}: made by tagkit {made_by} (format {version}); this is tagkit {__version__} "
            f"(reads up to {FORMAT_VERSION}). Upgrade tagkit to load it"
        )
    return metadata


def _digests(folder: Path, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each part, as saved in the metadata."""
    found = metadata.get("sha256")
    digests: dict[str, str] = {}
    for name in (WEIGHTS, CONFIG, VOCABULARY):
        digest = found.get(name) if isinstance(found, dict) else None
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise BundleError(
                f"{folder / METADATA}: damaged: expected the SHA-256 of {name} in 64 hexadecimal "
                f"digits, found {quoted(json.dumps(digest))[1:-1]}"
            )
        digests[name] = digest
    return digests


@contextmanager
def _open_part(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """An open part of a model, and its size in bytes.

    Raises:
        BundleError: it is missing, not a regular file, or cannot be read.
    """
    try:
        # Before it is opened: opening a named pipe waits until somebody writes into it.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
            raise BundleError(f"{path}: expected a file, found {kind}")
        with path.open("rb") as file:
            yield file, status.st_size
    except FileNotFoundError:
        raise BundleError(f"{path}: missing; this is not a whole model") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {reason(error)}") from None


def _read(path: Path, limit: int) -> bytes:
    """The bytes of a part of a model, at most `limit`."""
    with _open_part(path) as (file, size):
        # One byte more than allowed shows a file that has grown since its size was taken.
        content = file.read(limit + 1) if size <= limit else b""
    if size > limit or len(content) > limit:
        raise BundleError(f"{path}: expected at most {limit:,} bytes, found {size:,}")
    return content


def _read_verified(path: Path, limit: int, digest: str) -> bytes:
    """The bytes of a part of a model, whose SHA-256 is that of the metadata."""
    content = _read(path, limit)
    _require_digest(path, digest_of_bytes(content), digest)
    return content


def _require_digest(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise BundleError(
            f"{path}: cut short or altered: expected sha256 {expected[:16]}..., found "
            f"{found[:16]}...; copy or train the model again"
        )


def _read_vocabulary(folder: Path, digest: str) -> Vocabulary:
    path = folder / VOCABULARY
    content = _read_verified(path, MAX_VOCABULARY_BYTES, digest)
    # A parsed entry needs many times its bytes in memory, so the number of entries is bounded
    # before parsing: each has a row of weights, of four bytes or more. Commas and brackets inside
    # strings count too; the limit has room for them.
    entries = content.count(b",") + content.count(b"[")
    with _open_part(folder / WEIGHTS) as (_, size):
        if entries > MAX_ENTRIES_WITHOUT_ROWS + size:
            raise BundleError(f"{path}: holds more entries ({entries:,}) than {WEIGHTS} has rows")
    try:
        return Vocabulary.from_dict(from_json(content))
    except KeyError as error:
        raise BundleError(f"{path}: lacks {error}") from None
    except (ValueError, TypeError) as error:
        raise BundleError(f"{path}: {error}") from None


def _read_weights(path: Path, wanted: Mapping[str, Tensor], digest: str) -> dict[str, Tensor]:
    with _open_part(path) as (file, size):
        try:
            header = read_header(file, size, path)
            check_header(header, wanted, path)
        except BundleError:
            # A wrong digest explains a bad header, and is the more helpful message.
            file.seek(0)
            _require_digest(path, hashlib.file_digest(file, "sha256").hexdigest(), digest)
            raise
        weights, found = read_weights(file, header, wanted, path)
    _require_digest(path, found, digest)
    # Last: NaN in a file whose digest is right was saved so, by a training that diverged.
    require_finite(weights, path)
    return weights
