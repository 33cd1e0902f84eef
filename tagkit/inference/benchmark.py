"""How fast a model is on this machine, and what fewer bits cost it: `tagkit benchmark`."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.dataset import Split
from tagkit.corpus.formats.source import rereadable
from tagkit.errors import DataError
from tagkit.inference.predictor import Predictor, load
from tagkit.inference.score import dev_scores, gold_split
from tagkit.limits import BATCH_SIZE
from tagkit.models.bundle import find_bundle
from tagkit.nn.inference import PRECISIONS
from tagkit.text.records import Sentence

BATCH_SIZES = (1, 32, 256)
# As much as fits into about a second with batches of one.
_SAMPLE_TOKENS = 20_000
_SINGLES = 300
_PROGRAM = "from tagkit.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Speed:
    """What one precision gives.

    Attributes:
        precision: of the recurrent products.
        score: the model's headline on the whole corpus, 0 to 1.
        tokens_per_s: by number of sentences a batch, of words that were met before.
        latency_ms: of one sentence by itself: the 50th, 95th and 99th percentile.
    """

    precision: str
    score: float
    tokens_per_s: dict[int, float]
    latency_ms: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """What `tagkit benchmark` finds.

    Attributes:
        tokens: of the corpus.
        sentences: of the corpus.
        speeds: one a precision.
        torch_s: seconds that a program takes that imports torch and ends.
        startup_s: seconds of `tagkit predict` on one short text; None of a model that reads
            feature columns, which a text has not.
        command_s: seconds of `tagkit predict` on the whole corpus.
        peak_mb: memory of that command at its largest; None where the system does not tell.
        model_mb: of the model's folder.
        threads: of torch.
    """

    tokens: int
    sentences: int
    speeds: tuple[Speed, ...]
    torch_s: float
    startup_s: float | None
    command_s: float
    peak_mb: float | None
    model_mb: float
    threads: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def measure(
    model: Path,
    path: str,
    data: DataConfig,
    *,
    device: str,
    threads: int,
    rounds: int,
    note: Callable[[str], None],
) -> Measured:
    """Measure a model on a corpus with gold tags or classes.

    Args:
        model: its folder.
        path: of the corpus.
        data: how it is read; what it does not name is as in training.
        device: as `load` has it; fewer bits are for a CPU alone.
        threads: that torch uses.
        rounds: of each figure, of which the median is taken.
        note: told what is being measured.

    Raises:
        BundleError: there is no such model.
        DataError: the corpus cannot be used.
    """
    with rereadable(path) as again:
        return _measure(model, again, data, device, threads, rounds, note)


def _measure(
    model: Path,
    path: str,
    data: DataConfig,
    device: str,
    threads: int,
    rounds: int,
    note: Callable[[str], None],
) -> Measured:
    first = load(model, device)
    split = gold_split(first, path, data)
    for text in split.notes:
        note(text)
    sample = _sample(split.sentences)
    precisions = PRECISIONS if first.device.type == "cpu" else PRECISIONS[:1]
    speeds = []
    for precision in precisions:
        note(f"{precision} ...")
        speeds.append(_speed(load(model, device, precision), split, sample, rounds))
    note("start-up ...")
    predict = [sys.executable, "-c", _PROGRAM, "predict", str(model)]
    options = ["--device", device, "--threads", str(threads)]
    torch_s = _seconds([sys.executable, "-c", "import torch"], rounds)
    startup_s = None
    if not first.vocabulary.features:
        startup_s = _seconds([*predict, "-", *options], rounds)
    file = [*predict, path, *options, "--encoding", data.encoding, "--input-format", data.format]
    return Measured(
        tokens=split.tokens,
        sentences=len(split.sentences),
        speeds=tuple(speeds),
        torch_s=torch_s,
        startup_s=startup_s,
        command_s=_seconds(file, rounds),
        peak_mb=_peak_of_children(),
        model_mb=sum(part.stat().st_size for part in find_bundle(model).iterdir()) / 1e6,
        threads=threads,
    )


def _sample(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Sentences from all over the corpus, with so many tokens in all."""
    total = sum(len(sentence) for sentence in sentences)
    step = max(1, total // _SAMPLE_TOKENS)
    return list(sentences[::step])


def _speed(predictor: Predictor, split: Split, sample: list[Sentence], rounds: int) -> Speed:
    score = dev_scores(predictor, split, BATCH_SIZE).headline  # meets all words

    def seconds(sentences: list[Sentence], size: int) -> float:
        start = time.perf_counter()
        predictor.annotate(sentences, batch_size=size, confidence=False)
        return time.perf_counter() - start

    tokens = sum(len(sentence) for sentence in sample)
    speeds = {
        size: tokens / statistics.median(seconds(sample, size) for _ in range(rounds))
        for size in BATCH_SIZES
    }
    singles = [1000 * seconds([sentence], 1) for sentence in sample[:_SINGLES]]
    cuts = statistics.quantiles(singles, n=100, method="inclusive") if len(singles) > 1 else None
    at = (cuts[49], cuts[94], cuts[98]) if cuts else (singles[0],) * 3
    return Speed(predictor.precision, score, speeds, at)


def _seconds(command: list[str], rounds: int) -> float:
    """Median time of a whole program.

    Raises:
        DataError: it fails.
    """
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ended = subprocess.run(
            command, input=b"A short text.\n", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip
        times.append(time.perf_counter() - start)
        if ended.returncode:
            raise DataError(ended.stderr.decode(errors="replace").strip().removeprefix("error: "))
    return statistics.median(times)


def _peak_of_children() -> float | None:
    """Memory of the largest program that was run, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
