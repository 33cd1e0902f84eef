"""How sure a score is, and whether one system is better than another.

Both work on counts by sentence, as a sentence is what a corpus is a sample of. The interval is that
of the percentile bootstrap (Efron and Tibshirani 1993): sentences are drawn with replacement. The
p-value is that of a paired approximate randomisation test (Noreen 1989; Yeh 2000): the predictions
of the two systems for a sentence are swapped with a probability of one half; p is the share of such
corpora, with the real one, whose difference is at least as large as that observed.

Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", section on statistical
significance testing, describe the paired bootstrap; randomisation asks the same question, and its
p-value of a system against itself is exactly 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagkit.text.json_text import Record

SAMPLES = 10_000  # corpora that are drawn; p cannot be smaller than one in so many
LEVEL = 0.95  # of an interval
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """Correct, predicted and gold decisions of each sentence, by which F1 or accuracy is made.

    Attributes:
        correct: (sentences,).
        predicted: (sentences,); of accuracy the same as `gold`.
        gold: (sentences,).
    """

    correct: Array
    predicted: Array
    gold: Array

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.gold)

    @property
    def f1(self) -> float:
        """Micro F1 of all sentences, 0 to 1: 2 correct / (predicted + gold); 0 without spans."""
        return float(_f1(self.correct.sum(), (self.predicted + self.gold).sum()))


@dataclass(frozen=True, slots=True)
class Interval(Record):
    """A confidence interval, 0 to 1.

    Attributes:
        low: its lower end.
        high: its upper end.
        level: share of such intervals that hold the true value.
    """

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Difference(Record):
    """The difference between two systems on the same sentences.

    Attributes:
        difference: F1 of the second less that of the first, -1 to 1.
        interval: of the difference, by the bootstrap.
        p: share of random exchanges that give at least this difference, above 0 and at most 1.
    """

    difference: float
    interval: Interval
    p: float


def interval(runs: Sequence[SentenceCounts], seed: int = 1, samples: int = SAMPLES) -> Interval:
    """The bootstrap interval of a system's F1, or of the mean F1 of its runs.

    Args:
        runs: the system's counts on the same sentences: one for each training run. Of several,
            runs are drawn as sentences are, so that the interval covers both: other sentences and
            other seeds.
        seed: of the draws.
        samples: number of corpora that are drawn.
    """
    rng = np.random.default_rng(seed)
    rows, times = _distinct(runs)
    return _percentiles(_drawn_f1(rows, _draw(times, samples, rng), rng))


def compare(
    first: Sequence[SentenceCounts],
    second: Sequence[SentenceCounts],
    seed: int = 1,
    samples: int = SAMPLES,
) -> Difference:
    """Whether the second system is better than the first.

    Of systems with several runs, predictions are exchanged for the mean counts of their runs.

    Args:
        first: counts of its runs, on the same sentences.
        second: counts of the other's runs, on these sentences too.
        seed: of all that is random.
        samples: number of corpora that are drawn, and of exchanges.
    """
    rng = np.random.default_rng(seed)
    rows, times = _distinct([*first, *second])
    weights = _draw(times, samples, rng)  # the same sentences for both, as they are paired
    ours, theirs = rows[:, : len(first)], rows[:, len(first) :]
    drawn = _drawn_f1(theirs, weights, rng) - _drawn_f1(ours, weights, rng)
    return Difference(
        float(np.mean([run.f1 for run in second]) - np.mean([run.f1 for run in first])),
        _percentiles(drawn),
        _randomisation_p(ours.mean(axis=1), theirs.mean(axis=1), times, samples, rng),
    )


def _distinct(runs: Sequence[SentenceCounts]) -> tuple[Array, NDArray[np.int64]]:
    """Distinct sentences by their counts in all runs, and how many there are of each.

    Sentences with the same counts are exchangeable: drawing how often each kind of them occurs is
    drawing them one by one, and takes no longer for a million sentences than for a thousand.

    Returns:
        (distinct, runs, 2): correct, and predicted + gold; and (distinct,).
    """
    each = [np.stack((run.correct, run.predicted + run.gold), axis=1) for run in runs]
    # (sentences, runs x 2) -> (distinct, runs x 2)
    rows, times = np.unique(np.concatenate(each, axis=1), axis=0, return_counts=True)
    return rows.reshape(len(rows), len(runs), 2), times


def _draw(times: NDArray[np.int64], samples: int, rng: np.random.Generator) -> Array:
    """(samples, distinct) how often each kind of sentence is in a corpus that is drawn."""
    total = times.sum()
    return rng.multinomial(total, times / total, size=samples).astype(np.float64)


def _drawn_f1(rows: Array, weights: Array, rng: np.random.Generator) -> Array:
    """(samples,) mean F1 of runs that are drawn with replacement, on sentences that were drawn."""
    runs, samples = rows.shape[1], len(weights)
    # (samples, distinct) x (distinct, runs) -> (samples, runs)
    scores = _f1(weights @ rows[..., 0], weights @ rows[..., 1])
    if runs == 1:
        first: Array = scores[:, 0]
        return first
    drawn = rng.integers(runs, size=(samples, runs))
    means: Array = np.take_along_axis(scores, drawn, axis=1).mean(axis=1)
    return means


def _randomisation_p(
    first: Array, second: Array, times: NDArray[np.int64], samples: int, rng: np.random.Generator
) -> float:
    """Share of exchanges whose difference is at least as large as the real one.

    Args:
        first: (distinct, 2) counts of the first system.
        second: (distinct, 2) of the second.
        times: (distinct,) number of sentences with these counts.
        samples: number of exchanges.
        rng: chooses what is exchanged.
    """
    # (samples, distinct): of so many equal sentences, how many are exchanged
    swapped = rng.binomial(times, 0.5, size=(samples, len(times)))
    moved = swapped @ (second - first)  # (samples, 2)
    sums = times @ first, times @ second  # (2,) each
    real = _f1(*sums[1]) - _f1(*sums[0])
    found = _f1(*(sums[1] - moved).T) - _f1(*(sums[0] + moved).T)
    # The tolerance is for sums in another order; the real corpus is one of the exchanges.
    as_large = int(np.count_nonzero(np.abs(found) >= abs(real) - 1e-12))
    return (as_large + 1) / (samples + 1)


def _f1(correct: Array, total: Array) -> Array:
    zeros = np.zeros_like(total, dtype=np.float64)
    scores: Array = np.divide(2 * correct, total, out=zeros, where=total > 0)
    return scores


def _percentiles(values: Array) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), LEVEL)
