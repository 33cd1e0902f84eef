"""What is in the folder of a run: the run's own files, and those of others.

With a manifest the files that it lists are the run's own. A folder without one was written by a
version that kept none; there a file is the run's own if its content proves it:

    best/, last/               metadata.json has the right digests of the three other parts
    checkpoints/step-N/        state.json has the right digests of itself and of the tensors
    history.jsonl, train.log   each line is one that a run writes
    curves.svg                 has the labels of our axes
    tensorboard/events...      has a curve of our name
    seeds.json, best.toml      scores of seeds; a whole configuration
    study.db                   tables of Optuna and the name of our study
    .best.writing and the like  has no other names than the folder that it was to become
    seed-N/, trial-N/          each a run's folder, looked at by these same rules

All else is foreign, a link too: a run makes none.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tagkit.config import parse_config
from tagkit.errors import BundleError, CheckpointError, ConfigError
from tagkit.models.bundle import CONFIG, METADATA, VOCABULARY, WEIGHTS, read_metadata
from tagkit.storage import digest_of
from tagkit.storage.lock import LOCK
from tagkit.training.callbacks import CURVES, HISTORY, LOG
from tagkit.training.checkpoint import CHECKPOINT_FILES, is_whole
from tagkit.training.manifest import HALF_MANIFEST, MANIFEST, Manifest, canonical

MODELS, CHECKPOINTS, TRACKED = ("best", "last"), "checkpoints", "tensorboard"
MODEL_FILES = (WEIGHTS, CONFIG, VOCABULARY, METADATA)
SUMMARY, STUDY, BEST_CONFIG = "seeds.json", "study.db", "best.toml"
STUDY_FILES = (STUDY, *(f"{STUDY}-{end}" for end in ("journal", "wal", "shm")))
FILES = (HISTORY, LOG, CURVES, SUMMARY, BEST_CONFIG, *STUDY_FILES)
RUNS = re.compile(r"(?:seed|trial)-[0-9]+")
_STEP = re.compile(r"step-[0-9]+")
_FOLDERS = re.compile(rf"best|last|{CHECKPOINTS}(?:/step-[0-9]+)?|{TRACKED}|{RUNS.pattern}")
_LOGS = re.compile(rf"{re.escape(HISTORY)}|{re.escape(LOG)}|{re.escape(CURVES)}|{TRACKED}/.*")
_HALF = re.compile(r"(?:.*/)?\.[^/]+\.writing(?:/.*)?")
_RESERVED = (MANIFEST, HALF_MANIFEST, LOCK)
_NAMED = 10  # of foreign files in a message
_EPOCH = {"epoch", "dev", "step", "loss", "lr", "tokens_per_s", "seconds", "is_best"}
_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ")
_START = re.compile(r": [\d,]+ (?:sentence|text)s?, [\d,]+ tokens?; [\d,]+ parameters? on \w+")


@dataclass(slots=True)
class Contents:
    """Names of what is in a folder, relative to it, with `/` between parts.

    Attributes:
        ours: files that the run has written.
        reserved: its manifest and its lock.
        folders: in which there is nothing else, each before those in it.
        foreign: files, and with `/` at their ends folders, of others.
    """

    ours: list[str] = field(default_factory=list)
    reserved: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def artifacts(self) -> list[str]:
        """Files of whole models and states, which are not replaced without `force`."""
        return [name for name in self.ours if not (_LOGS.fullmatch(name) or _HALF.fullmatch(name))]

    def in_the_way(self) -> list[str]:
        """Foreign files that a run would replace, or in a folder that it would replace."""
        return [name for name in self.foreign if _stands_in_the_way(name)]

    def take_in(self, name: str, run: "Contents") -> None:
        """Add the contents of a run in a subfolder."""
        self.folders += [name, *(f"{name}/{folder}" for folder in run.folders)]
        self.ours += [f"{name}/{file}" for file in (*run.ours, *run.reserved)]
        self.foreign += [f"{name}/{file}" for file in run.foreign]


def contents_of(folder: Path, manifest: Manifest) -> Contents:
    """What is in a folder with this manifest.

    Raises:
        CheckpointError: it cannot be read.
    """
    found = Contents()
    if not manifest.exists:
        manifest.names = set(_proven(folder))
    try:
        _walk(folder, "", manifest, manifest.folders(), found)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read: {error.strerror or error}") from None
    return found


def named(names: list[str]) -> str:
    """The first few of many names, and how many more there are."""
    more = len(names) - _NAMED
    shown = ", ".join(name if len(name) <= 80 else f"{name[:60]}..." for name in names[:_NAMED])
    return shown + (f" and {more} more" if more > 0 else "")


def _stands_in_the_way(name: str) -> bool:
    """Whether a foreign file would be replaced, or is in a folder that would be."""
    usual = canonical(name.removesuffix("/"))
    inside = usual.partition("/")[0]
    return (
        inside in MODELS or usual in (*FILES, CHECKPOINTS, TRACKED) or bool(RUNS.fullmatch(usual))
    )


def _walk(place: Path, prefix: str, manifest: Manifest, known: set[str], found: Contents) -> None:
    with os.scandir(place) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        name, path = prefix + entry.name, Path(entry.path)
        if name in _RESERVED:
            found.reserved.append(name)
        elif entry.is_dir(follow_symlinks=False):
            usual = canonical(name)
            if f"{usual}/" in manifest.names:
                found.take_in(name, contents_of(path, Manifest(path)))
            elif usual in known:
                found.folders.append(name)
                _walk(path, f"{name}/", manifest, known, found)
            elif _FOLDERS.fullmatch(usual) and not os.listdir(path):
                found.folders.append(name)
            else:
                found.foreign.append(f"{name}/")
        elif entry.is_file(follow_symlinks=False) and manifest.owns(name):
            found.ours.append(name)
        else:
            found.foreign.append(name)


def _proven(folder: Path) -> set[str]:
    """Names of files whose content proves that a run has written them.

    Of two files with one name, `best` and `.best.old`, both have to.
    """
    yes: set[str] = set()
    no: set[str] = set()
    places = [(path, path.name) for path in _entries(folder)]
    places += [(path, f"{CHECKPOINTS}/{path.name}") for path in _entries(folder / CHECKPOINTS)]
    for path, name in places:
        usual, half = canonical(name), name.endswith(".writing")
        last = usual.rpartition("/")[2]
        if path.is_symlink():
            no.add(usual)
        elif path.is_dir():
            if RUNS.fullmatch(usual):
                yes.add(f"{usual}/")
                continue
            proof = _proof_of(usual, last)
            if proof is None:
                continue
            parts, is_ours = proof
            inside = {file.name for file in _entries(path)}
            ours = inside & set(parts or inside)
            good = half or is_ours(path)
            (yes if good else no).update(f"{usual}/{file}" for file in ours)
        elif usual in _PROOFS:
            (yes if half or _holds(_PROOFS[usual], path) else no).add(usual)
    if STUDY in yes:
        yes |= set(STUDY_FILES)
    return yes - no


def _proof_of(name: str, last: str) -> tuple[tuple[str, ...], Callable[[Path], bool]] | None:
    """The files of a folder of this name, any where there are none, and what proves them."""
    if name in MODELS:
        return MODEL_FILES, _is_model
    if name == TRACKED:
        return (), _is_tracked
    if name == f"{CHECKPOINTS}/{last}" and _STEP.fullmatch(last):
        return CHECKPOINT_FILES, is_whole
    return None


def _entries(folder: Path) -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        try:
            yield from sorted(folder.iterdir())
        except OSError as error:
            raise CheckpointError(f"{folder}: cannot be read: {error.strerror or error}") from None


def _is_model(folder: Path) -> bool:
    try:
        digests = read_metadata(folder).get("sha256")
        parts = [name for name in MODEL_FILES if name != METADATA]
        return isinstance(digests, dict) and all(
            digests.get(name) and digests[name] == digest_of(folder / name) for name in parts
        )
    except (BundleError, OSError, RecursionError):
        return False


def _is_tracked(folder: Path) -> bool:
    return all(
        path.name.startswith("events.out.tfevents.") and _holds(_is_events, path)
        for path in _entries(folder)
    )


def _holds(proof: Callable[[Path], bool], path: Path) -> bool:
    try:
        return path.is_file() and proof(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, ConfigError):
        return False


def _is_events(path: Path) -> bool:
    return b"tokens/s" in path.read_bytes()


def _is_history(path: Path) -> bool:
    lines = path.read_text(encoding="utf-8").splitlines()
    return bool(lines) and all(json.loads(line).keys() >= _EPOCH for line in lines)


def _is_log(path: Path) -> bool:
    begun = False
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n") and not _LINE.match(line):  # the last one may be cut short
                return False
            begun = begun or bool(_START.search(line))
    return begun


def _is_curves(path: Path) -> bool:
    content = path.read_bytes()
    return b"<!-- training loss (nats) -->" in content and b"<!-- dev score -->" in content


def _is_summary(path: Path) -> bool:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return all(row.keys() == {"seed", "epoch", "dev", "test"} for row in rows)


def _is_study(path: Path) -> bool:
    content = path.read_bytes()
    parts = (b"CREATE TABLE studies", b"CREATE TABLE trial_intermediate_values", b"tagkit")
    return content.startswith(b"SQLite format 3\0") and all(part in content for part in parts)


def _is_best_config(path: Path) -> bool:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    return {"data", "encoder", "train", "output"} <= values.keys() and bool(
        parse_config(values, str(path))
    )


_PROOFS: dict[str, Callable[[Path], bool]] = {
    HISTORY: _is_history,
    LOG: _is_log,
    CURVES: _is_curves,
    SUMMARY: _is_summary,
    STUDY: _is_study,
    BEST_CONFIG: _is_best_config,
}
