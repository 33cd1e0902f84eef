"""Rows of the table of everything that a run may write, made by the module that owns each file.

A row gives a name and a proof. Folders written by tagkit 0.1.0 have no manifest: there a file is
taken for a run's own only if its content proves it, because the name alone (`train.log`, `best/`)
may be that of a file of the user.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Proof = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file in the folder of a run.

    Attributes:
        name: relative to the folder.
        proof: whether its content shows that a run wrote it. It may raise what reading and parsing
            any content raises (OSError, ValueError, TypeError, KeyError, ...), which means no.
        companions: files beside it that belong to it and have no proof of their own.
        is_log: whether it is a record that a new run replaces without `force`.
    """

    name: str
    proof: Proof
    companions: tuple[str, ...] = ()
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class OwnedFolder:
    """A folder in the folder of a run.

    Attributes:
        pattern: of its name, relative to the folder of the run, with `/` between parts.
        proof: whether its content shows that a run wrote it.
        files: names that a run writes into it; any if empty.
        is_log: whether a new run replaces it without `force`.
    """

    pattern: re.Pattern[str]
    proof: Proof
    files: tuple[str, ...] = ()
    is_log: bool = False
