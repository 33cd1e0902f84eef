"""Rows of a state."""

import torch

from tagkit.nn.generation.step import select_rows


def test_rows_of_all_tensors_of_a_state_are_taken_in_order_and_copied() -> None:
    hidden = torch.arange(6.0).view(1, 3, 2)
    state = (hidden, (hidden + 10, None), ())
    found = select_rows(state, torch.tensor([2, 0, 2]))
    assert isinstance(found, tuple)
    first, second, third = found
    assert isinstance(first, torch.Tensor)
    assert isinstance(second, tuple)
    assert first.tolist() == [[[4, 5], [0, 1], [4, 5]]]
    assert torch.equal(second[0], first + 10)  # type: ignore[arg-type]
    assert (second[1], third) == (None, ())
    assert select_rows(None, torch.tensor([0, 0])) is None
