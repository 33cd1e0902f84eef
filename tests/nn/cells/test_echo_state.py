"""The reservoir: its spectral radius, its zeros, and the range of its input weights."""

from dataclasses import replace

import pytest
import torch
from cell_options import CELL_OPTIONS

from tagkit.nn.cells import CELLS


@pytest.mark.parametrize("hidden", [1, 2, 5, 40])
@pytest.mark.parametrize(("radius", "sparsity"), [(0.9, 0.9), (1.25, 0.5), (0.3, 0.0)])
def test_recurrent_weights_have_the_radius_and_the_zeros_of_the_options(
    hidden: int, radius: float, sparsity: float
) -> None:
    torch.manual_seed(1)
    options = replace(CELL_OPTIONS, spectral_radius=radius, sparsity=sparsity)
    weights = CELLS["echo-state"].build(3, hidden, options).get_parameter("weight_hh")
    assert float(torch.linalg.eigvals(weights).abs().max()) == pytest.approx(radius, rel=1e-4)
    read = max(1, round((1 - sparsity) * hidden))
    assert (weights != 0).sum(1).tolist() == [read] * hidden


def test_input_weights_fill_the_range_of_the_option() -> None:
    torch.manual_seed(1)
    options = replace(CELL_OPTIONS, input_scale=0.25)
    weights = CELLS["echo-state"].build(30, 40, options).get_parameter("weight_ih")
    assert 0.24 < float(weights.detach().abs().max()) <= 0.25
