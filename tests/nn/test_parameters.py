"""The number of parameters of a module."""

from torch import nn

from tagkit.nn.parameters import count_parameters


def test_shared_and_frozen_weights_count_once_each() -> None:
    first = nn.Linear(3, 2)
    second = nn.Linear(3, 2)
    second.weight = first.weight
    second.bias.requires_grad_(False)
    assert count_parameters(nn.ModuleList([first, second])) == 3 * 2 + 2 + 2
