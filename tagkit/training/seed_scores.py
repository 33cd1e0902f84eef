"""The scores of several seeds, and the files that such a run adds: `seeds.json`, `seed-N/`."""

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tagkit.storage import write_whole
from tagkit.text.json_text import to_json
from tagkit.training.artifact import FileArtifact

SUMMARY = "seeds.json"
SEED_RUN = re.compile(r"seed-[0-9]+")  # folders that are runs of their own


@dataclass(frozen=True, slots=True)
class SeedScores:
    """The scores of one seed.

    Attributes:
        seed: the random seed.
        epoch: number of the best epoch.
        dev: score on dev by `train.metric`.
        test: likewise on test, or its headline where the metric is the loss; None without a test
            corpus.
    """

    seed: int
    epoch: int
    dev: float
    test: float | None


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (divisor n - 1); the deviation of one value is 0."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def seed_folder(seed: int) -> str:
    """The name of the folder of one seed's run."""
    return f"seed-{seed}"


def write_summary(folder: Path, scores: Sequence[SeedScores]) -> None:
    """Write seeds.json.

    Raises:
        OSError: it cannot be written.
    """
    rows = [asdict(score) for score in scores]
    write_whole(folder / SUMMARY, (to_json(rows, indent=2) + "\n").encode())


def _is_summary(path: Path) -> bool:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return all(row.keys() == {"seed", "epoch", "dev", "test"} for row in rows)


FILES = (FileArtifact(SUMMARY, _is_summary),)
