"""The state of a training run on disk, so that it can be resumed however it ended. No pickle.

    checkpoints/step-00000120/
        tensors.safetensors    weights, moments, running means, states of random generators
        best.safetensors       weights of the best epoch, once there is one
        state.json             everything else, with digests of all three; written last

No tensor is stored twice. Of tensors that are equal, such as weights and their running means before
the first step, one is stored, and the others are listed by name (`same` in state.json). The best
epoch's weights, which stay the same over many checkpoints, are one file with a name in each of them
(a hard link), where the file system has links.

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

from torch import Tensor

from tagkit import __version__
from tagkit.errors import CheckpointError, DataError
from tagkit.models.bundle.tensor_file import (
    are_equal,
    link_or_copy,
    read_into,
    read_tensors,
    write_tensors,
)
from tagkit.storage import cannot_write, digest_of_bytes, whole_folder
from tagkit.wording import quoted

# 2: equal tensors are stored once, and the best epoch's weights in a file of their own.
FORMAT_VERSION = 2
STATE_FILE = "state.json"
_TENSORS, _BEST_WEIGHTS = "tensors.safetensors", "best.safetensors"
CHECKPOINT_FILES = (_TENSORS, _BEST_WEIGHTS, STATE_FILE)
BEST = "best."  # prefix of the names of the best epoch's weights, which their file does not have
# Smaller tensors are not worth a line in state.json.
_MIN_SHARED_BYTES = 4096
_PREFIX = "step-"
CHECKPOINT_NAME = re.compile(rf"{_PREFIX}[0-9]+")  # of a folder
_MAX_NAMED = 3  # damaged checkpoints in a message
# What reading, parsing and restoring of arbitrary bytes raises. MemoryError and OverflowError come
# from absurd sizes in a header, RecursionError from deeply nested JSON.
DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
           MemoryError, DataError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run after a step.

    Attributes:
        step: number of steps done.
        tensors: by name. Those that were read may share their memory: `restore` copies them.
        state: values of JSON.
        sound: whether a run may go back to it after steps that were not finite: its own last step
            was finite, and every run of this configuration saves a checkpoint at this step. Where
            other checkpoints are depends on the clock, or on when the run was stopped; if a run
            went back to one of those, its weights would depend on that too.
        best: the folder of an earlier checkpoint, or of this one, that has the best epoch's weights
            in a file; None if none has. They need not be among `tensors` then.
    """

    step: int
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]
    sound: bool
    best: Path | None = None


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
    stored, same = _stored_once(checkpoint.tensors)
    best = {n.removeprefix(BEST): each for n, each in stored.items() if n.startswith(BEST)}
    rest = {name: tensor for name, tensor in stored.items() if not name.startswith(BEST)}
    body = {"step": checkpoint.step, "sound": checkpoint.sound, "state": dict(checkpoint.state),
            "same": same}  # fmt: skip
    try:
        with whole_folder(folder / checkpoint_name(checkpoint.step)) as place:
            digests = {"tensors": write_tensors(place / _TENSORS, rest), "body": _digest(body)}
            if checkpoint.best:
                digests["best"] = _files_of(_record(checkpoint.best))[_BEST_WEIGHTS]
                link_or_copy(place / _BEST_WEIGHTS, checkpoint.best / _BEST_WEIGHTS)
            elif best:
                digests["best"] = write_tensors(place / _BEST_WEIGHTS, best)
            record = {"format_version": FORMAT_VERSION, "tagkit": __version__, "sha256": digests,
                      "body": body}  # fmt: skip
            (place / STATE_FILE).write_text(json.dumps(record), encoding="utf-8")
        # Old ones go after the new one is complete: on a full disk there is always one to resume
        # from. It needs room for one more than are kept.
        _prune(folder, keep, is_ours)
    except OSError as error:
        raise cannot_write(folder, error) from None


