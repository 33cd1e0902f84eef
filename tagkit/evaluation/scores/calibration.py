"""How far probabilities can be trusted: of what is predicted with 0.8, four fifths should be right.

With predictions i, of probability p[i] and right (c[i] = 1) or wrong (c[i] = 0), in M = 10 bins:

    ECE        sum over bins b of n[b] / n x |mean of c in b - mean of p in b|
    Brier      mean of (p - c) ** 2
    log loss   mean of -(c log p + (1 - c) log (1 - p))

The expected calibration error (ECE) is that of Naeini et al. 2015 and Guo et al. 2017, with bins of
equal width, (0, 0.1], (0.1, 0.2] and so on. As most predictions of a good model are in the last of
them, a second one has bins of equal numbers of predictions. The Brier score (Brier 1950) and the
log loss, a cross-entropy, are of the event that a prediction is right, so that they are defined for
spans too (Culotta and McCallum 2004 judge the confidence of spans in this way). Both are proper: no
other probabilities have a better expected score than the true ones.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.evaluation.scores.scores import score_of
from tagkit.text.json_text import Record

BINS = 10
# From which on predictions are kept, in the table of precision and recall.
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Probabilities come from float32, in which whatever is closer to 1 is 1: a wrong prediction of
# probability 1 costs no more than one of the next smaller probability.
_CLOSEST = 2.0**-24


@dataclass(frozen=True, slots=True)
class Bin(Record):
    """Predictions with similar probabilities.

    Attributes:
        low: the probabilities of the bin are above it (the first bin has 0 too).
        high: and at most this.
        count: number of predictions.
        confidence: their mean probability; 0 without any.
        accuracy: share of them that is right, 0 to 1; 0 without any.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Threshold(Record):
    """Scores if only predictions from a probability on were kept.

    Attributes:
        threshold: that probability.
        count: number of predictions kept.
        precision: share of them that is right; 0 without any.
        recall: share of all that gold has; 0 without any.
        f1: harmonic mean of the two.
    """

    threshold: float
    count: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Calibration(Record):
    """How far the probabilities of predictions can be trusted.

    Attributes:
        name: what was predicted: "spans", "tokens", "texts" or "classes".
        count: number of predictions.
        ece: expected calibration error, over `bins`; 0 to 1, 0 is best.
        brier: mean squared difference between probability and right (1) or wrong (0).
        bins: of equal width.
        thresholds: scores of the predictions from a probability on.
        ece_equal_mass: expected calibration error over as many bins of equal numbers.
        log_loss: in nats a prediction.
    """

    name: str
    count: int
    ece: float
    brier: float
    bins: tuple[Bin, ...]
    thresholds: tuple[Threshold, ...]
    ece_equal_mass: float
    log_loss: float


def calibration(judged: Outcomes) -> Calibration:
    """What is measured of predictions with their probabilities."""
    probs, correct = judged.probabilities, judged.correct.astype(float)
    bins = _bins(probs, correct)
    return Calibration(
        name=judged.name,
        count=len(judged),
        ece=sum(each.count * abs(each.accuracy - each.confidence) for each in bins)
        / max(1, len(judged)),
        brier=float(np.square(probs - correct).mean()) if len(judged) else 0.0,
        bins=bins,
        thresholds=_thresholds(judged),
        ece_equal_mass=_equal_mass(probs, correct),
        log_loss=log_loss(judged),
    )


def log_loss(judged: Outcomes) -> float:
    """Mean cross-entropy in nats of "right" and "wrong" under the probabilities; 0 without any."""
    if not len(judged):
        return 0.0
    likely = np.clip(judged.probabilities, _CLOSEST, 1 - _CLOSEST)
    return float(-np.log(np.where(judged.correct, likely, 1 - likely)).mean())


def _bins(probs: npt.NDArray[np.float64], correct: npt.NDArray[np.float64]) -> tuple[Bin, ...]:
    edges = np.arange(BINS + 1) / BINS
    # The number of edges below a probability, one of which is 0: 0.1 is in the first bin.
    number = np.searchsorted(edges, probs, side="left").clip(min=1) - 1
    counts = np.bincount(number, minlength=BINS)
    # (predictions,) -> (bins,)
    confidences, accuracies = (
        np.bincount(number, weights=values, minlength=BINS) / np.maximum(counts, 1)
        for values in (probs, correct)
    )
    return tuple(
        Bin(float(low), float(high), int(count), float(confidence), float(accuracy))
        for (low, high), count, confidence, accuracy in zip(
            pairwise(edges), counts, confidences, accuracies, strict=True
        )
    )


def _equal_mass(probs: npt.NDArray[np.float64], correct: npt.NDArray[np.float64]) -> float:
    # Stable, so that equal probabilities stay in the corpus's order, which the caller decides.
    order = np.argsort(probs, kind="stable")
    groups = (group for group in np.array_split(order, BINS) if len(group))
    total = sum(abs(float((probs[group] - correct[group]).sum())) for group in groups)
    return total / max(1, len(probs))


def _thresholds(judged: Outcomes) -> tuple[Threshold, ...]:
    found = []
    for threshold in THRESHOLDS:
        kept = judged.probabilities >= threshold
        count = int(kept.sum())
        score = score_of(int((kept & judged.correct).sum()), count, judged.gold)
        found.append(Threshold(threshold, count, score.precision, score.recall, score.f1))
    return tuple(found)
