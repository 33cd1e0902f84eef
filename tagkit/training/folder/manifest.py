"""The manifest of a run: which files in its folder are the run's own, and may be removed.

    tagkit-run.json     {"format_version": 1, "tagkit": "0.1.0", "files": ["best/config.toml", ...]}

A file is listed before it is first written, as in the write-ahead log of a database: whenever the
run is killed, everything that it has written is listed. (The reverse order would leave files that
nobody may remove.) Names are relative to the folder, with `/` between parts. `seed-1/` and
`trial-1/` are folders that have manifests of their own. The last part of a name may be a pattern,
as TensorBoard chooses the names of its files.

A listed file is the run's even if somebody has edited it since. The names in a folder
`.best.writing` or `.best.old`, and a file `.history.jsonl.writing`, are temporary names: they
belong to whoever owns the final name.
"""

import json
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tagkit import __version__
from tagkit.errors import CheckpointError
from tagkit.storage import MANIFEST, cannot_write, write_whole
from tagkit.wording import ANOTHER_FOLDER, reason

HALF_MANIFEST = f".{MANIFEST}.writing"  # left by a kill while the manifest was written
FORMAT_VERSION = 1
_TEMPORARY = re.compile(r"\.(.+)\.(?:writing|old)")


def canonical(name: str) -> str:
    """The final name for a temporary one; any other name unchanged."""
    parts = [_TEMPORARY.sub(r"\1", part) if _TEMPORARY.fullmatch(part) else part
             for part in name.split("/")]  # fmt: skip
    return "/".join(parts)


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
        """Whether a file, or a run in a subfolder (with `/` at the end), is the run's own."""
        name = canonical(name)
        if name in self.names:
            return True
        # Only the last part may be a pattern, so `*` never matches across folders.
        folder, _, last = name.rpartition("/")
        return any(
            fnmatchcase(last, pattern.rpartition("/")[2])
            for pattern in self.names
            if "*" in pattern and pattern.rpartition("/")[0] == folder
        )

    def folders(self) -> set[str]:
        """The folders that hold listed files."""
        return {
            str(parent)
            for name in self.names
            if not name.endswith("/")
            for parent in PurePosixPath(name).parents
        }

    def claim(self, names: Iterable[str]) -> None:
        """List files that are about to be written.

        Raises:
            CheckpointError: a foreign file is at one of the names, or the manifest cannot be
                written.
        """
        new = [name for name in names if name not in self.names]
        for name in new:
            place = self.folder / name
            # An empty folder is acceptable: a kill between mkdir and the first file leaves one.
            empty = place.is_dir() and not any(place.iterdir())
            if place.is_symlink() or (place.exists() and not empty):
                raise CheckpointError(
                    f"{place}: would be replaced, and was not written by this run; move it away. "
                    "Then resume=True continues the run"
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
        try:
            write_whole(self.path, (json.dumps(record, indent=1) + "\n").encode())
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self.exists = True

    def clear(self) -> None:
        """Remove the manifest.

        Raises:
            OSError: it cannot be removed.
        """
        self.path.unlink(missing_ok=True)
        self.path.with_name(HALF_MANIFEST).unlink(missing_ok=True)
        self.names, self.exists = set(), False

    def _may_be_there(self, name: str) -> bool:
        """False for a file of a checkpoint that was removed: otherwise the list would only grow."""
        folder = PurePosixPath(name).parent
        if len(folder.parts) < 2:
            return True
        # It may still be there under a temporary name.
        place = self.folder / folder
        beside = [place.with_name(f".{place.name}.{end}") for end in ("writing", "old")]
        return any(path.exists() for path in (place, *beside))


def _read(path: Path) -> set[str]:
    problem = ""
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
        if version != FORMAT_VERSION or not isinstance(names, list):
            problem = "expected the manifest of a run"
        elif not all(isinstance(name, str) and _is_inside(name) for name in names):
            problem = "expected names of files in this folder"
        if path.is_symlink():
            problem = "expected a file, found a link"
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = "expected the manifest of a run, found something else or a damaged one"
    if problem:
        raise CheckpointError(
            f"{path}: {problem}. Move it away; what the run has written is then recognised by its "
            "content"
        )
    return set(names)


def _is_inside(name: str) -> bool:
    # A manifest from elsewhere must not make a run remove files outside its folder: no absolute
    # names (an empty first part), no `..`, and no backslash, which Windows takes for a separator.
    parts = name.removesuffix("/").split("/")
    return not any(part in ("", ".", "..") for part in parts) and "\\" not in name
