"""`tagkit benchmark`."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import AsJson, Model, Predicting, Reading
from tagkit.errors import DataError
from tagkit.wording import plural

if TYPE_CHECKING:  # imports torch
    from tagkit.inference.score.benchmark import ModelSpeed, Speed

EXAMPLES = """\
Example:
  tagkit benchmark models/travel data/travel/test.conll
"""


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions:
    """The options of `tagkit benchmark`."""

    model: Model
    file: Annotated[str, typer.Argument(help="Corpus with gold tags or classes.", metavar="FILE")]
    reading: Reading
    rounds: Annotated[
        int,
        typer.Option(
            min=1, help="Measurements of each figure; the median is reported.", metavar="N"
        ),
    ] = 3
    as_json: AsJson = False
    prediction: Predicting


@takes_options
def benchmark_command(options: BenchmarkOptions) -> None:
    """Measure the speed, memory and score of a model.

    Speed and memory are those of this machine. The score is also measured at lower precision.
    """
    from tagkit.cli.program.console import note
    from tagkit.cli.program.messages import show_result
    from tagkit.config import load_config
    from tagkit.corpus.source.source import rereadable
    from tagkit.inference.score.benchmark import measure
    from tagkit.models.base.device import set_threads

    model, rounds, device = options.model, options.rounds, options.prediction.device
    data = load_config(flags=flags_of(options)).data
    reading = ["--device", device, "--encoding", data.encoding, "--input-format", data.format]
    # `predict`, which is measured too, reads tokens or texts alone.
    read = options.reading.columns
    columns = [] if read.token_column is None else ["--token-column", read.token_column]
    columns += [] if read.text_column is None else ["--text-column", read.text_column]
    threads = set_threads(options.prediction.threads)
    # A copy of standard input, which each command reads again.
    with rereadable(options.file) as path:
        speed = measure(model, path, data, device=device, rounds=rounds, note=note)
        note("start-up ...")
        corpus = [path, *columns]
        measured = measure_commands(speed, model, corpus, reading, threads=threads, rounds=rounds)
    show_result(measured, measured_lines(measured), as_json=options.as_json)


# Time and memory of `tagkit predict` as a whole program, start-up included, for `benchmark`.
#
# Each measurement starts a new process: in this one Python, torch and the model are loaded already.

_SHORT_TEXT = b"A short text.\n"


@dataclass(frozen=True, slots=True)
class CommandTimes:
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
) -> CommandTimes:
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
    # Not the `tagkit` script, which need not be on the PATH, or may be of another installation.
    predict = [sys.executable, "-c", PROGRAM, "predict", str(model)]
    options = [*options, "--threads", str(threads)]
    # The part of the start-up that is not ours, to compare with.
    importing = _runs([sys.executable, "-c", "import torch"], rounds)
    short = _runs([*predict, "-", *options], rounds) if speed.reads_text else []
    whole = _runs([*predict, *corpus, *options], rounds)
    peaks = [float(run.errors[-1]) for run in whole if run.errors[-1] != "None"]
    return CommandTimes(
        tokens=speed.tokens,
        sentences=speed.sentences,
        speeds=speed.speeds,
        torch_s=_median_s(importing),
        startup_s=_median_s(short) if short else None,
        command_s=_median_s(whole),
        peak_mb=max(peaks, default=None),
        model_mb=speed.model_mb,
        threads=threads,
    )


@dataclass(frozen=True, slots=True)
class _ProgramRun:
    """A run of a program: its wall-clock time, and the lines of its standard error."""

    seconds: float
    errors: list[str]


def _median_s(runs: Sequence[_ProgramRun]) -> float:
    return statistics.median(run.seconds for run in runs)


def _runs(command: list[str], rounds: int) -> list[_ProgramRun]:
    """Run a program several times.

    Raises:
        DataError: it fails, with its message.
    """
    runs = []
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
        seconds = time.perf_counter() - start_s
        errors = ended.stderr.decode(errors="replace").splitlines()
        if ended.returncode:
            # The last line of `PROGRAM` is its peak, unless a signal has ended it.
            has_peak = PROGRAM in command and ended.returncode > 0
            found = [line for line in errors[: -1 if has_peak else None] if line]
            unexplained = f"{command[0]}: ended with status {ended.returncode} and no message"
            raise DataError(*(line.removeprefix("error: ") for line in found or [unexplained]))
        runs.append(_ProgramRun(seconds, errors))
    return runs


# The peak memory of a process, as it measures it itself.

# `tagkit` as a program of its own, whose last line on standard error is its peak in MB.
PROGRAM = """
import sys
from tagkit.cli.main import main
from tagkit.cli.commands.benchmark import own_peak_mb
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


def measured_lines(measured: CommandTimes) -> Iterator[str]:
    """The figures of a benchmark."""
    sizes = "".join(f"{f'batch {size}':>11}" for size in measured.speeds[0].tokens_per_s)
    yield f"{'':<10}  score  change{sizes}    p50    p95    p99"
    # The first row has all bits of the weights; `change` is what the others lose in score.
    first = measured.speeds[0].score
    for speed in measured.speeds:
        # Columns as wide as their heads above.
        rates = "".join(f"{rate:>11,.0f}" for rate in speed.tokens_per_s.values())
        waits = "".join(f"{wait:>7.2f}" for wait in speed.latency_ms)
        change = 100 * (speed.score - first)
        yield f"{speed.precision:<10}{100 * speed.score:>7.2f}{change:>+8.2f}{rates}{waits}"
    yield ""
    yield "tokens per second by sentences per batch; milliseconds for a sentence alone"
    yield f"corpus     {plural(measured.sentences, 'sentence')}, {plural(measured.tokens, 'token')}"
    yield f"threads    {measured.threads}"
    if measured.startup_s is not None:
        # Importing torch takes most of it, and no model can change that. Both are measured, so
        # that on a busy machine the part may take longer than the whole.
        yield (
            f"start-up   {measured.startup_s:.2f} s for one text; importing torch alone takes "
            f"{measured.torch_s:.2f} s"
        )
    yield f"predict    {measured.command_s:.2f} s for the corpus, as a whole command"
    if measured.peak_mb is not None:
        yield f"memory     {measured.peak_mb:,.0f} MB at its peak"
    yield f"model      {measured.model_mb:,.1f} MB on disk"
