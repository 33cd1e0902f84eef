"""Peak memory of a command, in a process of its own."""

import subprocess
import sys
from pathlib import Path

SUPPORT = str(Path(__file__).parent)
PROGRAM = f"""
import sys
sys.path.insert(0, {SUPPORT!r})
from peaks import own_peak_mb
from tagkit.cli.main import main
try:
    main()
finally:
    sys.stderr.write(f"\\n{{own_peak_mb()}}")
"""


def peak_mb(*arguments: object) -> float:
    """The largest resident size of `tagkit` with these arguments, in MB."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return float(ended.stderr.splitlines()[-1])


def own_peak_mb() -> float:
    """The largest resident size of this process, in MB."""
    status = Path("/proc/self/status")
    # Not `ru_maxrss` on Linux, which begins with the size of the process that started this one.
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    import resource  # Windows has none

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
