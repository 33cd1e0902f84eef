"""The state of a training run on disk, so that it can go on after any end. No pickle.

    checkpoints/step-00000120/
        tensors.safetensors    weights, moments, means, states of random generators
        state.json             all else, with digests of both; written last

A checkpoint is written beside its place and renamed into it, and read only if both digests are
right and the run can take it over: of several the newest for which that holds is used.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from tagkit import __version__
from tagkit.errors import CheckpointError, shorten
from tagkit.storage import cannot_write, whole_folder
from tagkit.wording import FORCE, Message

FORMAT_VERSION = 1
_TENSORS, _STATE = CHECKPOINT_FILES = ("tensors.safetensors", "state.json")
_PREFIX = "step-"
_NAME = re.compile(rf"{_PREFIX}([0-9]+)")
_NAMED = 3  # of damaged checkpoints in a message
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
           MemoryError, SafetensorError)  # fmt: skip


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


def place_of(step: int) -> str:
    """The name of the folder of the checkpoint after a step."""
    return f"{_PREFIX}{step:08}"


def save_checkpoint(
    folder: Path, checkpoint: Checkpoint, keep: int, is_ours: Callable[[str], bool]
) -> None:
    """Write a checkpoint into the folder of all, and remove old ones.

    Args:
        folder: of all checkpoints of the run.
        checkpoint: to be written.
        keep: so many of the newest stay, and the newest that is sound.
        is_ours: whether a folder of this name is this run's, and may be removed.

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
        with whole_folder(folder / place_of(checkpoint.step)) as place:
            (place / _TENSORS).write_bytes(tensors)
            (place / _STATE).write_text(json.dumps(record), encoding="utf-8")
        _prune(folder, keep, is_ours)
    except OSError as error:
        raise cannot_write(folder, error) from None


def newest_checkpoint(
    folder: Path,
    note: Callable[[str], None],
    check: Callable[[Checkpoint], None],
    *,
    sound: bool = False,
) -> Checkpoint | None:
    """The newest checkpoint that is whole; None where there is none.

    Args:
        folder: of all checkpoints of a run.
        note: called with each that is damaged and passed over.
        check: raises ValueError for one that is whole, but cannot be taken over.
        sound: whether to look only at those to which a run may go back.

    Raises:
        CheckpointError: one is of a newer format, or all are damaged.
    """
    places = _places(folder)
    damaged = []
    for place in places:
        try:
            checkpoint = _read(place)
            if checkpoint.sound or not sound:
                check(checkpoint)
                return checkpoint
        except _DAMAGE as error:
            problem = f"damaged ({_in_words(error)})"
            damaged.append(f"{place.name}: {problem}")
            note(f"{place}: {problem}; it is passed over")
    if places and not sound:
        more = f"; and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
        raise CheckpointError(
            Message(
                f"{folder}: no checkpoint is whole; ",
                FORCE,
                f" starts anew. {'; '.join(damaged[:_NAMED])}{more}",
            )
        )
    return None


def remove_after(folder: Path, step: int, is_ours: Callable[[str], bool]) -> None:
    """Remove the checkpoints after a step, if they are this run's: it has gone back to the step."""
    for place in _places(folder):
        if _number(place) > step and is_ours(place.name):
            _remove(place)


def is_whole(place: Path) -> bool:
    """Whether a folder is a checkpoint with the right digests."""
    try:
        _read(place)
    except (*_DAMAGE, CheckpointError):
        return False
    return True


def _read(place: Path) -> Checkpoint:
    """A checkpoint whose digests are right.

    Raises:
        ValueError: they are not. Several other errors of what is not a checkpoint: see `_DAMAGE`.
    """
    record = json.loads((place / _STATE).read_text(encoding="utf-8"))
    version = record["format_version"]
    if type(version) is not int:
        raise ValueError(f"{_STATE} has no format version")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{place}: made by tagkit {_version(record)}; this is tagkit {__version__}. "
            "Upgrade tagkit to go on with it"
        )
    body = record["body"]
    tensors = (place / _TENSORS).read_bytes()
    if record["sha256"]["body"] != _digest(body):
        raise ValueError(f"{_STATE} was altered")
    if record["sha256"]["tensors"] != hashlib.sha256(tensors).hexdigest():
        raise ValueError(f"{_TENSORS} was cut short or altered")
    step, sound, state = body["step"], body["sound"], body["state"]
    if type(step) is not int or step != _number(place):
        raise ValueError(f"{_STATE} is of another step than its folder's name")
    if not isinstance(sound, bool) or not isinstance(state, dict):
        raise ValueError(f"{_STATE} holds no state of a run")
    return Checkpoint(step, load(tensors), state, sound)


def _version(record: Mapping[str, object]) -> str:
    return shorten(str(record.get("tagkit")), 40).strip("'\"")


def _in_words(error: BaseException) -> str:
    """What is wrong with a checkpoint."""
    if isinstance(error, OSError):
        name = Path(str(error.filename)).name if error.filename else ""
        return f"{name}: {error.strerror}".removeprefix(": ")
    if isinstance(error, RecursionError):
        return f"{_STATE} is nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"{_STATE} is not JSON"
    if isinstance(error, KeyError):
        return f"{_STATE} lacks {shorten(str(error.args[0]))}"
    if isinstance(error, UnicodeDecodeError):
        return f"{_STATE} is not UTF-8"
    if type(error) is ValueError:
        text = str(error)
        if text.startswith("Exceeds the limit"):
            return f"{_STATE} holds a number with too many digits"
        return text if len(text) <= 200 else f"{text[:200]}..."
    if isinstance(error, SafetensorError):
        return f"{_TENSORS} cannot be read"
    return f"{_STATE} holds no state of a run"


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _number(place: Path) -> int:
    return int(place.name.removeprefix(_PREFIX))


def _places(folder: Path) -> list[Path]:
    """All checkpoints' folders, the newest first; a folder with neither file is none."""
    found = [
        place
        for place in folder.glob(f"{_PREFIX}*")
        if _NAME.fullmatch(place.name) and any((place / name).exists() for name in CHECKPOINT_FILES)
    ]
    return sorted(found, key=_number, reverse=True)


def _remove(place: Path) -> None:
    """Remove a checkpoint; what else somebody has put into its folder stays."""
    with suppress(OSError):
        for name in reversed(CHECKPOINT_FILES):
            (place / name).unlink(missing_ok=True)
        os.rmdir(place)


def _prune(folder: Path, keep: int, is_ours: Callable[[str], bool]) -> None:
    """Remove all but the newest, and the newest that is sound."""
    kept_sound = False
    for number, place in enumerate(_places(folder)):
        try:
            record = json.loads((place / _STATE).read_text(encoding="utf-8"))
            sound = bool(record["body"]["sound"])
        except _DAMAGE:
            sound = False
        if number >= keep and (kept_sound or not sound) and is_ours(place.name):
            _remove(place)
        kept_sound = kept_sound or sound
