"""How sure a score is, and whether one system is better than another.

Both work on counts by sentence, as a sentence is what a corpus is a sample of. The interval is that
of the percentile bootstrap (Efron and Tibshirani 1993): sentences are drawn with replacement. The
p-value is that of a paired approximate randomisation test (Noreen 1989; Yeh 2000): the predictions
of the two systems for a sentence are swapped with a probability of one half; p is the share of such
corpora, with the real one, whose difference is at least as large as that observed.

A system may have several runs, which differ in their seeds. Its score is then the mean of theirs,
and a second source of variance is added to that of the sentences (Reimers and Gurevych 2017, 2018):
the seeds that it might have been trained with. The mean of n runs with a standard deviation s
differs from that of all seeds by s / sqrt(n) times a value of Student's t with n - 1 degrees of
freedom, and the difference of two means as Welch 1947 has it. One such value is added to each
corpus that is drawn, and to each exchange: without differences between sentences the test is that
of Welch, without differences between seeds that of Noreen. What depends on both, as a seed's own
errors do, counts twice, so both err on the side of caution. Drawing the runs with replacement, as
the bootstrap draws sentences, would not: it knows no other scores than those of the few runs.

Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", section on statistical
significance testing, describe the paired bootstrap; randomisation asks the same question, and its
p-value of a system against itself is exactly 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tagkit.text.json_text import Record

SAMPLES = 10_000  # corpora that are drawn; p cannot be smaller than one in so many
LEVEL = 0.95  # of an interval
_CELLS = 2**23  # numbers that are drawn at once: 64 MB
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
        difference: F1 of the second less that of the first, -1 to 1; of several runs the mean F1.
        interval: of the difference, by the bootstrap.
        p: share of random exchanges that give at least this difference, above 0 and at most 1.
        p_holm: the same, adjusted for the comparisons that are made together with this one.
    """

    difference: float
    interval: Interval
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Spread(Record):
    """The two sources of variance of a score, as standard deviations, 0 to 1.

    Attributes:
        sentences: of the mean score of all runs, between corpora of as many sentences.
        seeds: of the score of one run, between seeds (divisor n - 1); None of a single run, which
            does not tell.
    """

    sentences: float
    seeds: float | None


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure a score is.

    Attributes:
        interval: that holds the true score.
        spread: the variance that it is made of.
    """

    interval: Interval
    spread: Spread


def certainty(runs: Sequence[SentenceCounts], seed: int = 1, samples: int = SAMPLES) -> Certainty:
    """The bootstrap interval of a system's F1, or of the mean F1 of its runs.

    Args:
        runs: the system's counts on the same sentences: one for each training run.
        seed: of the draws.
        samples: number of corpora that are drawn.
    """
    rng = np.random.default_rng(seed)
    rows, times = _distinct(runs)
    (drawn,) = _drawn([rows], times, samples, rng)
    found = drawn + _drawn_seeds([runs], samples, rng)
    deviation = float(np.std([run.f1 for run in runs], ddof=1)) if len(runs) > 1 else None
    spread = Spread(float(np.std(drawn)), deviation)
    return Certainty(_percentiles(np.clip(found, 0, 1)), spread)


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
    ours, theirs = rows[:, : len(first)], rows[:, len(first) :]
    real = float(np.mean([run.f1 for run in second]) - np.mean([run.f1 for run in first]))
    ours_drawn, theirs_drawn = _drawn([ours, theirs], times, samples, rng)
    drawn = theirs_drawn - ours_drawn
    exchanged, as_given = _exchanged(ours, theirs, times, samples, rng)
    of_seeds = _drawn_seeds([first, second], samples, rng)
    # The tolerance is for sums in another order; the real corpus is one of the exchanges.
    as_large = int(np.count_nonzero(np.abs(exchanged + of_seeds) >= abs(as_given) - 1e-12))
    p = (as_large + 1) / (samples + 1)
    return Difference(real, _percentiles(np.clip(drawn + of_seeds, -1, 1)), p, p)


def holm(differences: Sequence[Difference]) -> list[Difference]:
    """Differences that are tested together, with p-values adjusted for their number (Holm 1979).

    The chance that any of them is called significant at a level without being so is at most that
    level, whatever depends on what: the smallest of n p-values is multiplied by n, the next one by
    n - 1, and so on; none becomes smaller than one before it.
    """
    adjusted = list(differences)
    largest = 0.0
    order = sorted(range(len(differences)), key=lambda index: differences[index].p)
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * differences[index].p))
        adjusted[index] = replace(differences[index], p_holm=largest)
    return adjusted


def _distinct(runs: Sequence[SentenceCounts]) -> tuple[Array, NDArray[np.int64]]:
    """Distinct sentences by their counts in all runs, and how many there are of each.

    Sentences with the same counts are exchangeable: drawing how often each kind of them occurs is
    drawing them one by one. There are few kinds with a single run, however many sentences; with
    several runs most sentences may be one of their own.

    Returns:
        (distinct, runs, 2): correct, and predicted + gold; and (distinct,).
    """
    each = [np.stack((run.correct, run.predicted + run.gold), axis=1) for run in runs]
    # (sentences, runs x 2) -> (distinct, runs x 2)
    rows, times = np.unique(np.concatenate(each, axis=1), axis=0, return_counts=True)
    return rows.reshape(len(rows), len(runs), 2), times


def _blocks(samples: int, distinct: int) -> Iterator[int]:
    """Numbers of samples that are drawn at once, so that memory does not grow with the corpus."""
    size = max(1, _CELLS // distinct)
    for begin in range(0, samples, size):
        yield min(size, samples - begin)


def _drawn(
    systems: Sequence[Array], times: NDArray[np.int64], samples: int, rng: np.random.Generator
) -> list[Array]:
    """(samples,) mean F1 of each system on corpora that are drawn, the same ones for all.

    Args:
        systems: (distinct, runs, 2) counts of each.
        times: (distinct,) number of sentences with these counts.
        samples: number of corpora.
        rng: draws the sentences.
    """
    total = times.sum()
    found: list[list[Array]] = [[] for _ in systems]
    for size in _blocks(samples, len(times)):
        # (size, distinct) how often each kind of sentence is in a corpus
        weights = rng.multinomial(total, times / total, size=size).astype(np.float64)
        for drawn, rows in zip(found, systems, strict=True):
            drawn.append(_drawn_f1(rows, weights))
    return [np.concatenate(drawn) for drawn in found]


def _drawn_f1(rows: Array, weights: Array) -> Array:
    """(samples,) mean F1 of the runs on sentences that were drawn."""
    # (samples, distinct) x (distinct, runs) -> (samples, runs)
    means: Array = _f1(weights @ rows[..., 0], weights @ rows[..., 1]).mean(axis=1)
    return means


def _drawn_seeds(
    systems: Sequence[Sequence[SentenceCounts]], samples: int, rng: np.random.Generator
) -> Array | float:
    """(samples,) by how much the mean of one system, or the difference of two, varies by seed.

    A single run does not tell, and adds nothing.
    """
    several = [[run.f1 for run in runs] for runs in systems if len(runs) > 1]
    squared = np.array([np.var(scores, ddof=1) / len(scores) for scores in several])
    total = squared.sum()
    if total == 0:
        return 0.0
    freedom = total**2 / sum(squared**2 / [len(scores) - 1 for scores in several])  # Welch 1947
    drawn: Array = np.sqrt(total) * rng.standard_t(freedom, size=samples)
    return drawn


def _exchanged(
    ours: Array,
    theirs: Array,
    times: NDArray[np.int64],
    samples: int,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """(samples,) differences in F1 when predictions are exchanged at random, and that without.

    Of several runs both are differences between the F1 of their mean counts.

    Args:
        ours: (distinct, runs, 2) counts of the first system.
        theirs: (distinct, its runs, 2) of the second.
        times: (distinct,) number of sentences with these counts.
        samples: number of exchanges.
        rng: chooses what is exchanged.
    """
    first, second = ours.mean(axis=1), theirs.mean(axis=1)
    # (size, distinct), of so many equal sentences how many are exchanged, times (distinct, 2)
    parts = [
        rng.binomial(times, 0.5, size=(size, len(times))) @ (second - first)
        for size in _blocks(samples, len(times))
    ]
    moved = np.concatenate(parts)  # (samples, 2)
    sums = times @ first, times @ second  # (2,) each
    found: Array = _f1(*(sums[1] - moved).T) - _f1(*(sums[0] + moved).T)
    return found, float(_f1(*sums[1]) - _f1(*sums[0]))


def _f1(correct: Array, total: Array) -> Array:
    zeros = np.zeros_like(total, dtype=np.float64)
    scores: Array = np.divide(2 * correct, total, out=zeros, where=total > 0)
    return scores


def _percentiles(values: Array) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), LEVEL)
