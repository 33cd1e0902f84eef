"""The state of a training run on disk, so that it can go on after any end. No pickle.

    checkpoints/step-00000120/
        tensors.safetensors    weights, moments, means, states of random generators
        state.json             all else, with digests of both; written last

A checkpoint is written beside its place and renamed into it, and read only if both digests are
right: of several the newest that verifies is used.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from tagkit import __version__
from tagkit.errors import CheckpointError
from tagkit.storage import cannot_write, whole_folder

FORMAT_VERSION = 1
_TENSORS, _STATE = "tensors.safetensors", "state.json"
_PREFIX = "step-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run after a step.

    Attributes:
        step: number of steps done.
        tensors: by name.
        state: values of JSON.
        sound: whether a run may go back to it: its last step was finite, and every run of this
            configuration saves one here (others depend on the clock, or on when a run was stopped).
    """

    step: int
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]
    sound: bool


def save_checkpoint(folder: Path, checkpoint: Checkpoint, keep: int) -> None:
    """Write a checkpoint into the folder of all, and remove old ones.

    Args:
        folder: of all checkpoints of the run.
        checkpoint: to be written.
        keep: so many of the newest stay, and the newest that is sound.

    Raises:
        CheckpointError: it cannot be written; those that were there are there still.
    """
    tensors = save({name: tensor.cpu().contiguous() for name, tensor in checkpoint.tensors.items()})
    body = {
        "step": checkpoint.step,
        "sound": checkpoint.sound,
        "state": dict(checkpoint.state),
    }
    record = {
        "format_version": FORMAT_VERSION,
        "tagkit": __version__,
        "sha256": {"tensors": hashlib.sha256(tensors).hexdigest(), "body": _digest(body)},
        "body": body,
    }
    try:
        with whole_folder(folder / f"{_PREFIX}{checkpoint.step:08}") as place:
            (place / _TENSORS).write_bytes(tensors)
            (place / _STATE).write_text(json.dumps(record), encoding="utf-8")
        _prune(folder, keep)
    except OSError as error:
        raise cannot_write(folder, error) from None


def newest_checkpoint(
    folder: Path, note: Callable[[str], None], *, sound: bool = False
) -> Checkpoint | None:
    """The newest checkpoint that is whole; None where there is none.

    Args:
        folder: of all checkpoints of a run.
        note: told of each that is damaged and passed over.
        sound: whether to look at those alone that are.

    Raises:
        CheckpointError: one is of a newer format, or all are damaged.
    """
    places = _places(folder)
    for place in places:
        try:
            checkpoint = _read(place)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            note(f"{place}: damaged ({error}); it is passed over")
            continue
        if checkpoint.sound or not sound:
            return checkpoint
    if places and not sound:
        raise CheckpointError(f"{folder}: no checkpoint is whole; --force starts anew")
    return None


def remove_after(folder: Path, step: int) -> None:
    """Remove the checkpoints after a step: a run has gone back to it."""
    for place in _places(folder):
        if int(place.name.removeprefix(_PREFIX)) > step:
            shutil.rmtree(place, ignore_errors=True)


def _read(place: Path) -> Checkpoint:
    """A checkpoint whose digests are right.

    Raises:
        ValueError: they are not.
    """
    record = json.loads((place / _STATE).read_text(encoding="utf-8"))
    if record["format_version"] > FORMAT_VERSION:
        raise CheckpointError(
            f"{place}: made by tagkit {record.get('tagkit')}; this is tagkit {__version__}. "
            "Upgrade tagkit to go on with it"
        )
    body = record["body"]
    tensors = (place / _TENSORS).read_bytes()
    if record["sha256"]["body"] != _digest(body):
        raise ValueError(f"{_STATE} was altered")
    if record["sha256"]["tensors"] != hashlib.sha256(tensors).hexdigest():
        raise ValueError(f"{_TENSORS} was cut short or altered")
    return Checkpoint(body["step"], load(tensors), body["state"], body["sound"])


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _places(folder: Path) -> list[Path]:
    """All checkpoints' folders, the newest first."""
    return sorted(folder.glob(f"{_PREFIX}*"), reverse=True)


def _prune(folder: Path, keep: int) -> None:
    """Remove all but the newest, and the newest that is sound."""
    kept_sound = False
    for number, place in enumerate(_places(folder)):
        try:
            record = json.loads((place / _STATE).read_text(encoding="utf-8"))
            sound = bool(record["body"]["sound"])
        except (OSError, ValueError, KeyError, TypeError):
            sound = False
        if number >= keep and (kept_sound or not sound):
            shutil.rmtree(place, ignore_errors=True)
        kept_sound = kept_sound or sound
