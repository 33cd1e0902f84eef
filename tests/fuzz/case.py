"""One input of a target, and the laws that it may break."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any


class LawBroken(Exception):
    """A promise of the program that does not hold for an input."""

    def __init__(self, law: str, detail: str = "") -> None:
        """`law` in a few words, the same for each input that breaks it; `detail` of this one."""
        super().__init__(f"{law}: {detail[:2000]}" if detail else law)
        self.law = law


def require(holds: bool, law: str, detail: object = "") -> None:
    """Raise unless a law holds; `detail` is turned into text only then.

    Raises:
        LawBroken: it does not.
    """
    if not holds:
        raise LawBroken(law, detail if isinstance(detail, str) else repr(detail))


@dataclass(frozen=True)
class Case:
    """An input: files and options.

    Attributes:
        files: contents by path below the folder in which the case runs.
        options: values of JSON; what they mean is the target's affair.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def to_json(self, target: str, finding: str) -> str:
        """The case as a file that `--replay` reads."""
        files = {name: base64.b64encode(data).decode() for name, data in self.files.items()}
        record = {"target": target, "finding": finding, "options": self.options, "files": files}
        return json.dumps(record, indent=1)

    @classmethod
    def from_json(cls, text: str) -> tuple[str, "Case"]:
        """The target's name and the case of a saved finding."""
        record = json.loads(text)
        files = {name: base64.b64decode(data) for name, data in record["files"].items()}
        return record["target"], cls(files, record["options"])


@dataclass(frozen=True)
class Target:
    """A part of the program, and how it is fuzzed.

    Attributes:
        name: for `--target`.
        make: a case from a generator; the same one from the same seed.
        run: runs a case in a folder that holds its files; raises `LawBroken`, or whatever the
            program raises.
        share: how many of 10,000 inputs of all targets are this one's.
        outputs: names in the folder that the program may write; all else must stay as it is.
        seconds: an input that takes longer is a finding.
        shrinks: whether a finding is made smaller before it is saved.
        warm: called once before any time or memory is measured.
    """

    name: str
    make: Callable[[Random], Case]
    run: Callable[[Case, Path], None]
    share: int
    outputs: tuple[str, ...] = ()
    seconds: float = 5.0
    shrinks: bool = True
    warm: Callable[[], object] | None = None
