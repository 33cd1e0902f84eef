"""A beam search against enumeration and against the textbook's search."""

import math
from typing import Any

import pytest
import torch
from unit_chains import START, UnitChain

from tagkit.nn.generation.generate import Ending
from tagkit.nn.search import strings
from tagkit.nn.search.strings import Hypothesis, Search, Unconditional

WAYS: list[dict[str, Any]] = [
    {"symbol": 1, "by_halt": False},
    {"symbol": None, "by_halt": True},
    {"symbol": None, "by_halt": False},
    {"symbol": 0, "by_halt": True},
]


def search(
    model: UnitChain, way: dict[str, Any], length: int, beam: int, penalty: float = 0.0,
    **options: Any,
) -> list[Hypothesis]:  # fmt: skip
    (found,) = strings.search(
        Unconditional(model), torch.tensor([START]), model.begin(), Ending(**way), [length],
        Search(beam=beam, count=beam, length_penalty=penalty, **options),
    )  # fmt: skip
    return found


def steps_of(units: tuple[int, ...], ended: str) -> int:
    return len(units) + (ended == "halt")


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_a_beam_of_all_sequences_finds_all_of_them_in_order(
    way: dict[str, Any], penalty: float
) -> None:
    for seed in range(4):
        model = UnitChain(seed, halt=True)
        expected = model.sequences(way["symbol"], 4, by_halt=way["by_halt"])
        found = search(model, way, 4, beam=1000, penalty=penalty)
        assert len(found) == len(expected)
        assert {(each.units, each.ended) for each in found} == expected.keys()
        for each in found:
            assert each.log_prob == pytest.approx(expected[each.units, each.ended])
        ranked = sorted(expected, key=lambda key: -expected[key] / steps_of(*key) ** penalty)
        assert [(each.units, each.ended) for each in found] == ranked
        # Every shorter list is the beginning of the longer one.
        assert sum(math.exp(each.log_prob) for each in found) == pytest.approx(1)


def textbook(model: UnitChain, symbol: int, length: int, beam: int) -> set[tuple[int, ...]]:
    """The search of Jurafsky and Martin over lists; all that it completes."""
    frontier: dict[tuple[int, ...], float] = {(): 0.0}
    complete: set[tuple[int, ...]] = set()
    for number in range(1, length + 1):
        grown = {
            (*path, unit): score + math.log(model.after(path)[0][unit])
            for path, score in frontier.items()
            for unit in range(model.vocabulary)
        }
        best = sorted(grown, key=lambda path: -grown[path])[: beam - len(complete)]
        complete |= {path for path in best if path[-1] == symbol or number == length}
        frontier = {path: grown[path] for path in best if path not in complete}
    return complete


@pytest.mark.parametrize("beam", [1, 2, 3, 5, 9])
def test_a_small_beam_is_the_textbooks(beam: int) -> None:
    for seed in range(10):
        model = UnitChain(seed, vocabulary=4)
        found = search(model, WAYS[0], 5, beam, penalty=1.0)
        assert {each.units for each in found} == textbook(model, 1, 5, beam)
        scores = [each.log_prob / len(each.units) for each in found]
        assert scores == sorted(scores, reverse=True)
        assert len(found) == min(beam, len(found)) == len({each.units for each in found})


def test_a_beam_of_1_is_greedy() -> None:
    model = UnitChain(11, vocabulary=4)
    history: tuple[int, ...] = ()
    for _ in range(5):
        probs, _halt = model.after(history)
        history += (probs.index(max(probs)),)
    (found,) = search(model, WAYS[2], 5, 1)
    assert found.units == history


def test_banned_units_are_in_no_sequence_and_all_others_are_found() -> None:
    model = UnitChain(5)
    expected = {units for units, _ in model.sequences(1, 4, by_halt=False) if 2 not in units}
    assert {each.units for each in search(model, WAYS[0], 4, 1000, banned=(2,))} == expected


def test_the_mean_prefers_longer_sequences_than_the_sum() -> None:
    mean, total = Hypothesis((0, 0, 1), -3.0, "symbol"), Hypothesis((1,), -1.5, "symbol")
    assert total.score(0) > mean.score(0)
    assert mean.score(1) == -1.0 > total.score(1) == -1.5
    assert Hypothesis((), -2.0, "halt").score(1) == -2.0


def ngrams(units: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    return [units[at : at + size] for at in range(len(units) - size + 1)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_stretch_of_so_many_units_comes_twice_and_all_others_are_found(size: int) -> None:
    model = UnitChain(7)
    expected = {
        units
        for units, _ in model.sequences(1, 5, by_halt=False)
        if len({*ngrams(units, size)}) == len(ngrams(units, size))
    }
    assert {each.units for each in search(model, WAYS[0], 5, 1000, no_repeat=size)} == expected


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
def test_a_sequence_has_the_least_number_of_units_before_its_end(way: dict[str, Any]) -> None:
    model = UnitChain(8, halt=True)
    every = model.sequences(way["symbol"], 4, by_halt=way["by_halt"])
    expected = {each for each in every if len(each[0]) - (each[1] == "symbol") >= 2}
    found = search(model, way, 4, 1000, min_units=2)
    assert {(each.units, each.ended) for each in found} == expected


def test_the_first_ones_are_those_of_a_search_that_goes_on_to_the_last() -> None:
    for seed in range(20):
        model = UnitChain(seed, vocabulary=4)
        for penalty in (0.0, 1.0, 1.5):
            whole = search(model, WAYS[0], 5, 40, penalty)
            for count in (1, 3):
                (found,) = strings.search(
                    Unconditional(model), torch.tensor([START]), model.begin(),
                    Ending(**WAYS[0]), [5],
                    Search(beam=40, count=count, length_penalty=penalty),
                )  # fmt: skip
                assert found == whole[:count]
