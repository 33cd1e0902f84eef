"""Standard output that cannot be written, or that nobody reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from marks import mostly_slow
from says import Says

resource = pytest.importorskip("resource")  # of Unix

PROBLEMS = {"/dev/full": "No space left on device", "&-": "Bad file descriptor"}


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error_message(model: Path) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()'"
    lines = "Ada visits Rome.\n" * 5000
    shell = f"{program} predict {model} --threads=1 | head -n 1"
    ended = subprocess.run(
        shell, shell=True, input=lines.encode(), capture_output=True, timeout=120, check=False
    )
    assert ended.stdout == b"Ada\tB-PER\n"
    assert b"Traceback" not in ended.stderr
    assert b"BrokenPipe" not in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("command", "target"),
    mostly_slow(
        # Of the first two one imports torch, which takes seconds, and one does not.
        [("predict model train.conll", "/dev/full"),
         ("eval --gold test.conll --pred test.conll --json", "&-"),
         ("predict model train.conll", "&-"),
         ("eval --gold test.conll --pred test.conll --json", "/dev/full"),
         *((command, target)
           for command in ("info model", "info model --json", "eval model test.conll",
                           "benchmark model test.conll --rounds 1",
                           "benchmark model test.conll --rounds 1 --json")
           for target in PROBLEMS)],
        always=2,
    ),
)  # fmt: skip
def test_a_full_disk_behind_standard_output_is_one_line(
    model: Path, command: str, target: str
) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()' {command}"
    ended = subprocess.run(
        f"{program} >{target}", shell=True, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last == Says("error: standard output: ", PROBLEMS[target])
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("unbuffered", [[], ["-u"]])
def test_who_holds_the_streams_of_before_can_still_write_to_them(unbuffered: list[str]) -> None:
    code = (
        "import logging, sys; logging.basicConfig(format='%(message)s')\n"
        "from tagkit.cli.program.streams import prepare_streams; prepare_streams()\n"
        "logging.warning('held'); print('new'); sys.__stdout__.write('old\\n')"
    )
    ended = subprocess.run(
        [sys.executable, *unbuffered, "-c", code],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("new\nold\n", "held\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_of_which_the_system_takes_a_part_is_an_error(
    tmp_path: Path, unbuffered: str
) -> None:
    code = "from tagkit.cli.main import main; main()"
    with (tmp_path / "out").open("wb") as out:
        ended = subprocess.run(
            [sys.executable, "-c", code, "config"],
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
            # Compiled modules would be cut off as well, and kept.
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
            # Of a write beyond that the system takes the first part, and says how much.
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
        )  # fmt: skip
    assert (ended.returncode, (tmp_path / "out").stat().st_size) == (1, 5000)
    assert ended.stderr == Says("error: standard output: ", "File too large")
