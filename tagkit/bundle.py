"""A model as a folder: weights, configuration, vocabulary, metadata. No pickle.

    model.safetensors   the weights
    config.toml         the whole configuration, resolved
    vocabulary.json     words, characters, tags, values of feature columns
    metadata.json       format version, versions, digests of the other three and of the corpora,
                        scores; written last

A folder is written beside its place and renamed into it.
"""

import hashlib
import json
import os
import platform
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from tagkit import __version__
from tagkit.config import Config, parse_config, to_toml
from tagkit.errors import BundleError, ConfigError, DataError
from tagkit.folders import set_aside, whole_folder
from tagkit.model import Model, build_model
from tagkit.vocab import Vocabulary
from tagkit.wording import reason

FORMAT_VERSION = 1
WEIGHTS, CONFIG, VOCABULARY, METADATA = (
    "model.safetensors",
    "config.toml",
    "vocabulary.json",
    "metadata.json",
)
_RUN = ("best", "last")  # models in the folder of a run; it has no best before its first score


@dataclass(frozen=True)
class Bundle:
    """A model folder's contents.

    Attributes:
        model: on the CPU.
        vocabulary: of the model.
        config: the resolved configuration that it was trained with.
        metadata: of `metadata.json`.
    """

    model: Model
    vocabulary: Vocabulary
    config: Config
    metadata: dict[str, Any]


def find_bundle(path: Path) -> Path:
    """The folder that holds the model: `path`, or `best`, or `last`, in that of a training run.

    Raises:
        BundleError: there is none.
    """
    for folder in (path, *(path / name for name in _RUN)):
        if (folder / METADATA).is_file():
            return folder
        # A run that was stopped while a new folder took the place of the old left that here.
        if (set_aside(folder) / METADATA).is_file():
            return set_aside(folder)
    if not path.exists():
        raise BundleError(f"{path}: no such folder; `tagkit train` makes one")
    present = [name for name in (WEIGHTS, CONFIG, VOCABULARY) if (path / name).exists()]
    if present:
        raise BundleError(f"{path}: {METADATA} is missing; this is not a whole model")
    raise BundleError(f"{path}: not a model folder: expected one that holds {METADATA}")


def save_bundle(
    folder: Path,
    model: Model,
    vocabulary: Vocabulary,
    config: Config,
    facts: dict[str, Any],
) -> None:
    """Write a model folder; one that stood there is replaced when the new one is complete.

    Args:
        folder: its place.
        model: its weights are saved, wherever they are.
        vocabulary: of the model.
        config: the resolved configuration.
        facts: what else `metadata.json` shall say.

    Raises:
        BundleError: it cannot be written.
    """
    weights = {name: tensor.cpu().contiguous() for name, tensor in model.state_dict().items()}
    parts = {
        WEIGHTS: save(weights),
        CONFIG: to_toml(config).encode(),
        VOCABULARY: json.dumps(vocabulary.to_dict(), ensure_ascii=False, indent=0).encode(),
    }
    metadata = {
        "format_version": FORMAT_VERSION,
        "tagkit": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()},
        **facts,
    }
    parts[METADATA] = (json.dumps(metadata, ensure_ascii=False, indent=2) + "\n").encode()
    try:
        with whole_folder(folder) as beside:
            for name, content in parts.items():
                (beside / name).write_bytes(content)
    except OSError as error:
        raise BundleError(f"{folder}: cannot be written: {error.strerror or error}") from None


def load_bundle(path: Path) -> Bundle:
    """The model of a folder, every part of it checked, on the CPU.

    Raises:
        BundleError: a part is missing, cut short, altered, too new, or does not fit the others.
    """
    folder = find_bundle(path)
    metadata = read_metadata(folder)
    parts = {name: _checked(folder, name, metadata) for name in (WEIGHTS, CONFIG, VOCABULARY)}
    try:
        config = parse_config(tomllib.loads(parts[CONFIG].decode()), str(folder / CONFIG))
        vocabulary = Vocabulary.from_dict(json.loads(parts[VOCABULARY]))
        weights = load(parts[WEIGHTS])
    except ConfigError as error:
        raise BundleError(str(error)) from None
    except KeyError as error:
        raise BundleError(f"{folder / VOCABULARY}: lacks {error}") from None
    except (ValueError, TypeError, SafetensorError) as error:
        raise BundleError(f"{folder}: cannot be read: {error!r}") from None
    # Fresh weights are drawn only to be overwritten: leave the caller's random state alone.
    with torch.random.fork_rng(devices=[]):
        model = build_model(config, vocabulary)
    _fill(model, weights, folder / WEIGHTS)
    return Bundle(model, vocabulary, config, metadata)


def read_metadata(folder: Path) -> dict[str, Any]:
    """What `metadata.json` says.

    Raises:
        BundleError: it cannot be read, or is of a newer format.
    """
    path = folder / METADATA
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
        version = int(metadata["format_version"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BundleError(f"{path}: damaged: expected JSON with a format_version") from None
    if version > FORMAT_VERSION:
        made_by = metadata.get("tagkit", "a later version")
        raise BundleError(
            f"{folder}: made by tagkit {made_by} (format {version}); this is tagkit {__version__} "
            f"(reads up to {FORMAT_VERSION}). Upgrade tagkit to load it"
        )
    return dict(metadata)


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, or of all names and files of a folder, in hexadecimal; None of others.

    Raises:
        DataError: the file, or one in the folder, cannot be read.
    """
    if os.path.isdir(path):
        whole = hashlib.sha256()
        for file in sorted(file for file in path.rglob("*") if os.path.isfile(file)):
            whole.update(f"{file.relative_to(path).as_posix()} {digest_of(file)}\n".encode())
        return whole.hexdigest()
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None


def _checked(folder: Path, name: str, metadata: dict[str, Any]) -> bytes:
    """A part's bytes, which must be those that were saved."""
    path = folder / name
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise BundleError(f"{path}: missing; this is not a whole model") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None
    expected = (metadata.get("sha256") or {}).get(name)
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise BundleError(
            f"{path}: cut short or altered: expected sha256 {str(expected)[:16]}..., found "
            f"{found[:16]}...; copy or train the model again"
        )
    return content


def _fill(model: Model, weights: dict[str, torch.Tensor], path: Path) -> None:
    """Put weights into a model; names and shapes must be its own."""
    wanted = model.state_dict()
    for name in sorted(wanted.keys() ^ weights.keys()):
        problem = "lacks" if name in wanted else "has an unknown"
        raise BundleError(f"{path}: {problem} tensor {name}; it does not fit the configuration")
    for name, tensor in wanted.items():
        if weights[name].shape != tensor.shape:
            raise BundleError(
                f"{path}: tensor {name}: expected shape {tuple(tensor.shape)}, found "
                f"{tuple(weights[name].shape)}"
            )
    model.load_state_dict(weights)
