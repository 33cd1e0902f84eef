"""The program `tagkit`, run in this process."""

import io
import sys
from dataclasses import dataclass

import pytest

from tagkit.cli.main import main


@dataclass(frozen=True)
class Ended:
    """What a run of the program left behind."""

    code: int
    out: str
    err: str


class Program:
    """Runs `tagkit` in this process: torch is loaded once for all tests."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]) -> None:
        self.patch = patch
        self.capture = capture

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Ended:
        self.patch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = self.capture.readouterr()
        return Ended(code, out.decode(), err.decode())


SMALL = [
    f"--set={option}"
    for option in (
        "embeddings.word_dim=16",
        "embeddings.char_dim=8",
        "embeddings.char_hidden=8",
        "encoder.hidden=16",
        "encoder.dropout=0.1",
        "encoder.locked_dropout=0",
        "train.batch_size=8",
        "train.lr=0.02",
        "train.max_epochs=4",
    )
]


def small(*options: str) -> list[str]:
    """`SMALL` with other values: an option that a command line gives twice is refused."""
    names = {each.partition("=")[0] for each in options}
    kept = [word for word in SMALL if word.removeprefix("--set=").partition("=")[0] not in names]
    return [*kept, *(f"--set={each}" for each in options)]
