"""Log probabilities of given sequences, against enumeration."""

import math

import pytest
import torch
from torch import Tensor
from unit_chains import START, UnitChain

from tagkit.nn.generation import path_score
from tagkit.nn.generation.path_score import (
    NOT_ASKED,
    PathScorer,
    path_log_probs,
    segment_log_probs,
)
from tagkit.nn.generation.step import State


@pytest.mark.parametrize("by_halt", [False, True])
def test_every_sequence_has_its_log_probability_in_any_batch(by_halt: bool) -> None:
    model = UnitChain(6, halt=True)
    found = model.sequences(1, 4, by_halt=by_halt)
    expected = {
        units: value for (units, ended), value in found.items()
        if (ended == "halt" if by_halt else ended != "halt")
    }  # fmt: skip
    paths = sorted(expected, key=lambda path: path[::-1])  # short and long ones mixed
    scores = path_log_probs(model, torch.tensor([START]), model.begin(), paths, by_halt=by_halt)
    assert scores == pytest.approx([expected[path] for path in paths])
    (alone,) = path_log_probs(
        model, torch.tensor([START]), model.begin(), [paths[3]], by_halt=by_halt
    )
    assert alone == pytest.approx(scores[3])


def test_a_sequence_without_units_is_certain_and_no_sequences_have_no_scores() -> None:
    model = UnitChain(6)
    start = torch.tensor([START])
    assert path_log_probs(model, start, model.begin(), [(), (0,)], by_halt=False)[0] == 0
    assert path_log_probs(model, start, model.begin(), [], by_halt=False) == []


def test_units_that_are_given_are_read_and_not_counted() -> None:
    model, start = UnitChain(6), torch.tensor([START])
    paths = [(0, 1, 2), (1,), (2, 0, 0, 1), (0, 1, 1)]
    heads = [path[:count] for path, count in zip(paths, (2, 1, 0, 1), strict=True)]
    whole, first = (
        path_log_probs(model, start, model.begin(), each, by_halt=False) for each in (paths, heads)
    )
    found = path_log_probs(
        model, start, model.begin(), paths, by_halt=False, given=[2, 1, 0, 1]
    )  # fmt: skip
    assert found == pytest.approx([a - b for a, b in zip(whole, first, strict=True)])


def test_of_units_that_are_given_the_decisions_not_to_halt_do_not_count_either() -> None:
    model, start = UnitChain(6, halt=True), torch.tensor([START])
    (found,) = path_log_probs(model, start, model.begin(), [(0, 1)], by_halt=True, given=[1])
    probs, halt = model.after((0,))
    expected = math.log((1 - halt) * probs[1] * model.after((0, 1))[1])
    assert found == pytest.approx(expected)


def by_steps(model: UnitChain) -> PathScorer:
    """Many units at once, from the steps of a model; what each call read is in `widths`."""

    def score(ids: Tensor, wanted: Tensor, state: State, /) -> tuple[Tensor, State]:
        widths.append(ids.shape[1])
        total = torch.zeros(len(ids), dtype=torch.float64)
        for read, following in zip(ids.T, wanted.T, strict=True):
            output = model(read, state)
            found = output.log_probs.gather(1, following.clamp(min=0).unsqueeze(1)).squeeze(1)
            state, total = output.state, total + found.where(following != NOT_ASKED, 0)
        return total, state

    return score


widths: list[int] = []


@pytest.mark.parametrize(
    ("at_once", "shortest", "read"),
    [(99, 16, [7]), (99, 1, [1, 1, 1, 1, 3]), (4, 3, [1, 1, 1, 2, 2])],
)
def test_segments_of_any_width_give_what_steps_give(
    monkeypatch: pytest.MonkeyPatch, at_once: int, shortest: int, read: list[int]
) -> None:
    monkeypatch.setattr(path_score, "_READ_AT_ONCE", at_once)
    monkeypatch.setattr(path_score, "_SHORTEST", shortest)
    model, start = UnitChain(6), torch.tensor([START])
    paths = [(0, 1, 2), (), (2,), (2, 0, 0, 1, 1, 0, 2), (1, 1), (1, 2, 0, 0)]
    for given in (None, [2, 0, 1, 5, 0, 4]):
        widths.clear()
        found = segment_log_probs(by_steps(model), start, model.begin(), paths, given)
        assert found == pytest.approx(
            path_log_probs(model, start, model.begin(), paths, by_halt=False, given=given)
        )
        assert widths == read
    assert segment_log_probs(by_steps(model), start, model.begin(), []) == []
