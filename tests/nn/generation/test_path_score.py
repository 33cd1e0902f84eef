"""Log probabilities of given sequences, against enumeration."""

import pytest
import torch
from unit_chains import START, UnitChain

from tagkit.nn.generation.path_score import path_log_probs


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
