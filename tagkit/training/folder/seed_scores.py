"""The scores of several seeds, and the files that such a run adds: `seeds.json`, `seed-N/`."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tagkit.evaluation.scores.scores import Score
from tagkit.models.folder.seed_folders import SUMMARY
from tagkit.storage import write_whole
from tagkit.text.json_text import Record, to_json


@dataclass(frozen=True, slots=True)
class SeedScores(Record):
    """The scores of one seed.

    Attributes:
        seed: the random seed.
        epoch: number of the best epoch.
        dev: score on dev by `train.metric`.
        test: likewise on test, or its headline where the metric is the loss; None without a test
            corpus.
        by_label: scores on test, or on dev without a test corpus, by "types" of spans (or plain
            labels) and "classes" of texts, or by the name of a tag column, and then by label.
    """

    seed: int
    epoch: int
    dev: float
    test: float | None
    by_label: Mapping[str, Mapping[str, Score]]


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """Mean and deviation over seeds of the scores of one label, each 0 to 1.

    Attributes:
        label: the type of a span, the tag or the class.
        precision: its mean and deviation.
        recall: likewise.
        f1: likewise.
        support: gold spans, tokens or texts.
    """

    label: str
    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    support: int


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (divisor n - 1); the deviation of one value is 0."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def label_spreads(scores: Sequence[SeedScores]) -> dict[str, list[LabelSpread]]:
    """Mean and deviation of each label's scores, by what the labels are of."""
    # A label that is in no gold answer is scored only by seeds that predict it, with 0: it counts
    # as 0 for the others too.
    none = Score(0.0, 0.0, 0.0, 0)
    spreads = {}
    for kind in scores[0].by_label:
        tables = [each.by_label[kind] for each in scores]
        spreads[kind] = [
            _spread(label, [table.get(label, none) for table in tables])
            for label in sorted({label for table in tables for label in table})
        ]
    return spreads


def _spread(label: str, found: Sequence[Score]) -> LabelSpread:
    return LabelSpread(
        label,
        mean_and_deviation([score.precision for score in found]),
        mean_and_deviation([score.recall for score in found]),
        mean_and_deviation([score.f1 for score in found]),
        max(score.support for score in found),
    )


def write_summary(folder: Path, scores: Sequence[SeedScores]) -> None:
    """Write seeds.json.

    Raises:
        OSError: it cannot be written.
    """
    rows = [asdict(score) for score in scores]
    write_whole(folder / SUMMARY, (to_json(rows, indent=2) + "\n").encode())
