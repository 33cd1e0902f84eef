"""The states of an ensemble's members side by side."""

import pytest
import torch
from torch import nn

from tagkit.nn.heads.ensemble import alone, each_alone, together


@pytest.mark.parametrize("members", [1, 2, 5])
def test_a_linear_layer_gives_the_mean_of_its_scores_for_each_member_alone(members: int) -> None:
    torch.manual_seed(1)
    states = [torch.randn(2, 3, 4) for _ in range(members)]
    layer = nn.Linear(4 * members, 6)
    each = [layer(alone(own, number, members)) for number, own in enumerate(states)]
    torch.testing.assert_close(layer(together(states)), sum(each) / members)
    # The scores of a member are those of its own columns, as of a model by itself.
    for number, own in enumerate(states):
        columns = members * layer.weight[:, 4 * number : 4 * number + 4]
        torch.testing.assert_close(each[number], own @ columns.t() + layer.bias)


def test_what_was_put_together_is_taken_apart() -> None:
    states = [torch.randn(2, 4) for _ in range(3)]
    for number, found in enumerate(each_alone(together(states), 3)):
        torch.testing.assert_close(found, alone(states[number], number, 3))
