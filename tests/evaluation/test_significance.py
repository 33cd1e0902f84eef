"""Intervals and p-values, beside drawing sentences one by one."""

from itertools import product

import numpy as np
import pytest

from tagkit.evaluation.significance import SentenceCounts, compare, interval


def counts(rows: list[tuple[int, int, int]]) -> SentenceCounts:
    correct, predicted, gold = np.array(rows, dtype=float).reshape(-1, 3).T
    return SentenceCounts(correct, predicted, gold)


def drawn(seed: int, right: float, sentences: int = 200) -> SentenceCounts:
    rng = np.random.default_rng(seed)
    gold = np.random.default_rng(0).integers(4, size=sentences).astype(float)
    correct = rng.binomial(gold.astype(int), right).astype(float)
    return SentenceCounts(correct, gold, gold)


def f1(rows: list[tuple[float, ...]]) -> float:
    correct, predicted, gold = np.sum(rows, axis=0)
    return 2 * correct / (predicted + gold) if correct else 0.0


def test_the_p_value_is_that_of_all_exchanges_of_a_small_corpus() -> None:
    first = [(1, 2, 2), (0, 1, 1), (2, 2, 2), (0, 0, 3), (1, 1, 2), (1, 1, 1)]
    second = [(2, 2, 2), (1, 1, 1), (2, 3, 2), (1, 1, 3), (1, 1, 2), (0, 2, 1)]
    real = abs(f1(second) - f1(first))
    as_large = 0
    for swaps in product((False, True), repeat=len(first)):
        ours = [b if swap else a for a, b, swap in zip(first, second, swaps, strict=True)]
        theirs = [a if swap else b for a, b, swap in zip(first, second, swaps, strict=True)]
        as_large += abs(f1(theirs) - f1(ours)) >= real - 1e-12
    expected = as_large / 2 ** len(first)
    assert 0.1 < expected < 0.9
    found = compare([counts(first)], [counts(second)])
    assert found.p == pytest.approx(expected, abs=0.02)
    assert found.difference == pytest.approx(f1(second) - f1(first))


def test_the_interval_is_that_of_sentences_drawn_one_by_one() -> None:
    system = drawn(1, 0.8)
    rng = np.random.default_rng(5)
    scores = []
    for _ in range(4000):
        chosen = rng.integers(200, size=200)
        scores.append(2 * system.correct[chosen].sum() / (2 * system.gold[chosen].sum()))
    low, high = np.quantile(scores, [0.025, 0.975])
    found = interval([system])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.004)
    assert found.low < system.f1 < found.high


def test_an_interval_holds_the_true_score_19_times_in_20() -> None:
    # The true score of these systems is 0.7.
    found = [interval([drawn(seed, 0.7)], samples=500) for seed in range(200)]
    assert 0.90 <= np.mean([each.low <= 0.7 <= each.high for each in found]) <= 0.99


def test_a_system_against_itself_has_p_1_and_no_difference() -> None:
    system = drawn(1, 0.8)
    found = compare([system], [system])
    assert (found.difference, found.p) == (0.0, 1.0)
    assert (found.interval.low, found.interval.high) == (0.0, 0.0)


def test_a_much_better_system_has_a_small_p_and_one_of_another_seed_a_large_one() -> None:
    worse, better, same = drawn(1, 0.6), drawn(2, 0.8), drawn(3, 0.6)
    found = compare([worse], [better])
    assert found.p < 0.001
    assert found.interval.low > 0
    assert compare([better], [worse]).difference == -found.difference
    assert compare([worse], [same]).p > 0.05


def test_under_the_null_hypothesis_p_is_uniform() -> None:
    p = [compare([drawn(seed, 0.7)], [drawn(1000 + seed, 0.7)], samples=400).p
         for seed in range(200)]  # fmt: skip
    for level in (0.1, 0.3, 0.5, 0.8):
        assert np.mean([each <= level for each in p]) == pytest.approx(level, abs=0.1)


def test_runs_with_other_seeds_widen_the_interval() -> None:
    # Two runs that are far apart: the mean depends on which seeds there are.
    runs = [drawn(1, 0.5), drawn(2, 0.9)]
    both, alone = interval(runs), interval([drawn(1, 0.7)])
    assert both.high - both.low > 2 * (alone.high - alone.low)
    assert both.low < 0.55
    assert both.high > 0.85


def test_one_seed_gives_one_result_whatever_the_order_of_sentences() -> None:
    first, second = drawn(1, 0.6), drawn(2, 0.65)
    assert compare([first], [second]) == compare([first], [second])
    backwards = [SentenceCounts(s.correct[::-1], s.predicted[::-1], s.gold[::-1])
                 for s in (first, second)]  # fmt: skip
    assert compare([backwards[0]], [backwards[1]]) == compare([first], [second])


def test_a_corpus_without_spans_scores_0() -> None:
    nothing = counts([(0, 0, 0), (0, 0, 0)])
    assert nothing.f1 == 0
    assert interval([nothing]).high == 0
    assert compare([nothing], [nothing]).p == 1
