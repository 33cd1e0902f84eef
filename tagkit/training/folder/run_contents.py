"""What is in the folder of a run: the run's own files, and foreign ones.

With a manifest, the files that it lists are the run's own. A folder without one was written by
tagkit 0.1.0; there a file is the run's own if its content proves it (see the tables below):

- A file or folder of a known name is accepted by its row's proof.
- A temporary one (`.best.writing`) is accepted without proof, as it may be cut short anywhere, but
  only for the names that its final form would have.
- `seed-N/`, `trial-N/` and `size-N-seed-S/` are runs of their own, examined by these same rules.

Everything else is foreign, including every symbolic link: a run creates none.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tagkit.errors import CheckpointError, ConfigError
from tagkit.models.folder.seed_folders import SEED_RUN
from tagkit.storage import LOCK, MANIFEST
from tagkit.training.folder import curve_files, run_files, seed_scores, trials
from tagkit.training.folder.manifest import HALF_MANIFEST, Manifest, canonical
from tagkit.training.folder.owned_files import OwnedFile, OwnedFolder, Proof
from tagkit.training.folder.run_files import CHECKPOINTS, MODELS
from tagkit.wording import reason

# All that a run of any command may write. Each row comes from the module that writes the file.
FILES: dict[str, OwnedFile] = {
    row.name: row
    for row in (*run_files.FILES, *seed_scores.FILES, *trials.FILES, *curve_files.FILES)
}
FOLDERS: tuple[OwnedFolder, ...] = run_files.FOLDERS
SUBRUNS = (SEED_RUN, trials.TRIAL_RUN, curve_files.SIZE_RUN)
_FILE_NAMES = {name for row in FILES.values() for name in (row.name, *row.companions)}
_BOOKKEEPING = (MANIFEST, HALF_MANIFEST, LOCK)


@dataclass(slots=True)
class Contents:
    """Names of what is in a folder, relative to it, with `/` between parts.

    Attributes:
        ours: files that the run has written.
        bookkeeping: its manifest and its lock.
        folders: those that hold nothing foreign, each before the folders inside it.
        foreign: files, and folders (with `/` at the end), that no run is known to have written.
    """

    ours: list[str] = field(default_factory=list)
    bookkeeping: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def artifacts(self) -> list[str]:
        """Files of complete models and checkpoints, which are not replaced without `force`."""
        return [name for name in self.ours if not (_is_log(name) or _is_temporary(name))]

    def conflicts(self) -> list[str]:
        """Foreign files that a run would replace, or that are in a folder that it would replace."""
        return [name for name in self.foreign if _conflicts(name)]

    def add_run(self, name: str, run: "Contents") -> None:
        """Add the contents of a run in a subfolder."""
        self.folders += [name, *(f"{name}/{folder}" for folder in run.folders)]
        self.ours += [f"{name}/{file}" for file in (*run.ours, *run.bookkeeping)]
        self.foreign += [f"{name}/{file}" for file in run.foreign]


def is_subrun(name: str) -> bool:
    """Whether a folder of this name is a run of its own: of a seed, a trial or a size."""
    return any(pattern.fullmatch(name) for pattern in SUBRUNS)


def contents_of(folder: Path, manifest: Manifest) -> Contents:
    """What is in a folder with this manifest.

    Raises:
        CheckpointError: it cannot be read.
    """
    found = Contents()
    if not manifest.exists:  # in memory only: `run_cleanup.repair` writes it if the run is resumed
        manifest.names = set(_proven(folder))
    try:
        _walk(folder, "", manifest, manifest.folders(), found)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read: {reason(error)}") from None
    return found


def _is_log(name: str) -> bool:
    folder = name.rpartition("/")[0]
    row = next((row for row in FILES.values() if name in (row.name, *row.companions)), None)
    return (row is not None and row.is_log) or any(
        row.is_log and row.pattern.fullmatch(folder) for row in FOLDERS
    )


def _is_temporary(name: str) -> bool:
    return any(part.startswith(".") and part.endswith(".writing") for part in name.split("/"))


def _conflicts(name: str) -> bool:
    usual = canonical(name.removesuffix("/"))
    first = usual.partition("/")[0]
    # Models are replaced as whole folders, so a foreign file inside would go with the old one. Into
    # checkpoints/ and tensorboard/ a run adds files: foreign ones inside may stay.
    return (
        first in MODELS
        or usual in (*_FILE_NAMES, CHECKPOINTS, run_files.TRACKED)
        or is_subrun(usual)
    )


def _walk(place: Path, prefix: str, manifest: Manifest, known: set[str], found: Contents) -> None:
    # scandir knows files, folders and links without a stat for each. Sorted, so that messages name
    # the same foreign files every time.
    with os.scandir(place) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        name, path = prefix + entry.name, Path(entry.path)
        if name in _BOOKKEEPING:
            found.bookkeeping.append(name)
        # Links are not followed: their targets are outside the folder of the run.
        elif entry.is_dir(follow_symlinks=False):
            usual = canonical(name)
            if f"{usual}/" in manifest.names:
                found.add_run(name, contents_of(path, Manifest(path)))
            elif usual in known:
                found.folders.append(name)
                _walk(path, f"{name}/", manifest, known, found)
            elif _may_be_empty(usual) and not os.listdir(path):
                # A kill between mkdir and the first file leaves an empty folder of our name.
                found.folders.append(name)
            else:
                found.foreign.append(f"{name}/")
        elif entry.is_file(follow_symlinks=False) and manifest.owns(name):
            found.ours.append(name)
        else:
            found.foreign.append(name)


def _may_be_empty(name: str) -> bool:
    known = any(row.pattern.fullmatch(name) for row in FOLDERS)
    return known or name == CHECKPOINTS or is_subrun(name)


def _proven(folder: Path) -> set[str]:
    """Names of files whose content proves that a run has written them.

    `best` and `.best.old` stand for one name: if one of them lacks the proof, neither is accepted.
    """
    yes: set[str] = set()
    no: set[str] = set()
    places = [(path, path.name) for path in _entries(folder)]
    places += [(path, f"{CHECKPOINTS}/{path.name}") for path in _entries(folder / CHECKPOINTS)]
    for path, name in places:
        usual, temporary = canonical(name), name.endswith(".writing")
        if path.is_symlink():
            no.add(usual)
        elif path.is_dir():
            if is_subrun(usual):
                yes.add(f"{usual}/")
            elif row := next((row for row in FOLDERS if row.pattern.fullmatch(usual)), None):
                inside = {file.name for file in _entries(path)}
                accepted = temporary or _holds(row.proof, path)
                names = inside & set(row.files or inside)
                (yes if accepted else no).update(f"{usual}/{file}" for file in names)
        elif file_row := FILES.get(usual):
            # Not a device or a pipe, whose reading might never end.
            accepted = temporary or (path.is_file() and _holds(file_row.proof, path))
            (yes if accepted else no).update((usual, *file_row.companions))
    return yes - no


def _entries(folder: Path) -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        try:
            yield from sorted(folder.iterdir())
        except OSError as error:
            raise CheckpointError(f"{folder}: cannot be read: {reason(error)}") from None


def _holds(proof: Proof, path: Path) -> bool:
    """Whether a proof succeeds; content that cannot even be parsed is not ours."""
    try:
        return proof(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, ConfigError):
        return False
