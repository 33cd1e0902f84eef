"""Programs that `tagkit benchmark` measures, and what it says of one that fails."""

import sys
from pathlib import Path

import pytest

from tagkit.cli.shown import command_times
from tagkit.cli.shown.command_times import PROGRAM
from tagkit.errors import DataError

WITHOUT_TORCH = ["-c", "import sys; sys.exit('importing ...\\nlibtorch.so: cannot open')"]
KILLED = ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (WITHOUT_TORCH, ("importing ...", "libtorch.so: cannot open")),
        (KILLED, (f"{sys.executable}: ended with status -9 and no message",)),
        # Its last line, the peak, is no part of the message.
        (["-c", PROGRAM, "predict", "none", "none.txt"],
         ("none: no such folder; `tagkit train` makes one",)),
    ],
)  # fmt: skip
def test_the_error_of_a_program_that_fails_is_the_whole_of_its_message(
    program: list[str], lines: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as failed:
        command_times._runs([sys.executable, *program], 1)
    assert failed.value.lines == lines
