"""Peak memory of a command, in a process of its own."""

import subprocess
import sys

# Not `ru_maxrss` on Linux, which begins with the size of the process that started this one.
PROGRAM = """
import resource, sys
from pathlib import Path
from tagkit.cli.main import main
try:
    main()
finally:
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak /= 2**20 if sys.platform == "darwin" else 2**10
    sys.stderr.write(f"\\n{peak}")
"""


def peak_mb(*arguments: str) -> float:
    """The largest resident size of `tagkit` with these arguments, in MB."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return float(ended.stderr.splitlines()[-1])
