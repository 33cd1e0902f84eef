"""The reservoir: its spectral radius, its zeros, and the range of its input weights."""

from dataclasses import replace

import pytest
import torch
from cell_options import CELL_OPTIONS

from tagkit.nn.cells import CELLS
from tagkit.nn.cells.echo_state import SPARSITY


@pytest.mark.parametrize("hidden", [1, 2, 5, 40])
@pytest.mark.parametrize("radius", [0.9, 1.25, 0.3])
def test_recurrent_weights_have_the_radius_and_the_zeros_of_a_reservoir(
    hidden: int, radius: float
) -> None:
    torch.manual_seed(1)
    options = replace(CELL_OPTIONS, spectral_radius=radius)
    weights = CELLS["echo-state"].build(3, hidden, options).get_parameter("weight_hh")
    assert float(torch.linalg.eigvals(weights).abs().max()) == pytest.approx(radius, rel=1e-4)
    read = max(1, round((1 - SPARSITY) * hidden))
    assert (weights != 0).sum(1).tolist() == [read] * hidden


def test_input_weights_lie_between_minus_one_and_one() -> None:
    torch.manual_seed(1)
    weights = CELLS["echo-state"].build(30, 40, CELL_OPTIONS).get_parameter("weight_ih")
    assert 0.96 < float(weights.detach().abs().max()) <= 1