def _stored_once(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors to store, each content once, and, of the others, the name of the equal one."""
    stored: dict[str, Tensor] = {}
    same: dict[str, str] = {}
    alike: dict[tuple[object, ...], list[str]] = {}  # kind -> names of stored tensors
    # The best ones first, as they cannot be left out: their file is shared with other checkpoints.
    for name in sorted(tensors, key=lambda name: not name.startswith(BEST)):
        tensor = tensors[name]
        is_small = tensor.numel() * tensor.element_size() < _MIN_SHARED_BYTES
        others = [] if is_small else alike.setdefault((tensor.dtype, tensor.shape), [])
        equal = (other for other in others if are_equal(tensors[other], tensor))
        if not name.startswith(BEST) and (first := next(equal, None)) is not None:
            same[name] = first
        else:
            stored[name] = tensor
            others.append(name)
    return stored, same


def newest_checkpoint(
    folder: Path,
    note: Callable[[str], None],
    check: Callable[[Checkpoint], object],
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
        except DAMAGE as error:
            problem = f"damaged ({describe_damage(error)})"
            damaged.append(f"{place.name}: {problem}")
            note(f"{place}: {problem}; it is skipped")
    if places and not sound:
        # Not None, which would mean a new run: that would remove what a user could still rescue.
        problem = f" starts a new run. {'; '.join(damaged[:_MAX_NAMED])}"
        raise CheckpointError(f"{folder}: no checkpoint can be used; force=True{problem}")
    return None


def read_best_weights(place: Path, weights: Mapping[str, Tensor]) -> None:
    """Fill tensors with the best epoch's weights, which a checkpoint has in a file.

    Raises:
        CheckpointError: the file is damaged.
    """
    try:
        digest = _files_of(_record(place))[_BEST_WEIGHTS]
        if read_into(place / _BEST_WEIGHTS, weights) != digest:
            raise ValueError(f"{_BEST_WEIGHTS} was cut short or altered")
    except DAMAGE as error:
        raise CheckpointError(
            f"{place}: damaged ({describe_damage(error)}): expected the best epoch's weights; the "
            "run cannot end with them"
        ) from None


def remove_after(folder: Path, step: int, is_ours: Callable[[str], bool]) -> None:
    """Remove this run's checkpoints after a step to which it has gone back."""
    for place in _places(folder):
        if _number(place) > step and is_ours(place.name):
            _remove(place)


def _read(place: Path) -> Checkpoint:
    """A checkpoint whose digests are right.

    Raises:
        ValueError: they are not. Other errors of `DAMAGE`: the files are no checkpoint at all.
        CheckpointError: a later version of tagkit wrote it.
    """
    record = _record(place)
    body = record["body"]
    step, sound, state = body["step"], body["sound"], body["state"]
    if type(step) is not int or step != _number(place):
        raise ValueError(f"{STATE_FILE} has another step than its folder's name")
    if not isinstance(sound, bool) or not isinstance(state, dict):
        raise ValueError(f"{STATE_FILE} holds no state of a run")
    tensors: dict[str, Tensor] = {}
    files = _files_of(record)
    for name, digest in files.items():
        prefix = BEST if name == _BEST_WEIGHTS else ""
        try:
            read, found = read_tensors(place / name)
        except ValueError:
            read, found = {}, ""
        if found != digest:
            raise ValueError(f"{name} was cut short or altered")
        tensors |= {f"{prefix}{key}": tensor for key, tensor in read.items()}
    for name, equal in body.get("same", {}).items():  # version 1 has none
        if equal not in tensors:
            raise ValueError(f"tensor {quoted(str(equal))} is missing")
        tensors.setdefault(name, tensors[equal])
    return Checkpoint(step, tensors, state, sound, place if _BEST_WEIGHTS in files else None)


def _record(place: Path) -> dict[str, Any]:
    """The content of state.json, whose own digest is right."""
    record = _parsed(place)
    version = record["format_version"]
    if type(version) is not int:  # isinstance would accept JSON's true as 1
        raise ValueError(f"{STATE_FILE} has no format version")
    if version > FORMAT_VERSION:
        # Any JSON value may be there: quoted as text, of bounded length, without the quotes.
        by = quoted(str(record.get("tagkit")), 40).strip("'\"")
        made = f"made by tagkit {by}; this is tagkit {__version__}. Upgrade tagkit to resume it"
        raise CheckpointError(f"{place}: {made}")
    if record["sha256"]["body"] != _digest(record["body"]):
        raise ValueError(f"{STATE_FILE} was altered")
    return record


def _parsed(place: Path) -> dict[str, Any]:
    """The content of state.json."""
    content = (place / STATE_FILE).read_bytes()
    try:
        record: dict[str, Any] = json.loads(content)
    except (ValueError, RecursionError):  # no JSON or UTF-8, numbers of 5,000 digits, too deep
        raise ValueError(f"{STATE_FILE} is not JSON that can be read") from None
    return record


def _files_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The files of tensors of a checkpoint, and the digest of each."""
    digests = record["sha256"]
    files = {_TENSORS: digests["tensors"]}
    return files | {_BEST_WEIGHTS: digests["best"]} if "best" in digests else files


def _digest(body: Mapping[str, Any]) -> str:
    # Of the parsed body rather than of the file: the digest is in the same file. JSON gives floats
    # back exactly (shortest form that round-trips), so the text made from the parsed body is equal.
    return digest_of_bytes(json.dumps(body, sort_keys=True).encode())


def describe_damage(error: BaseException) -> str:
    """What is wrong with a checkpoint, not in the words of Python or of a library.

    Args:
        error: one of `DAMAGE`, raised while a checkpoint was read or restored.
    """
    if isinstance(error, OSError):
        name = Path(str(error.filename)).name if error.filename else ""
        return f"{name}: {error.strerror}".removeprefix(": ")
    # Our own errors say what is wrong; those of a subclass, or of another kind, are Python's.
    text = str(error) if type(error) is ValueError else f"{STATE_FILE} holds no state of a run"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _number(place: Path) -> int:
    return int(place.name.removeprefix(_PREFIX))


def _places(folder: Path) -> list[Path]:
    """The folders of all checkpoints, the newest first; a folder with neither file is not one."""
    found = [
        place
        for place in folder.glob(f"{_PREFIX}*")
        if CHECKPOINT_NAME.fullmatch(place.name)
        and any((place / name).exists() for name in CHECKPOINT_FILES)
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
            sound = bool(_parsed(place)["body"]["sound"])
        except DAMAGE:
            sound = False
        if number >= keep and (kept_sound or not sound) and is_ours(place.name):
            _remove(place)
        kept_sound = kept_sound or sound
