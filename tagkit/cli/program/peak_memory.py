"""The peak memory of a process, as it measures it itself."""

import sys
from pathlib import Path

# `tagkit` as a program of its own, whose last line on standard error is its peak in MB.
PROGRAM = """
import sys
from tagkit.cli.main import main
from tagkit.cli.program.peak_memory import own_peak_mb
try:
    main()
finally:
    sys.stderr.write(f"\\n{own_peak_mb()}")
"""


def own_peak_mb() -> float | None:
    """The largest resident size of this process so far, in MB; None if the system does not say."""
    status = Path("/proc/self/status")
    # Not getrusage(2) on Linux, also not of children: it begins with the size of the process that
    # started this one.
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]  # in KiB
        return peaks[0] * 1024 / 1e6 if peaks else None
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
