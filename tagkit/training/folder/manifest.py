"""The manifest of a run: which files in its folder are the run's own, and may be removed.

    tagkit-run.json     {"format_version": 1, "tagkit": "0.3.0", "files": ["best/config.toml", ...]}

A file is listed before it is first written, as in the write-ahead log of a database: whenever the
run is killed, everything that it has written is listed. (The reverse order would leave files that
nobody may remove.) Names are relative to the folder, with `/` between parts. `seed-1/` and
`trial-1/` are folders that have manifests of their own. The last part of a name may be a pattern,
as TensorBoard chooses the names of its files.

A listed file is the run's even if somebody has edited it since; everything else is foreign, and so
is every symbolic link, as a run creates none. The names in a folder `.best.writing` or `.best.old`,
and a file `.history.jsonl.writing`, are temporary names: they belong to whoever owns the final one.

A run of version 0.1.0 has no manifest. It can be resumed, which lists what it wrote (`adopt`), but
nothing else is done to its files.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tagkit import __version__
from tagkit.errors import CheckpointError
from tagkit.models.folder.seed_folders import SEED_RUN, SUMMARY
from tagkit.storage import BEST, CURVE, LOCK, MANIFEST, write_of_run
from tagkit.training.folder.checkpoint import CHECKPOINT_FILES, CHECKPOINT_NAME, newest_checkpoint
from tagkit.training.folder.run_files import (
    CHECKPOINTS,
    MODELS,
    OF_0_1,
    RECORDS,
    REPLACED,
    STUDY,
    SUBRUN,
)
from tagkit.wording import ANOTHER_FOLDER, reason

FORMAT_VERSION = 1
HALF_MANIFEST = f".{MANIFEST}.writing"  # left by a kill while the manifest was written
_BOOKKEEPING = (MANIFEST, HALF_MANIFEST, LOCK)
_TEMPORARY = re.compile(r"\.(.+)\.(?:writing|old)")
_MOVE_AWAY = "move it away. Then resume=True continues the run"


def canonical(name: str) -> str:
    """The final name for a temporary one; any other name unchanged."""
    return "/".join(_TEMPORARY.sub(r"\1", part) if _TEMPORARY.fullmatch(part) else part
                    for part in name.split("/"))  # fmt: skip


@dataclass(slots=True)
class Contents:
    """Names of what is in a folder, relative to it, without its manifest and its lock.

    Attributes:
        ours: files that the run has written.
        folders: those that hold them, each before the folders inside it.
        foreign: files, and folders (with `/` at the end), that no run is known to have written.
    """

    ours: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def artifacts(self) -> list[str]:
        """Files of models and checkpoints, which are not replaced without `force`."""
        return [
            name
            for name in self.ours
            if name.partition("/")[0] not in RECORDS and ".writing" not in name
        ]

    def conflicts(self) -> list[str]:
        """Foreign files that a run would replace, or that are in a folder that it would replace."""
        # Models are replaced as whole folders, so a foreign file inside would go with the old one.
        # Into checkpoints/ a run adds files: foreign ones inside may stay.
        usual = {name: canonical(name.removesuffix("/")) for name in self.foreign}
        return [
            name
            for name, own in usual.items()
            if own in REPLACED or own.partition("/")[0] in MODELS or SUBRUN.fullmatch(own)
        ]


class Manifest:
    """The names of a run's own files."""

    def __init__(self, folder: Path) -> None:
        """The manifest of a folder; an empty one if there is none.

        Raises:
            CheckpointError: it cannot be read.
        """
        self.path = folder / MANIFEST
        self.folder = folder
        # A dangling link does not exist(), but writing would follow it: `_read` refuses links.
        self.exists = self.path.is_symlink() or self.path.exists()
        self.names: set[str] = _read(self.path) if self.exists else set()

    def owns(self, name: str) -> bool:
        """Whether a file is the run's own."""
        name = canonical(name)
        return name in self.names or any(
            fnmatchcase(name, pattern) for pattern in self.names if "*" in pattern
        )

    def contents(self) -> Contents:
        """What is in the folder.

        Raises:
            CheckpointError: it cannot be read.
        """
        found = Contents()
        files = [PurePosixPath(name) for name in self.names if not name.endswith("/")]
        try:
            self._walk("", {str(folder) for file in files for folder in file.parents}, found)
        except OSError as error:
            raise CheckpointError(f"{self.folder}: cannot be read: {reason(error)}") from None
        return found

    def _walk(self, prefix: str, known: set[str], found: Contents) -> None:
        """Add what is in one of the folders that hold listed files, which are `known`."""
        # Sorted, so that messages name the same foreign files every time.
        for path in sorted((self.folder / prefix).iterdir()):
            name, usual = prefix + path.name, canonical(prefix + path.name)
            if name in _BOOKKEEPING:
                continue
            if path.is_symlink():
                found.foreign.append(name)
            elif path.is_dir() and f"{usual}/" in self.names:
                run = Manifest(path).contents()
                run.ours += [each for each in _BOOKKEEPING if (path / each).exists()]
                found.folders += [name, *(f"{name}/{folder}" for folder in run.folders)]
                found.ours += [f"{name}/{file}" for file in run.ours]
                found.foreign += [f"{name}/{file}" for file in run.foreign]
            elif path.is_dir() and not any(path.iterdir()):
                # A kill between mkdir and the first file leaves one with a temporary name.
                found.folders += [name] if usual in known or usual != name else []
            elif path.is_dir() and usual in known:
                found.folders.append(name)
                self._walk(f"{name}/", known, found)
            elif path.is_dir():
                found.foreign.append(f"{name}/")
            else:
                # Not a device or a pipe, which a run creates no more than a link.
                (found.ours if path.is_file() and self.owns(name) else found.foreign).append(name)

    def adopt(self) -> None:
        """List what a run of 0.1.0 has written, in memory, if there is one to resume.

        A checkpoint that can be read, of the run or of one of several seeds, shows that there is.
        """
        if _has_checkpoint(self.folder):
            places = {canonical(path.name) for path in self.folder.glob(f"{CHECKPOINTS}/*")}
            steps = filter(CHECKPOINT_NAME.fullmatch, places)
            files = (f"{step}/{file}" for step in steps for file in CHECKPOINT_FILES)
            self.names = {*OF_0_1, *(f"{CHECKPOINTS}/{file}" for file in files)}
            return
        seeds = [path for path in self.folder.glob("seed-*") if SEED_RUN.fullmatch(path.name)]
        self.names = {f"{seed.name}/" for seed in seeds if _has_checkpoint(seed)}
        if self.names and (self.folder / SUMMARY).is_file():  # written after the best model
            self.names |= {SUMMARY, *(name for name in OF_0_1 if name.startswith(f"{BEST}/"))}

    def claim(self, names: Iterable[str]) -> None:
        """List files that are about to be written.

        Raises:
            CheckpointError: a foreign file is at one of the names, or the manifest cannot be
                written.
        """
        new = [name for name in names if name not in self.names]
        for place in (self.folder / name for name in new):
            # An empty folder is acceptable: a kill between mkdir and the first file leaves one.
            empty = place.is_dir() and not any(place.iterdir())
            if place.is_symlink() or (place.exists() and not empty):
                raise CheckpointError(
                    f"{place}: would be replaced, and was not written by this run; {_MOVE_AWAY}"
                )
        self.record(new)

    def record(self, names: Iterable[str]) -> None:
        """List files, whether they exist or not; drop those of checkpoints that are gone.

        Raises:
            CheckpointError: the manifest cannot be written.
        """
        new = set(names) - self.names
        if not new and self.exists:  # a checkpoint every few steps must not cost a second fsync
            return
        self.names = {name for name in self.names if self._may_be_there(name)} | new
        record = {
            "format_version": FORMAT_VERSION,
            "tagkit": __version__,
            "files": sorted(self.names),
        }
        write_of_run(self.path, (json.dumps(record, indent=1) + "\n").encode())
        self.exists = True

    def _may_be_there(self, name: str) -> bool:
        """False for a file of a checkpoint that was removed: otherwise the list would only grow."""
        place = (self.folder / name).parent
        if not name.startswith(f"{CHECKPOINTS}/"):
            return True
        # It may still be there under a temporary name.
        return any(place.parent.glob(f"*{place.name}*"))


