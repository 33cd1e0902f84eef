"""Time and memory of `tagkit predict` as a whole program, start-up included, for `benchmark`.

Each measurement starts a new process: in this one Python, torch and the model are loaded already.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.errors import DataError

if TYPE_CHECKING:  # imports torch
    from tagkit.inference.benchmark import ModelSpeed, Speed

# Not the `tagkit` script, which need not be on the PATH, or may be of another installation.
_PROGRAM = "from tagkit.cli.main import main; main()"
_SHORT_TEXT = b"A short text.\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """What `tagkit benchmark` prints; the keys of its JSON object.

    Attributes:
        tokens: of the corpus.
        sentences: of the corpus.
        speeds: one for each precision.
        torch_s: seconds of a program that imports torch and ends.
        startup_s: seconds of `tagkit predict` on one short text; None for a model that reads
            feature columns, which a text lacks.
        command_s: seconds of `tagkit predict` on the whole corpus.
        peak_mb: the largest resident memory of such a command; None where the system does not
            report it.
        model_mb: size of the model's folder.
        threads: of torch.
    """

    tokens: int
    sentences: int
    speeds: "tuple[Speed, ...]"
    torch_s: float
    startup_s: float | None
    command_s: float
    peak_mb: float | None
    model_mb: float
    threads: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def measure_commands(
    speed: "ModelSpeed",
    model: Path,
    corpus: list[str],
    options: list[str],
    *,
    threads: int,
    rounds: int,
) -> Measured:
    """Measure `tagkit predict`, and add it to the figures of the model.

    Args:
        speed: the figures of the model.
        model: its folder.
        corpus: path of a file that can be read several times, and which columns are read, as
            arguments.
        options: how files are read, and `--device`, as arguments.
        threads: of torch.
        rounds: measurements of each figure, whose median is reported.

    Raises:
        DataError: a command fails.
    """
    predict = [sys.executable, "-c", _PROGRAM, "predict", str(model)]
    options = [*options, "--threads", str(threads)]
    # The part of the start-up that is not ours, to compare with.
    torch_s = _seconds([sys.executable, "-c", "import torch"], rounds)
    startup_s = _seconds([*predict, "-", *options], rounds) if speed.reads_text else None
    command_s = _seconds([*predict, *corpus, *options], rounds)
    return Measured(
        tokens=speed.tokens,
        sentences=speed.sentences,
        speeds=speed.speeds,
        torch_s=torch_s,
        startup_s=startup_s,
        command_s=command_s,
        peak_mb=_peak_of_children_mb(),
        model_mb=speed.model_mb,
        threads=threads,
    )


def _seconds(command: list[str], rounds: int) -> float:
    """Median wall-clock time of a program.

    Raises:
        DataError: it fails, with its message.
    """
    return statistics.median(_times_s(command, rounds))


def _times_s(command: list[str], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        start_s = time.perf_counter()
        # Output is discarded: a slow terminal is not to be measured.
        ended = subprocess.run(
            command,
            input=_SHORT_TEXT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        yield time.perf_counter() - start_s
        if ended.returncode:
            raise DataError(ended.stderr.decode(errors="replace").strip().removeprefix("error: "))


def _peak_of_children_mb() -> float | None:
    """Memory of the largest program that was run, in MB; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    # getrusage(2): the largest child that has ended, not their sum; in KiB on Linux, in bytes on
    # macOS.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
