"""Calibration of predictions: by hand, by law, and against definitions written out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.scores.calibration import BINS, Calibration, calibration, log_loss
from tagkit.evaluation.scores.outcomes import (
    Outcomes,
    class_outcomes,
    span_outcomes,
    token_outcomes,
    with_places,
)
from tagkit.text.records import LabelScore, Span


def judged(pairs: list[tuple[float, bool]], gold: int = 4) -> Outcomes:
    probs, correct = zip(*pairs, strict=True) if pairs else ((), ())
    return Outcomes("spans", np.array(probs, dtype=float), np.array(correct, dtype=bool), gold)


HAND = judged([(0.95, True), (0.91, False), (0.3, True), (0.05, False)])


def test_the_worked_example_by_hand() -> None:
    found = calibration(HAND)
    assert (found.name, found.count) == ("spans", 4)
    # Bins: (0, 0.1] of 0.05 and none right; (0.2, 0.3] of 0.3, right; (0.9, 1] of 0.93 and 0.5.
    assert found.ece == pytest.approx((0.05 + 0.7 + 2 * 0.43) / 4)
    assert found.brier == pytest.approx((0.05**2 + 0.91**2 + 0.7**2 + 0.05**2) / 4)
    expected = -(math.log(0.95) + math.log(0.09) + math.log(0.3) + math.log(0.95)) / 4
    assert found.log_loss == pytest.approx(expected)
    last = found.bins[-1]
    assert (last.low, last.high, last.count, last.accuracy) == (0.9, 1.0, 2, 0.5)
    assert last.confidence == pytest.approx(0.93)


def test_recall_by_threshold_is_of_all_that_gold_has() -> None:
    rows = {each.threshold: each for each in calibration(HAND).thresholds}
    assert (rows[0.0].count, rows[0.0].precision, rows[0.0].recall) == (4, 0.5, 0.5)
    assert (rows[0.9].count, rows[0.9].precision, rows[0.9].recall) == (2, 0.5, 0.25)
    assert rows[0.9].f1 == pytest.approx(2 * 0.5 * 0.25 / 0.75)
    assert (rows[0.99].count, rows[0.99].precision, rows[0.99].f1) == (0, 0.0, 0.0)


def test_a_probability_on_an_edge_is_in_the_lower_bin_as_guo_has_it() -> None:
    edges = [(number / BINS, True) for number in range(BINS + 1)]
    counts = [each.count for each in calibration(judged(edges)).bins]
    assert counts == [2, *[1] * (BINS - 1)]  # 0 is in the first bin beside 0.1


PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(PAIRS)
def test_both_errors_equal_their_definitions_written_out(pairs: list[tuple[float, bool]]) -> None:
    found = calibration(judged(pairs))
    bins: dict[int, list[tuple[float, bool]]] = {}
    for p, right in pairs:
        number = next(n for n in range(1, BINS + 1) if p <= n / BINS)
        bins.setdefault(number, []).append((p, right))
    expected = sum(
        len(each) / len(pairs)
        * abs(sum(r for _, r in each) / len(each) - sum(p for p, _ in each) / len(each))
        for each in bins.values()
    )  # fmt: skip
    assert found.ece == pytest.approx(expected)
    assert sum(each.count for each in found.bins) == found.count == len(pairs)
    # Any ECE is at least the difference of the means, which one bin for all would give.
    apart = abs(sum(r - p for p, r in pairs)) / len(pairs)
    assert min(found.ece, found.ece_equal_mass) >= apart - 1e-9


@given(PAIRS)
def test_probabilities_that_are_0_or_1_and_right_have_no_error(
    pairs: list[tuple[float, bool]],
) -> None:
    found = calibration(judged([(float(right), right) for _, right in pairs]))
    assert (found.ece, found.ece_equal_mass, found.brier) == (0, 0, 0)
    assert found.log_loss < 1e-6


def test_a_wrong_prediction_of_probability_1_costs_a_finite_amount() -> None:
    assert log_loss(judged([(1.0, False)])) == pytest.approx(24 * math.log(2))


def test_without_predictions_all_numbers_are_0() -> None:
    found = calibration(judged([]))
    assert isinstance(found, Calibration)
    assert (found.count, found.ece, found.ece_equal_mass, found.brier) == (0, 0, 0, 0)
    assert found.log_loss == 0
    assert {each.recall for each in found.thresholds} == {0}


def test_a_span_is_right_with_exact_edges_and_type() -> None:
    gold = [[(0, 2, "PER"), (3, 4, "LOC")], []]
    predicted = [
        with_places([Span(0, 2, "PER", 0.9), Span(3, 5, "LOC", 0.8)]),
        with_places([Span(0, 2, "PER", 0.7)]),
    ]
    found = span_outcomes(gold, predicted)
    assert found.probabilities.tolist() == [0.9, 0.8, 0.7]
    assert found.correct.tolist() == [True, False, False]
    assert found.gold == 2


def test_tokens_and_classes_are_judged_one_by_one() -> None:
    tokens = token_outcomes([("N", "V")], [("N", "N")], [(0.9, 0.6)])
    assert (tokens.correct.tolist(), tokens.gold) == ([True, False], 2)
    scores = [(LabelScore("a", 0.7), LabelScore("b", 0.2))]
    one = class_outcomes([("b",)], scores, several=False)
    assert (one.name, one.probabilities.tolist(), one.correct.tolist()) == ("texts", [0.7], [False])
    both = class_outcomes([("b",)], scores, several=True)
    assert (both.name, both.correct.tolist(), both.gold) == ("classes", [False, True], 1)
