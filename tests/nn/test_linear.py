"""Initial weights of linear layers."""

import math

import pytest
import torch
from torch import nn

from tagkit.nn.linear import count_parameters, fresh_linear


@pytest.mark.parametrize("parts", [1, 3])
def test_weights_are_uniform_within_the_bound_of_each_part_and_biases_are_zero(parts: int) -> None:
    torch.manual_seed(1)
    layer = fresh_linear(40, 20, parts)
    assert not layer.bias.any()
    bound = math.sqrt(6 / (40 + 20))  # eq. 16, of a part and not of all rows together
    for part in layer.weight.chunk(parts):
        assert part.shape == (20, 40)
        assert 0.99 * bound < part.abs().max() <= bound
        assert part.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert len({part.sum().item() for part in layer.weight.chunk(parts)}) == parts


def test_shared_and_frozen_weights_count_once_each() -> None:
    first = nn.Linear(3, 2)
    second = nn.Linear(3, 2)
    second.weight = first.weight
    second.bias.requires_grad_(False)
    assert count_parameters(nn.ModuleList([first, second])) == 3 * 2 + 2 + 2