def refuse_other_commands(folder: Path, found: Contents, *, of_seeds: bool = False) -> None:
    """Refuse a folder that holds trainings with several seeds, a learning curve or a search.

    `force` would remove all of it, and is not named. `found` is in `folder`, which is to hold a
    run, or one for each of several seeds.

    Raises:
        CheckpointError: it does.
    """
    if any(name.startswith(f"{CHECKPOINTS}/") for name in found.ours):
        return  # a run of its own
    seeds = [name for name in found.folders if SEED_RUN.fullmatch(name)]
    if seeds and not of_seeds:
        what, given = f"{folder}: holds trainings with several seeds; ", "train.seeds"
        raise CheckpointError(f"{what}resume them with {given}, or {ANOTHER_FOLDER}")
    for name, what in ((CURVE, "a learning curve"), (STUDY, "a search")):
        if name in found.ours:
            raise CheckpointError(f"{folder}: holds {what}; {ANOTHER_FOLDER}")


def _has_checkpoint(folder: Path) -> bool:
    with suppress(CheckpointError):
        return bool(newest_checkpoint(folder / CHECKPOINTS, lambda _: None, lambda _: None))
    return False


def _read(path: Path) -> set[str]:
    expected = "the manifest of a run"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        version, names = record["format_version"], record["files"]
        # A later version may list files in a way that this one does not know; treating them as
        # foreign or as ours would both be wrong.
        if type(version) is int and version > FORMAT_VERSION:
            raise CheckpointError(
                f"{path}: written by a later tagkit; this is tagkit {__version__}. Upgrade tagkit, "
                f"or {ANOTHER_FOLDER}"
            )
        if version == FORMAT_VERSION and isinstance(names, list) and not path.is_symlink():
            expected = "names of files in this folder"
            if all(isinstance(name, str) and _is_inside(name) for name in names):
                return set(names)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise CheckpointError(f"{path}: expected {expected}, found something else; {_MOVE_AWAY}")


def _is_inside(name: str) -> bool:
    # A manifest from elsewhere must not make a run remove files outside its folder: no absolute
    # names (an empty first part), no `..`, and no backslash, which Windows takes for a separator.
    parts = name.removesuffix("/").split("/")
    return not any(part in ("", ".", "..") for part in parts) and "\\" not in name
