"""Conformal sets: the guarantee, on exchangeable data, and what is refused."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.errors import DataError
from tagkit.evaluation.scores.conformal import (
    RankedGold,
    SetCalibration,
    calibrate_sets,
    report_sets,
    scores,
    sentences_needed,
    set_calibration,
    set_size,
)

coverages = st.integers(100, 198).map(lambda step: step / 200)
probabilities = st.lists(st.floats(0.001, 1), min_size=1, max_size=8).map(
    lambda each: sorted((value / sum(each) for value in each), reverse=True)
)


@st.composite
def corpora(draw: st.DrawFn) -> list[RankedGold]:
    """Sentences with their answers' probabilities and the place of the right one, if any."""
    found = []
    for probs in draw(st.lists(probabilities, min_size=1, max_size=60)):
        rank = draw(st.none() | st.integers(0, len(probs) - 1))
        found.append(RankedGold(probs, rank))
    return found


def sample(
    generator: np.random.Generator, sentences: int, sharpness: float
) -> list[tuple[np.ndarray, int]]:
    """Answers' probabilities, and the right answer, drawn from other probabilities than these."""
    found = []
    for _ in range(sentences):
        true = np.sort(generator.dirichlet(np.full(6, 0.3)))[::-1]
        believed = true**sharpness / (true**sharpness).sum()
        found.append((believed, int(generator.choice(6, p=true))))
    return found


