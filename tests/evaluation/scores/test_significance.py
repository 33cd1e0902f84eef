"""Intervals and p-values, beside drawing sentences one by one."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from marks import mostly_slow
from scipy import stats

from tagkit.evaluation.scores import significance
from tagkit.evaluation.scores.significance import (
    SAMPLES,
    Difference,
    Interval,
    SentenceCounts,
    certainty,
    compare,
    holm,
)


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


def interval_of(runs: Sequence[SentenceCounts], samples: int = SAMPLES) -> Interval:
    return certainty(runs, samples=samples).interval


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
    found = interval_of([system])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.004)
    assert found.low < system.f1 < found.high


def test_an_interval_holds_the_true_score_19_times_in_20() -> None:
    # The true score of these systems is 0.7.
    found = [interval_of([drawn(seed, 0.7)], samples=500) for seed in range(200)]
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


@pytest.mark.slow
def test_under_the_null_hypothesis_p_is_uniform() -> None:
    p = [compare([drawn(seed, 0.7)], [drawn(1000 + seed, 0.7)], samples=400).p
         for seed in range(200)]  # fmt: skip
    for level in (0.1, 0.3, 0.5, 0.8):
        assert np.mean([each <= level for each in p]) == pytest.approx(level, abs=0.1)


def runs(seed: int, count: int, deviation: float, score: float = 0.75) -> list[SentenceCounts]:
    """Runs of a system whose true score varies by seed, on sentences that vary for each."""
    rng = np.random.default_rng(seed)
    return [drawn(int(rng.integers(2**31)), float(np.clip(rng.normal(score, deviation), 0, 1)))
            for _ in range(count)]  # fmt: skip


def test_one_run_says_nothing_about_seeds_and_several_have_a_mean_and_a_deviation() -> None:
    several = runs(1, 3, 0.05)
    scores = [run.f1 for run in several]
    found = certainty(several)
    assert found.spread.seeds == pytest.approx(np.std(scores, ddof=1))
    assert found.interval.low < np.mean(scores) < found.interval.high
    one = certainty(several[:1])
    assert one.spread.seeds is None
    assert one.interval == interval_of(several[:1])
    # Of corpora that are drawn the standard deviation is that of a mean of sentences.
    correct = several[0].correct.sum()
    share = correct / several[0].gold.sum()
    assert one.spread.sentences == pytest.approx(
        np.std(several[0].correct - share * several[0].gold)
        / several[0].gold.mean() / np.sqrt(200), rel=0.05,
    )  # fmt: skip


def test_without_variance_of_sentences_the_interval_is_that_of_student() -> None:
    # All sentences are alike in each run, so that every corpus that is drawn has the same score.
    scores = [0.5, 0.6, 0.7]
    several = [SentenceCounts(np.full(50, 10 * score), np.full(50, 10.0), np.full(50, 10.0))
               for score in scores]  # fmt: skip
    half = stats.t.ppf(0.975, df=2) * np.std(scores, ddof=1) / np.sqrt(3)
    found = interval_of(several)
    assert (found.low, found.high) == pytest.approx((0.6 - half, 0.6 + half), rel=0.03)
    lower = [SentenceCounts(run.correct - shift, run.predicted, run.gold)
             for run, shift in zip(several, (1.5, 2, 2.5), strict=True)]  # fmt: skip
    welch = stats.ttest_ind([run.f1 for run in several], [run.f1 for run in lower], equal_var=False)
    bounds = welch.confidence_interval()
    difference = compare(lower, several)
    assert (difference.interval.low, difference.interval.high) == pytest.approx(
        (bounds.low, bounds.high), abs=0.012
    )


def test_the_p_value_of_several_runs_is_that_of_all_exchanges_and_of_welch() -> None:
    first = [[(1, 2, 2), (0, 1, 1), (2, 2, 2), (0, 0, 3), (1, 1, 2), (1, 1, 1)],
             [(1, 2, 2), (0, 1, 1), (2, 2, 2), (1, 1, 3), (1, 1, 2), (1, 1, 1)]]  # fmt: skip
    second = [[(2, 2, 2), (1, 1, 1), (2, 3, 2), (1, 1, 3), (1, 1, 2), (0, 2, 1)],
              [(2, 2, 2), (1, 1, 1), (2, 3, 2), (3, 3, 3), (1, 1, 2), (0, 2, 1)],
              [(2, 2, 2), (1, 1, 1), (2, 2, 2), (2, 2, 3), (1, 1, 2), (0, 2, 1)]]  # fmt: skip
    scores = [[f1(run) for run in system] for system in (first, second)]
    variances = [np.var(each, ddof=1) / len(each) for each in scores]
    error = np.sqrt(sum(variances))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 1 + variances[1] ** 2 / 2)
    means = [np.mean(system, axis=0) for system in (first, second)]
    real = abs(f1(list(means[1])) - f1(list(means[0])))
    expected = 0.0
    for swaps in product((False, True), repeat=6):
        keep = np.array(swaps)[:, None]
        ours, theirs = np.where(keep, means[1], means[0]), np.where(keep, means[0], means[1])
        moved = f1(list(theirs)) - f1(list(ours))
        # How likely it is that a value of Student's t makes this exchange as large as the real one.
        expected += stats.t.sf((real - moved) / error, freedom)
        expected += stats.t.cdf((-real - moved) / error, freedom)
    expected /= 2**6
    assert 0.1 < expected < 0.9
    found = compare([counts(run) for run in first], [counts(run) for run in second])
    assert found.p == pytest.approx(expected, abs=0.02)
    assert found.difference == pytest.approx(np.mean(scores[1]) - np.mean(scores[0]))


def test_several_runs_against_themselves_have_p_1_and_better_ones_a_small_p() -> None:
    worse, better = runs(1, 5, 0.01, 0.6), runs(2, 5, 0.01, 0.9)
    same = compare(worse, worse)
    assert (same.difference, same.p) == (0, 1)
    found = compare(worse, better)
    assert found.p < 0.001
    assert found.interval.low > 0.2
    # Two runs say less, whatever their sentences say.
    assert compare(worse[:2], better[:2]).p > found.p


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 2, 5])
def test_equal_systems_with_other_seeds_differ_in_at_most_1_of_20_comparisons(count: int) -> None:
    times = 60
    pairs = [(runs(seed, count, 0.04), runs(1000 + seed, count, 0.04)) for seed in range(times)]
    found = [compare(*pair, samples=200) for pair in pairs]
    # The 99.9 % bound of as many comparisons, each of which errs with a probability of 0.05.
    bound = stats.binom.ppf(0.999, times, 0.05)
    assert sum(each.p <= 0.05 for each in found) <= bound
    assert sum(not each.interval.low <= 0 <= each.interval.high for each in found) <= bound
    # Sentences alone would not do: the mean of the runs as if it were one run.
    alone = [compare(*([mean_counts(side)] for side in pair), samples=200) for pair in pairs]
    assert sum(each.p <= 0.05 for each in alone) > bound


def mean_counts(system: list[SentenceCounts]) -> SentenceCounts:
    return SentenceCounts(*(
        np.mean([getattr(run, name) for run in system], axis=0)
        for name in ("correct", "predicted", "gold")
    ))  # fmt: skip


@pytest.mark.parametrize("count", mostly_slow((3, 2, 5), always=1))
def test_intervals_of_several_runs_hold_the_true_score(count: int) -> None:
    found = [interval_of(runs(seed, count, 0.04), samples=200) for seed in range(60)]
    missed = sum(not each.low <= 0.75 <= each.high for each in found)
    assert missed <= stats.binom.ppf(0.999, 60, 0.05)


def test_holm_multiplies_the_smallest_p_by_the_number_of_comparisons() -> None:
    none = Interval(0, 0, 0.95)
    found = holm([Difference(0, none, p, p) for p in (0.04, 0.01, 0.03, 0.9)])
    assert [each.p_holm for each in found] == pytest.approx([0.09, 0.04, 0.09, 0.9])
    assert [each.p for each in found] == [0.04, 0.01, 0.03, 0.9]
    assert [each.p_holm for each in holm([Difference(0, none, 0.6, 0.6)] * 2)] == [1, 1]
    assert holm([]) == []


def test_one_seed_gives_one_result_whatever_the_order_of_sentences() -> None:
    first, second = drawn(1, 0.6), drawn(2, 0.65)
    assert compare([first], [second]) == compare([first], [second])
    backwards = [SentenceCounts(s.correct[::-1], s.predicted[::-1], s.gold[::-1])
                 for s in (first, second)]  # fmt: skip
    assert compare([backwards[0]], [backwards[1]]) == compare([first], [second])


def test_corpora_that_are_drawn_in_blocks_are_those_that_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = runs(1, 3, 0.04), runs(2, 2, 0.04)
    whole = certainty(first), compare(first, second)
    monkeypatch.setattr(significance, "_CELLS", 12_345)
    assert (certainty(first), compare(first, second)) == whole


def test_a_corpus_without_spans_scores_0() -> None:
    nothing = counts([(0, 0, 0), (0, 0, 0)])
    assert nothing.f1 == 0
    assert interval_of([nothing]).high == 0
    assert compare([nothing], [nothing]).p == 1
