"""Functions of the program whose place or signature is younger than the fuzzers."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.formats.writing import Piece
from tagkit.lint.repair import write_repaired

try:
    from tagkit.formats.files import write_folder
    from tagkit.formats.files import write_pair as _write_pair
    from tagkit.storage import open_output
except ImportError:
    from tagkit.output import open_output, write_folder  # type: ignore[no-redef]
    from tagkit.output import write_pair as _write_pair

__all__ = ["newest_checkpoint", "open_output", "repair", "write_folder", "write_pair"]


def _takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


def write_pair(path: Path, pieces: Iterable[Piece]) -> None:
    """Files that differ in their endings alone."""
    _write_pair(path, pieces, **({"replace": True} if _takes(_write_pair, "replace") else {}))


def repair(path: Path, out: Path, data: DataConfig) -> Any:
    """Write a repaired copy; what was done."""
    if _takes(write_repaired, "copies"):
        done = write_repaired({str(path): out}, data, force=True)  # type: ignore[call-arg]
    else:
        done = write_repaired([str(path)], out, data)
    ((_, repaired),) = done.items()
    return repaired


def newest_checkpoint(folder: Path, note: Callable[[str], None], *, sound: bool) -> Any:
    """The newest checkpoint that is whole; whether a run can take it over is not asked."""
    from tagkit.checkpoint import newest_checkpoint

    check = {"check": lambda checkpoint: None} if _takes(newest_checkpoint, "check") else {}
    return newest_checkpoint(folder, note, sound=sound, **check)
