"""What torchrun says of a process, read before torch is imported."""

import subprocess
import sys

import pytest

from tagkit.training.processes.launcher import is_alone, is_first


@pytest.mark.parametrize(
    ("variables", "first", "alone"),
    [
        ({}, True, True),
        ({"RANK": "0", "WORLD_SIZE": "2"}, True, False),
        ({"RANK": "1", "WORLD_SIZE": "2"}, False, False),
        ({"RANK": "0", "WORLD_SIZE": "1"}, True, True),
    ],
)
def test_a_process_knows_its_place(
    variables: dict[str, str], first: bool, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (is_first(), is_alone()) == (first, alone)


def test_a_command_can_ask_without_torch() -> None:
    program = "import sys, tagkit.training.processes.launcher; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
