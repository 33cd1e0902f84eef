"""Sequences are drawn with their probabilities, and end as they should."""

import math
from collections import Counter
from typing import Any

import pytest
import torch
from marks import mostly_slow
from says import refuses
from unit_chains import START, UnitChain

from tagkit.nn.generation.choice import Choice
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, Event, generate
from tagkit.nn.generation.row_random import RowRandom
from tagkit.nn.generation.step import select_rows


def run(
    model: UnitChain, rows: list[int], lengths: list[int], *, symbol: int | None = None,
    by_halt: bool = False, seed: int = 1, **changes: Any,
) -> dict[int, list[Event]]:  # fmt: skip
    """The events of each row, by its number."""
    plain: dict[str, Any] = {
        "method": "sample", "temperature": 1.0, "top_k": 0, "top_p": 1.0,
        "repetition_penalty": 1.0, "banned": (), "unpenalised": (),
    }  # fmt: skip
    start = torch.full((len(rows),), START)
    found: dict[int, list[Event]] = {row: [] for row in rows}
    for events in generate(
        model, start, select_rows(model.begin(), torch.zeros_like(start)),
        Choice(**plain | changes), Ending(symbol, by_halt), torch.tensor(lengths),
        RowRandom(seed, rows),
        torch.zeros(len(rows), model.vocabulary, dtype=torch.bool),
    ):  # fmt: skip
        for event in events:
            found[rows[event.row]].append(event)
    return found


def sequence(events: list[Event]) -> tuple[tuple[int, ...], Ended]:
    assert all(event.ended is None for event in events[:-1])
    assert events[-1].ended is not None
    return tuple(e.unit for e in events if e.unit is not None), events[-1].ended


WAYS: list[dict[str, Any]] = [{"symbol": 2, "by_halt": True}, {"symbol": 1}, {"by_halt": True}, {}]


@pytest.mark.parametrize("way", mostly_slow(WAYS, always=2), ids=str)
def test_whole_sequences_are_drawn_with_their_probabilities(way: dict[str, Any]) -> None:
    """Total variation: by the bound of McDiarmid, a correct one exceeds it once in 10 million."""
    model = UnitChain(4, halt=True)
    expected = model.sequences(way.get("symbol"), 3, by_halt=way.get("by_halt", False))
    assert sum(map(math.exp, expected.values())) == pytest.approx(1)
    count = 2000
    found = run(model, [*range(count)], [3] * count, **way)
    counts = Counter(map(sequence, found.values()))
    assert counts.keys() <= expected.keys()
    distance = sum(abs(counts[k] / count - math.exp(p)) for k, p in expected.items()) / 2
    # Its mean is at most sqrt(kinds / count) / 2, and one sequence changes it by 1 / count.
    assert distance < math.sqrt(len(expected) / count) / 2 + math.sqrt(math.log(1e7) / (2 * count))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_log_probabilities_are_those_of_the_model_whatever_was_changed(way: dict[str, Any]) -> None:
    model = UnitChain(7, halt=True)
    expected = model.sequences(way.get("symbol"), 4, by_halt=way.get("by_halt", False))
    for changes in ({}, {"temperature": 3.0}, {"top_p": 0.5}, {"method": "greedy"}):
        for events in run(model, [*range(30)], [4] * 30, **way, **changes).values():
            total = sum(event.log_prob for event in events)
            assert total == pytest.approx(expected[sequence(events)])


def test_a_row_is_the_same_alone_and_among_others() -> None:
    model = UnitChain(3, halt=True)
    together = run(model, [*range(8)], [6] * 8, by_halt=True, symbol=1)
    for row in range(8):
        assert run(model, [row], [6], by_halt=True, symbol=1) == {
            row: [Event(0, e.unit, pytest.approx(e.log_prob), e.ended) for e in together[row]]
        }
    assert len({sequence(events) for events in together.values()}) > 3
    assert run(model, [*range(8)], [6] * 8, by_halt=True, symbol=1, seed=2) != together


def test_each_row_has_its_own_length() -> None:
    found = run(UnitChain(1), [0, 1, 2], [4, 1, 2])
    assert [len(events) for events in found.values()] == [4, 1, 2]
    assert all(events[-1].ended == "length" for events in found.values())


def test_greedy_takes_the_best_unit_each_time_for_every_seed() -> None:
    model = UnitChain(11, vocabulary=4)
    history: tuple[int, ...] = ()
    for _ in range(5):
        probs, _halt = model.after(history)
        history += (probs.index(max(probs)),)
    for seed, changes in ((1, {"method": "greedy"}), (2, {"top_k": 1}), (3, {"temperature": 1e-6})):
        assert sequence(run(model, [0], [5], seed=seed, **changes)[0]) == (history, "length")


def test_a_large_penalty_repeats_nothing_until_all_was_seen() -> None:
    model = UnitChain(2, vocabulary=6)
    for events in run(model, [*range(20)], [6] * 20, repetition_penalty=1e6).values():
        assert sorted(sequence(events)[0]) == [0, 1, 2, 3, 4, 5]
    for events in run(model, [*range(20)], [6] * 20, repetition_penalty=1e6, banned=(1,)).values():
        assert sorted(sequence(events)[0])[:5].count(1) == 0


def test_a_model_that_cannot_halt_is_refused() -> None:
    with refuses(ValueError, "probability"):
        run(UnitChain(1), [0], [3], by_halt=True)
