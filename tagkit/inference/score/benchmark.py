"""Speed and score of a model on this machine, with each precision of its recurrent products.

Whole commands (start-up, memory) are measured by `tagkit.cli.commands.benchmark`.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import Split
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.score.score import evaluate_split, gold_split
from tagkit.limits import BATCH_SIZE
from tagkit.models.folder.parts import find_bundle
from tagkit.nn.layers.inference import PRECISIONS, precisions_of
from tagkit.text.records import Sentence

BATCH_SIZES = (1, 32, 256)  # one request at a time; a busy service; a whole corpus
# About a second of work with batches of one sentence.
_SAMPLE_TOKENS = 20_000
# Sentences for the latency. The 99th percentile of 300 has 3 values above it.
_SINGLES = 300


@dataclass(frozen=True, slots=True)
class Speed:
    """Figures of one precision.

    Attributes:
        precision: of the recurrent products.
        score: the model's headline on the whole corpus, 0 to 1.
        tokens_per_s: by number of sentences per batch, for words that are in the word cache.
        latency_ms: of one sentence by itself: the 50th, 95th and 99th percentile.
    """

    precision: str
    score: float
    tokens_per_s: dict[int, float]
    latency_ms: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class ModelSpeed:
    """Figures of a model.

    Attributes:
        tokens: of the corpus.
        sentences: of the corpus.
        speeds: one for each precision.
        reads_text: whether raw text is enough; False for a model of feature columns.
        model_mb: size of the model's folder.
    """

    tokens: int
    sentences: int
    speeds: tuple[Speed, ...]
    reads_text: bool
    model_mb: float


def measure(
    model: Path,
    path: str,
    data: DataConfig,
    *,
    device: str,
    rounds: int,
    note: Callable[[str], None],
) -> ModelSpeed:
    """Measure a model on a corpus with gold tags or classes.

    Args:
        model: its folder.
        path: of the corpus.
        data: how the corpus is read; what it leaves open is as in training.
        device: as in `load`; on a GPU only fp32 is measured.
        rounds: measurements of each figure, whose median is reported.
        note: called with what is being measured.

    Raises:
        BundleError: there is no such model.
        DataError: the corpus cannot be used, or the model scores a text as it is.
    """
    first = load(model, device)
    first.task.require_answers(first.config)
    split = gold_split(first, path, data)
    for text in split.notes:
        note(text)
    sample = _sample(split.sentences)
    on_cpu = first.device.type == "cpu"
    precisions = precisions_of(first.model.encoder) if on_cpu else PRECISIONS[:1]
    speeds = []
    for precision in precisions:
        note(f"{precision} ...")
        # A model of its own for each precision: converted weights do not convert back.
        speeds.append(_speed(load(model, device, precision), split, sample, rounds))
    return ModelSpeed(
        tokens=split.tokens,
        sentences=len(split.sentences),
        speeds=tuple(speeds),
        reads_text=not (first.vocabulary.features or first.vocabulary.vectors),
        model_mb=sum(part.stat().st_size for part in find_bundle(model).iterdir()) / 1e6,
    )


def _sample(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Sentences with about `_SAMPLE_TOKENS` tokens in all."""
    total = sum(len(sentence) for sentence in sentences)
    # Every n-th sentence rather than the first ones: a corpus is often sorted by its sources.
    step = max(1, total // _SAMPLE_TOKENS)
    return list(sentences[::step])


def _speed(predictor: Predictor, split: Split, sample: list[Sentence], rounds: int) -> Speed:
    # Scoring reads the whole corpus, so it also fills the word cache and warms torch up: oneDNN
    # chooses and packs its kernels at the first call.
    score = evaluate_split(predictor, split, batch_size=BATCH_SIZE).headline

    def seconds(sentences: list[Sentence], size: int) -> float:
        start_s = time.perf_counter()
        predictor.annotate(sentences, batch_size=size, confidence=False)
        return time.perf_counter() - start_s

    tokens = sum(len(sentence) for sentence in sample)
    # Medians: one round that another process disturbs does not count.
    speeds = {
        size: tokens / statistics.median(seconds(sample, size) for _ in range(rounds))
        for size in BATCH_SIZES
    }
    singles = [1000 * seconds([sentence], 1) for sentence in sample[:_SINGLES]]
    # "inclusive" never extrapolates beyond the slowest sentence that was measured.
    cuts = statistics.quantiles(singles, n=100, method="inclusive") if len(singles) > 1 else None
    percentiles = (cuts[49], cuts[94], cuts[98]) if cuts else (singles[0],) * 3
    return Speed(predictor.precision, score, speeds, percentiles)
