"""Conformal sets: how many of the ranked answers to give, so that the right one is among them.

Answers are ranked by their probability, and each has a score: the probability of all answers before
it, and a penalty that grows with its rank up to the tenth (regularised adaptive prediction sets:
Romano et al. 2020; Angelopoulos et al. 2021). A calibration corpus of n sentences has n scores of
right answers. Their ceil((n + 1) c)-th smallest is the threshold of the coverage c: the answers up
to it hold the right one of a new sentence with probability c at least, where the new sentences are
exchangeable with those of the corpus, however wrong the probabilities are (split conformal
prediction: Vovk et al. 2005; Lei et al. 2018). Singer et al. 2026 (arXiv 2601.16999) give sets of
tag sequences in this way.

In calibration a random share of the right answer's own probability is part of its score. Without
it nearly all scores of a good model are 0, and the threshold says nothing of the sentences that it
is sure of and gets wrong: with it sets are somewhat larger, and coverage lasts where the texts
change. In prediction the share is 0, which can only add to a set: it is never empty, and the same
sentence always has the same set.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagkit.errors import DataError
from tagkit.text.json_text import Record
from tagkit.wording import clipped

LIMIT = 100  # members of a set of tag sequences
# Thresholds are kept for the coverages 0.5, 0.505, ..., 0.99, as whole numbers of these steps.
_STEPS = 200
_MIN_COVERAGE_STEPS, _MAX_COVERAGE_STEPS = 100, 198
# Of each rank after the first. Chosen on development data: see docs/calibration.md.
_RANK_PENALTY = 0.1
# Without an end to the penalty it outweighs all probabilities, and large sets are of one size.
_LAST_RANK = 10
_SEED = 0  # of the random shares, so that one corpus gives one calibration

Scores = npt.NDArray[np.float64]


def scores(probs: Sequence[float], share: float = 0.0) -> Scores:
    """The score of each answer, ascending.

    Args:
        probs: of the answers, descending.
        share: of an answer's own probability that is part of its score, 0 to 1.
    """
    each = np.asarray(probs, dtype=np.float64)
    before = np.concatenate([[0.0], np.cumsum(each)[:-1]]) if len(each) else each
    penalty = _RANK_PENALTY * np.minimum(np.arange(len(each)), _LAST_RANK)
    return before + share * each + penalty


def set_size(probs: Sequence[float], threshold: float) -> int:
    """Number of answers in a set, at least 1: those whose score is the threshold at most.

    Args:
        probs: of the most probable answers, descending, at least one. Where the set has as many
            members as there are answers here, it may have further ones.
        threshold: of `SetCalibration.threshold`.
    """
    return max(1, int(np.searchsorted(scores(probs), threshold, side="right")))


@dataclass(frozen=True, slots=True)
class RankedGold:
    """Where the right answer of a calibration sentence stands.

    Attributes:
        probs: of the most probable answers, descending, the right one among them.
        rank: of the right one, from 0; None where it is not among the most probable.
    """

    probs: Sequence[float]
    rank: int | None


@dataclass(frozen=True, slots=True)
class SetCalibration(Record):
    """What sets of any coverage need to know of a calibration corpus.

    Attributes:
        count: number of its sentences or texts.
        found: number of those whose right answer was among the most probable `limit`.
        limit: maximum number of members of a set.
        thresholds: of each coverage from 0.5 to 0.99 in steps of 0.005, ascending, as far as
            `found` allows.
    """

    count: int
    found: int
    limit: int
    thresholds: tuple[float, ...]

    def threshold(self, coverage: float) -> float:
        """The greatest score of a member of a set.

        Args:
            coverage: 0.5 to 0.99; one between two steps has the threshold of the next one.

        Raises:
            DataError: the coverage is out of range, or the corpus does not suffice for it.
        """
        step = _step(coverage)
        if step - _MIN_COVERAGE_STEPS < len(self.thresholds):
            return self.thresholds[step - _MIN_COVERAGE_STEPS]
        setting, needed = f"coverage={coverage:g}", sentences_needed(coverage)
        if self.count < needed:
            raise DataError(
                f"{setting}: needs a calibration corpus of at least {needed:,} sentences or texts, "
                f"found one of {self.count:,}: calibrate the model with more"
            )
        lower = (
            f"expected a coverage of at most {self.most:g}"
            if self.thresholds
            else "no coverage is possible"
        )
        raise DataError(
            f"{setting}: only {self.found:,} of {self.count:,} sentences or texts of the "
            f"calibration corpus have the right answer among the {self.limit} most probable: "
            f"{lower}"
        )

    @property
    def most(self) -> float | None:
        """The highest coverage that the corpus allows; None where it allows none."""
        return (
            (_MIN_COVERAGE_STEPS + len(self.thresholds) - 1) / _STEPS if self.thresholds else None
        )


def calibrate_sets(gold: Sequence[RankedGold], limit: int) -> SetCalibration:
    """The thresholds of a calibration corpus.

    Args:
        gold: of each of its sentences.
        limit: maximum number of members of a set, and of answers that were ranked.
    """
    shares = np.random.default_rng(_SEED).random(len(gold))
    found = np.sort(
        [
            scores(each.probs[: each.rank + 1], share)[each.rank]
            for each, share in zip(gold, shares, strict=True)
            if each.rank is not None
        ]
    )
    thresholds = []
    for step in range(_MIN_COVERAGE_STEPS, _MAX_COVERAGE_STEPS + 1):
        # ceil((n + 1) c), in whole numbers, as 0.9 is none of the numbers that a computer has
        rank = -(-(len(gold) + 1) * step // _STEPS)
        if rank > len(found):
            break
        thresholds.append(float(found[rank - 1]))
    return SetCalibration(len(gold), len(found), limit, tuple(thresholds))


def sentences_needed(coverage: float) -> int:
    """The smallest calibration corpus that a coverage is possible with.

    Raises:
        DataError: the coverage is out of range.
    """
    step = _step(coverage)
    return -(-step // (_STEPS - step))  # ceil((n + 1) c) <= n where n >= c / (1 - c)


def set_calibration(saved: Any) -> SetCalibration:
    """A calibration from the plain values of its `to_dict`.

    Raises:
        ValueError: they are those of none.
    """
    values: Mapping[str, Any] = saved if isinstance(saved, Mapping) else {}
    count, found, limit = counts = [values.get(name, -1) for name in ("count", "found", "limit")]
    thresholds = values.get("thresholds")
    # By `type`, as True is no number here.
    if not (
        all(type(each) is int and each >= 0 for each in counts)
        and limit
        and isinstance(thresholds, list)
        and len(thresholds) <= _MAX_COVERAGE_STEPS - _MIN_COVERAGE_STEPS + 1
        and all(type(each) in (int, float) and math.isfinite(each) for each in thresholds)
        and thresholds == sorted(thresholds)
    ):
        raise ValueError(
            "expected count, found, a limit of 1 or more and ascending thresholds, found "
            f"{clipped(repr(saved))}"
        )
    return SetCalibration(count, found, limit, tuple(map(float, thresholds)))


def _step(coverage: float) -> int:
    """The number of steps of a coverage, rounded up.

    Raises:
        DataError: it is out of range.
    """
    if not _MIN_COVERAGE_STEPS / _STEPS <= coverage <= _MAX_COVERAGE_STEPS / _STEPS:
        found = clipped(repr(coverage))
        raise DataError(f"coverage=...: expected a number from 0.5 to 0.99, found {found}")
    # 0.9 x 200 is 180, but for the last digits of a binary number.
    return math.ceil(coverage * _STEPS - 1e-9)


@dataclass(frozen=True, slots=True)
class SetReport(Record):
    """How conformal sets do on a corpus with gold labels.

    Attributes:
        coverage: that was asked for.
        count: number of sentences or texts.
        covered: share of sets that hold the gold answer, 0 to 1.
        standard_error: of that share, 0 to 1.
        median_size: of the numbers of members.
        mean_size: likewise.
        p90_size: their 90th percentile.
        single: share of sets with one member.
        single_correct: share of those whose member is the gold answer; None without such sets.
        limit: maximum number of members; of classes their number.
        at_limit: share of sets with that many: all classes there are, or taggings, of which some
            may be missing.
    """

    coverage: float
    count: int
    covered: float
    standard_error: float
    median_size: float
    mean_size: float
    p90_size: float
    single: float
    single_correct: float | None
    limit: int
    at_limit: float


def report_sets(
    coverage: float, sizes: Sequence[int], holds: Sequence[bool], limit: int, at_limit: int
) -> SetReport:
    """A report on the sets of a corpus.

    Args:
        coverage: that was asked for.
        sizes: number of members of each set, of at least one sentence.
        holds: whether each set holds the gold answer.
        limit: maximum number of members.
        at_limit: number of sets that have reached it.
    """
    members, right = np.asarray(sizes), np.asarray(holds, dtype=bool)
    count, covered = len(members), float(right.mean())
    single = members == 1
    return SetReport(
        coverage=coverage,
        count=count,
        covered=covered,
        standard_error=math.sqrt(covered * (1 - covered) / count),
        median_size=float(np.median(members)),
        mean_size=float(members.mean()),
        p90_size=float(np.quantile(members, 0.9, method="inverted_cdf")),
        single=float(single.mean()),
        single_correct=float(right[single].mean()) if single.any() else None,
        limit=limit,
        at_limit=at_limit / count,
    )
