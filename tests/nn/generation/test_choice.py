"""Changes of scores by their definitions, and how often each unit is drawn."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from tagkit.nn.generation.choice import (
    METHODS,
    Choice,
    apply_temperature,
    ban,
    keep_top_k,
    keep_top_p,
    penalise_repetition,
)
from tagkit.nn.generation.row_random import RowRandom

NONE_SEEN = torch.zeros(1, 5, dtype=torch.bool)


def choice(**changes: Any) -> Choice:
    plain: dict[str, Any] = {
        "method": "sample", "temperature": 1.0, "top_k": 0, "top_p": 1.0,
        "repetition_penalty": 1.0, "banned": (), "unpenalised": (),
    }  # fmt: skip
    return Choice(**plain | changes)


def log_probs(*probs: float) -> Tensor:
    return torch.tensor([probs], dtype=torch.float64).log()


def kept(scores: Tensor) -> list[int]:
    return scores[0].isfinite().nonzero().squeeze(1).tolist()


def test_a_penalty_divides_positive_scores_and_multiplies_negative_ones_of_what_was_seen() -> None:
    scores = torch.tensor([[3.0, -3.0, 0.0, 3.0, -3.0]])
    seen = torch.tensor([[True, True, True, False, False]])
    assert penalise_repetition(scores, seen, 1.5).tolist() == [[2.0, -4.5, 0.0, 3.0, -3.0]]
    assert penalise_repetition(scores, seen, 0.5).tolist() == [[6.0, -1.5, 0.0, 3.0, -3.0]]
    # Of a log probability it is a power.
    found = penalise_repetition(log_probs(0.5, 0.25, 0.25), torch.tensor([[True, False, True]]), 2)
    assert found.exp().tolist() == [pytest.approx([0.25, 0.25, 0.0625])]


def test_a_temperature_is_a_power_of_the_probabilities() -> None:
    scores = log_probs(0.5, 0.3, 0.2)
    for temperature in (0.25, 0.7, 1.0, 3.0):
        powers = [p ** (1 / temperature) for p in (0.5, 0.3, 0.2)]
        expected = [power / sum(powers) for power in powers]
        assert apply_temperature(scores, temperature).softmax(1)[0].tolist() == pytest.approx(
            expected
        )


@pytest.mark.parametrize("temperature", [1e-3, 1e-9, 1e-300, 5e-324])
def test_a_temperature_towards_0_becomes_greedy(temperature: float) -> None:
    scores = torch.randn(50, 20, generator=torch.Generator().manual_seed(1)).log_softmax(1)
    changed = choice(temperature=temperature).change(scores, torch.zeros(50, 20).bool())
    drawn = METHODS["sample"].choose(changed, RowRandom(3, range(50)))
    assert drawn.tolist() == scores.argmax(1).tolist()


def test_the_k_best_are_kept_and_ties_go_to_the_lowest_ids() -> None:
    scores = torch.tensor([[1.0, 3.0, 2.0, 3.0, 2.0]])
    assert [kept(keep_top_k(scores, k)) for k in range(7)] == [
        [0, 1, 2, 3, 4], [1], [1, 3], [1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4],
    ]  # fmt: skip


def nucleus(probs: list[float], p: float) -> list[int]:
    """The smallest set of units, by enumeration of all sets, with exact sums; the most probable."""
    exact = [Fraction(each) for each in probs]
    for size in range(1, len(exact) + 1):
        sets = itertools.combinations(range(len(exact)), size)
        best = max(sets, key=lambda ids: sum(exact[id] for id in ids))
        if sum(exact[id] for id in best) >= Fraction(p) * sum(exact):
            return [*best]
    return [*range(len(exact))]


@pytest.mark.parametrize("p", [1e-9, 0.1, 0.35, 0.5, 0.77, 0.9, 0.999, 1.0])
def test_the_nucleus_is_the_smallest_set_with_the_mass(p: float) -> None:
    generator = torch.Generator().manual_seed(5)
    for _ in range(20):
        scores = 2 * torch.randn(1, 7, generator=generator, dtype=torch.float64)
        probs = scores.softmax(1)[0].tolist()
        expected = [*range(7)] if p == 1 else nucleus(probs, p)
        assert kept(keep_top_p(scores, p)) == expected


def test_the_nucleus_reaches_the_mass_exactly_and_ends_there() -> None:
    # Powers of two: sums are exact.
    scores = log_probs(0.125, 0.5, 0.25, 0.125)
    sets = {p: kept(keep_top_p(scores, p)) for p in (0.4999, 0.7499, 0.8749, 0.876)}
    assert sets == {0.4999: [1], 0.7499: [1, 2], 0.8749: [0, 1, 2], 0.876: [0, 1, 2, 3]}
    assert kept(keep_top_p(torch.zeros(1, 4), 0.5)) == [0, 1]  # a mass of exactly p is enough


@pytest.mark.parametrize("p", [0.01001, 0.50001, 0.95001, 0.999999])
def test_the_nucleus_of_a_large_vocabulary_is_that_of_its_sorted_list(p: float) -> None:
    scores = torch.randn(6, 3000, generator=torch.Generator().manual_seed(6)).double()
    scores *= torch.tensor([0.0, 0.1, 1.0, 3.0, 8.0, 1.0]).unsqueeze(1)  # flat and peaked ones
    scores[5] = scores[5].round()  # ties
    found = keep_top_p(scores, p).isfinite()
    probs, order = scores.softmax(1).sort(dim=1, descending=True, stable=True)
    for row in range(6):
        first = int((probs[row].cumsum(0) < p).sum()) + 1
        assert sorted(order[row, :first].tolist()) == found[row].nonzero().squeeze(1).tolist()


def test_banned_units_are_impossible_and_the_others_as_they_were() -> None:
    scores = log_probs(0.5, 0.25, 0.25)
    assert ban(scores, (0,)).tolist() == [[-math.inf, *scores[0, 1:].tolist()]]
    assert ban(scores, ()) is scores


def test_changes_come_in_the_order_that_is_stated() -> None:
    scores = log_probs(0.4, 0.3, 0.15, 0.1, 0.05)
    seen = torch.tensor([[True, False, False, False, True]])
    # Unit 0 has 0.16 after the penalty and unit 1 is banned: 2 of 0.16 0.15 0.1 0.0025 are kept.
    # After the temperature of 0.5 they are 0.0256 and 0.0225, of which 0 alone has 0.53.
    changes = {"repetition_penalty": 2.0, "banned": (1,), "temperature": 0.5, "top_k": 2}
    assert kept(choice(**changes).change(scores, seen)) == [0, 2]
    probs = choice(**changes).change(scores, seen).softmax(1)[0].tolist()
    assert probs == pytest.approx([0.0256 / 0.0481, 0, 0.0225 / 0.0481, 0, 0])
    # Without the temperature unit 0 would have 0.516.
    assert kept(choice(**changes, top_p=0.53).change(scores, seen)) == [0]
    # top-p reads what top-k has left: of all four, 0 and 2 would not reach 0.9.
    assert kept(choice(**changes, top_p=0.9).change(scores, seen)) == [0, 2]
    # A unit without a penalty keeps its place.
    assert kept(choice(**changes, unpenalised=(0,), top_p=0.8).change(scores, seen)) == [0]


def test_greedy_takes_the_lowest_id_of_the_best() -> None:
    scores = torch.tensor([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    assert METHODS["greedy"].choose(scores, RowRandom(1, [0, 1])).tolist() == [1, 0]


def test_top_k_of_1_is_greedy_for_every_seed() -> None:
    scores = torch.randn(200, 5, generator=torch.Generator().manual_seed(2)).round()  # with ties
    changed = choice(top_k=1).change(scores, NONE_SEEN.expand(200, -1))
    greedy = METHODS["greedy"].choose(scores, RowRandom(1, range(200)))
    assert METHODS["sample"].choose(changed, RowRandom(8, range(200))).tolist() == greedy.tolist()


def test_without_changes_a_sample_is_a_plain_one() -> None:
    scores = torch.randn(200, 5, generator=torch.Generator().manual_seed(4)).log_softmax(1)
    changed = choice().change(scores, NONE_SEEN.expand(200, -1))
    assert torch.equal(changed.softmax(1), scores.double().softmax(1))
    plain = METHODS["sample"].choose(scores.double(), RowRandom(9, range(200)))
    assert METHODS["sample"].choose(changed, RowRandom(9, range(200))).tolist() == plain.tolist()


DRAWS = 20_000


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0.4, 0.3, 0.15, 0.1, 0.05]),
        ({"top_k": 2}, [4 / 7, 3 / 7, 0, 0, 0]),
        ({"top_p": 0.8}, [0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0]),
        ({"temperature": 0.5}, [0.16 / 0.285, 0.09 / 0.285, 0.0225 / 0.285, 0.01 / 0.285,
                                0.0025 / 0.285]),
        ({"banned": (0, 4)}, [0, 0.3 / 0.55, 0.15 / 0.55, 0.1 / 0.55, 0]),
    ],
)  # fmt: skip
def test_units_are_drawn_with_their_probabilities(
    changes: dict[str, Any], expected: list[float]
) -> None:
    """Pearson's chi-square: a correct sampler exceeds the bound for 1 in 10 million seeds."""
    scores = choice(**changes).change(log_probs(0.4, 0.3, 0.15, 0.1, 0.05), NONE_SEEN)
    random = RowRandom(17, [0])
    drawn = METHODS["sample"].choose(
        scores.expand(DRAWS, -1), _Repeated(random.uniform(5 * DRAWS).view(DRAWS, 5))
    )
    counts = torch.bincount(drawn, minlength=5).double()
    possible = torch.tensor(expected, dtype=torch.float64) > 0
    assert not counts[~possible].any()
    means = DRAWS * torch.tensor(expected, dtype=torch.float64)[possible]
    statistic = float(((counts[possible] - means) ** 2 / means).sum())
    # Of 1, 2 and 4 degrees of freedom: 28.4, 32.2 and 38.2 have a tail of 1e-7.
    bound = {2: 28.38, 3: 32.24, 5: 38.2}[int(possible.sum())]
    assert statistic < bound


class _Repeated(RowRandom):
    """Given numbers: many draws of one row at a time."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers

    def uniform(self, size: int) -> Tensor:
        assert self.numbers.shape[1] == size
        return self.numbers


def test_a_decision_is_made_with_its_probability() -> None:
    """The normal approximation: 5.33 standard deviations have a tail of 1e-7."""
    for probability in (0.0, 0.1, 0.7, 1.0):
        numbers = _Repeated(RowRandom(23, [0]).uniform(DRAWS).view(DRAWS, 1))
        probs = torch.full((DRAWS,), probability, dtype=torch.float64)
        share = float(METHODS["sample"].decide(probs, numbers).double().mean())
        deviation = math.sqrt(probability * (1 - probability) / DRAWS)
        assert abs(share - probability) <= 5.33 * deviation
    probs = torch.tensor([0.4, 0.5, 0.6])
    assert METHODS["greedy"].decide(probs, RowRandom(1, [])).tolist() == [False, False, True]
