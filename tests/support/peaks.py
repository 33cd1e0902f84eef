"""Peak memory of a command, in a process of its own."""

import subprocess
import sys

from tagkit.cli.commands.benchmark import PROGRAM


def peak_mb(*arguments: object) -> float:
    """The largest resident size of `tagkit` with these arguments, in MB."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return float(ended.stderr.splitlines()[-1])
