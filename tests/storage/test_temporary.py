"""Temporary files beside their place: each belongs to its writer."""

import os
import subprocess
import sys
from pathlib import Path

from tagkit.storage import (
    open_output,
    write_whole,
)


def test_the_file_of_a_living_writer_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open_output(path) as slow:
        slow("slow")
        write_whole(path, b"quick")
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["a"]


def test_two_processes_that_write_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "a"
    program = (
        "import sys; from pathlib import Path; from tagkit.storage import open_output\n"
        "for _ in range(60):\n"
        "    with open_output(Path(sys.argv[1])) as write: write(sys.argv[2] * 5000)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path), letter]) for letter in "xyz"
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert set(path.read_text()) in ({"x"}, {"y"}, {"z"})
    assert os.listdir(tmp_path) == ["a"]