# The model is too sure, or too modest.
@pytest.mark.parametrize("sharpness", [3.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_coverage_is_the_one_asked_for_whatever_the_model_believes(sharpness: float) -> None:
    # 40 calibration corpora of 39 sentences, each with 40 new ones. With a random share of the
    # answer's own probability no two scores are equal, and coverage is between c and c + 1/40; it
    # is the mean of 40 independent shares, whose standard error is below 0.015.
    generator, coverage, count = np.random.default_rng(5), 0.8, 39
    exact, given_ = [], []
    for _ in range(40):
        corpus, new = sample(generator, count, sharpness), sample(generator, 40, sharpness)
        calibrated = calibrate_sets([RankedGold(list(p), rank) for p, rank in corpus], 6)
        threshold = calibrated.threshold(coverage)
        shares = generator.random(len(new))
        exact += [
            scores(list(p), u)[rank] <= threshold for (p, rank), u in zip(new, shares, strict=True)
        ]
        given_ += [rank < set_size(list(p), threshold) for p, rank in new]
    slack = 3 * 0.015
    assert coverage - slack <= np.mean(exact) <= coverage + 1 / (count + 1) + slack
    assert np.mean(given_) >= np.mean(exact)  # sets as they are given leave no member out


@given(corpora(), coverages)
def test_a_threshold_is_the_order_statistic_of_split_conformal_prediction(
    corpus: list[RankedGold], coverage: float
) -> None:
    calibrated = calibrate_sets(corpus, 8)
    shares = np.random.default_rng(0).random(len(corpus))
    of_gold = sorted(
        math.inf if each.rank is None else scores(each.probs, share)[each.rank]
        for each, share in zip(corpus, shares, strict=True)
    )
    rank = next(k for k in range(len(corpus) + 2) if 200 * k >= (len(corpus) + 1) * round(
        200 * coverage))  # fmt: skip
    expected = of_gold[rank - 1] if rank <= len(corpus) else math.inf
    if expected < math.inf:
        assert calibrated.threshold(coverage) == expected
    else:
        with pytest.raises(DataError):
            calibrated.threshold(coverage)


@given(corpora(), probabilities, coverages, coverages)
def test_a_set_of_lower_coverage_is_part_of_one_of_higher(
    corpus: list[RankedGold], probs: list[float], one: float, other: float
) -> None:
    calibrated = calibrate_sets([each for each in corpus if each.rank is not None], 8)
    sizes = []
    for coverage in sorted((one, other)):
        try:
            sizes.append(set_size(probs, calibrated.threshold(coverage)))
        except DataError:
            sizes.append(len(probs) + 1)  # once refused, a higher coverage is refused too
    assert sizes[0] <= sizes[1]


@given(probabilities, st.floats(0, 3))
def test_members_are_those_whose_score_is_the_threshold_at_most(
    probs: list[float], threshold: float
) -> None:
    size = 0
    for rank in range(len(probs)):
        size += sum(probs[:rank]) + 0.1 * min(rank, 10) <= threshold + 1e-12
    assert (
        abs(set_size(probs, threshold) - size)
        <= any(  # sums of both orders differ in rounding
            abs(sum(probs[:rank]) + 0.1 * min(rank, 10) - threshold) < 1e-9
            for rank in range(len(probs))
        )
    )
    assert set_size(probs, -1.0) == 1  # never empty


@pytest.mark.parametrize(
    ("coverage", "needed"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99), (0.951, 22)]
)
def test_a_corpus_of_the_sentences_needed_suffices_and_one_fewer_does_not(
    coverage: float, needed: int
) -> None:
    assert sentences_needed(coverage) == needed
    right = RankedGold([0.9, 0.1], 0)
    assert 0 <= calibrate_sets([right] * needed, 2).threshold(coverage) <= 0.9
    with refuses(DataError, f"{coverage:g}", needed):
        calibrate_sets([right] * (needed - 1), 2).threshold(coverage)


def test_a_coverage_that_the_most_probable_answers_do_not_reach_is_refused() -> None:
    right, nowhere = RankedGold([0.9, 0.1], 0), RankedGold([0.9, 0.1], None)
    calibrated = calibrate_sets([right] * 90 + [nowhere] * 10, 2)
    assert calibrated.threshold(0.89) > 0
    with refuses(DataError, "coverage=0.9", "90", "100", "0.89"):
        calibrated.threshold(0.9)
    with refuses(DataError, "2", "probable"):
        calibrate_sets([nowhere] * 100, 2).threshold(0.9)


@pytest.mark.parametrize("coverage", [0.4999, 0.991, 9, math.nan])
def test_a_coverage_out_of_range_is_refused(coverage: float) -> None:
    with refuses(DataError, "coverage", "0.5", "0.99"):
        sentences_needed(coverage)


def test_a_coverage_between_two_steps_has_the_threshold_of_the_next() -> None:
    calibrated = calibrate_sets([RankedGold([0.6, 0.4], n % 2) for n in range(300)], 2)
    assert calibrated.threshold(0.5001) == calibrated.threshold(0.505)
    assert calibrated.threshold(0.505) > calibrated.threshold(0.5)


@given(corpora())
def test_a_calibration_is_read_back_as_it_was_written(corpus: list[RankedGold]) -> None:
    calibrated = calibrate_sets(corpus, 8)
    assert set_calibration(json.loads(json.dumps(calibrated.to_dict()))) == calibrated


@pytest.mark.parametrize(
    "change",
    [
        {"count": -1}, {"found": True}, {"limit": 0}, {"thresholds": [0.2, 0.1]},
        {"thresholds": [math.nan]}, {"thresholds": ["0.2"]}, {"thresholds": [0.1] * 100},
        {"thresholds": None},
    ],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(change: dict[str, object]) -> None:
    saved = SetCalibration(2, 2, 2, (0.1,)).to_dict()
    for damaged in (saved | change, []):
        with refuses(ValueError):
            set_calibration(damaged)


def test_a_report_counts_sets_as_they_are() -> None:
    report = report_sets(0.9, [1, 1, 3, 100], [True, False, True, True], 100, 1)
    assert report.to_dict() == {
        "coverage": 0.9,
        "count": 4,
        "covered": 0.75,
        "standard_error": pytest.approx(math.sqrt(0.75 * 0.25 / 4)),
        "median_size": 2,
        "mean_size": 26.25,
        "p90_size": 100,
        "single": 0.5,
        "single_correct": 0.5,
        "limit": 100,
        "at_limit": 0.25,
    }
    assert report_sets(0.9, [2], [True], 100, 0).single_correct is None
