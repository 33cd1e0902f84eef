"""The state of a training run on disk, so that it can be resumed however it ended. No pickle.

    checkpoints/step-00000120/
        tensors.safetensors    weights, moments, running means, states of random generators
        state.json             everything else, with digests of both; written last

A checkpoint is a folder that is written under a temporary name and renamed (`tagkit.storage`). It
is used only if both digests are right and the run can restore it: of several, the newest for which
that holds. The digests find what a rename cannot prevent: a disk that returns other bytes than were
written, a copy that was cut short, an edit by hand.
"""

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
from tagkit.storage import cannot_write, digest_of_bytes, whole_folder
from tagkit.wording import FORCE, Message

FORMAT_VERSION = 1
_TENSORS, _STATE = CHECKPOINT_FILES = ("tensors.safetensors", "state.json")
_PREFIX = "step-"
_NAME = re.compile(rf"{_PREFIX}([0-9]+)")
_MAX_NAMED = 3  # damaged checkpoints in a message
# What reading, parsing and restoring of arbitrary bytes raises. MemoryError and OverflowError come
# from absurd sizes in a header, RecursionError from deeply nested JSON.
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
           MemoryError, SafetensorError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run after a step.

    Attributes:
        step: number of steps done.
        tensors: by name.
        state: values of JSON.
        sound: whether a run may go back to it after steps that were not finite: its own last step
            was finite, and every run of this configuration saves a checkpoint at this step. Where
            other checkpoints are depends on the clock, or on when the run was stopped; if a run
            went back to one of those, its weights would depend on that too.
    """

    step: int
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]
    sound: bool


def checkpoint_name(step: int) -> str:
    """The name of the folder of the checkpoint after a step."""
    # Eight digits are for `ls`. Beyond step 10^8 names are longer, so sorting goes by the number.
    return f"{_PREFIX}{step:08}"


def save_checkpoint(
    folder: Path, checkpoint: Checkpoint, keep: int, is_ours: Callable[[str], bool]
) -> None:
    """Write a checkpoint, and remove old ones.

    Args:
        folder: of all checkpoints of the run.
        checkpoint: to write.
        keep: how many of the newest are kept, besides the newest sound one.
        is_ours: whether a folder of this name is this run's, and may be removed.

    Raises:
        CheckpointError: it cannot be written; the existing ones are unchanged.
    """
    # safetensors refuses tensors that are not contiguous, such as a transposed weight.
    tensors = save({name: tensor.cpu().contiguous() for name, tensor in checkpoint.tensors.items()})
    body = {
        "step": checkpoint.step,
        "sound": checkpoint.sound,
        "state": dict(checkpoint.state),
    }
    record = {
        "format_version": FORMAT_VERSION,
        "tagkit": __version__,
        "sha256": {"tensors": digest_of_bytes(tensors), "body": _digest(body)},
        "body": body,
    }
    try:
        with whole_folder(folder / checkpoint_name(checkpoint.step)) as place:
            (place / _TENSORS).write_bytes(tensors)
            (place / _STATE).write_text(json.dumps(record), encoding="utf-8")
        # Old ones go after the new one is complete: on a full disk there is always one to resume
        # from. It needs room for one more than are kept.
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
    """The newest checkpoint that can be used; None if there are none.

    Args:
        folder: of all checkpoints of a run.
        note: called with each that is damaged and skipped.
        check: raises ValueError for one that is undamaged, but cannot be restored.
        sound: whether to consider only sound ones, to which a run may go back.

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
            note(f"{place}: {problem}; it is skipped")
    if places and not sound:
        # Not None, which would mean a new run: that would remove what a user could still rescue.
        more = f"; and {len(damaged) - _MAX_NAMED} more" if len(damaged) > _MAX_NAMED else ""
        raise CheckpointError(
            Message(
                f"{folder}: no checkpoint can be used; ",
                FORCE,
                f" starts a new run. {'; '.join(damaged[:_MAX_NAMED])}{more}",
            )
        )
    return None


def remove_after(folder: Path, step: int, is_ours: Callable[[str], bool]) -> None:
    """Remove this run's checkpoints after a step to which it has gone back."""
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
        ValueError: they are not. Other errors of `_DAMAGE`: the files are no checkpoint at all.
        CheckpointError: a later version of tagkit wrote it.
    """
    record = json.loads((place / _STATE).read_text(encoding="utf-8"))
    version = record["format_version"]
    if type(version) is not int:  # isinstance would accept JSON's true as 1
        raise ValueError(f"{_STATE} has no format version")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"{place}: made by tagkit {_version(record)}; this is tagkit {__version__}. "
            "Upgrade tagkit to resume it"
        )
    # Both files are in memory before anything is parsed further, so that what is checked is what is
    # used, even if the files change meanwhile.
    body = record["body"]
    tensors = (place / _TENSORS).read_bytes()
    if record["sha256"]["body"] != _digest(body):
        raise ValueError(f"{_STATE} was altered")
    if record["sha256"]["tensors"] != digest_of_bytes(tensors):
        raise ValueError(f"{_TENSORS} was cut short or altered")
    step, sound, state = body["step"], body["sound"], body["state"]
    if type(step) is not int or step != _number(place):
        raise ValueError(f"{_STATE} has another step than its folder's name")
    if not isinstance(sound, bool) or not isinstance(state, dict):
        raise ValueError(f"{_STATE} holds no state of a run")
    return Checkpoint(step, load(tensors), state, sound)


def _version(record: Mapping[str, object]) -> str:
    # Any JSON value may be there: quoted as text, of bounded length, without the quotes.
    return shorten(str(record.get("tagkit")), 40).strip("'\"")


def _in_words(error: BaseException) -> str:
    """What is wrong with a checkpoint, not in the words of Python or of a library."""
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
        # Python converts at most 4,300 digits to an int (CVE-2020-10735), and says so in its words.
        if text.startswith("Exceeds the limit"):
            return f"{_STATE} holds a number with too many digits"
        return text if len(text) <= 200 else f"{text[:200]}..."
    if isinstance(error, SafetensorError):
        return f"{_TENSORS} cannot be read"
    return f"{_STATE} holds no state of a run"


def _digest(body: Mapping[str, Any]) -> str:
    # Of the parsed body rather than of the file: the digest is in the same file. JSON gives floats
    # back exactly (shortest form that round-trips), so the text made from the parsed body is equal.
    return digest_of_bytes(json.dumps(body, sort_keys=True).encode())


def _number(place: Path) -> int:
    return int(place.name.removeprefix(_PREFIX))


def _places(folder: Path) -> list[Path]:
    """The folders of all checkpoints, the newest first; a folder with neither file is not one."""
    found = [
        place
        for place in folder.glob(f"{_PREFIX}*")
        if _NAME.fullmatch(place.name) and any((place / name).exists() for name in CHECKPOINT_FILES)
    ]
    return sorted(found, key=_number, reverse=True)


def _remove(place: Path) -> None:
    """Remove a checkpoint; other files in its folder, and then the folder, stay."""
    # Not rmtree, which would take a user's file along. A failure is not an error: an old checkpoint
    # that stays does no harm.
    with suppress(OSError):
        for name in reversed(CHECKPOINT_FILES):  # state.json first: a half-removed one is skipped
            (place / name).unlink(missing_ok=True)
        os.rmdir(place)


def _prune(folder: Path, keep: int, is_ours: Callable[[str], bool]) -> None:
    """Remove all but the newest `keep`, and the newest sound one, which may be older."""
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
