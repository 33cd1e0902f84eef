"""The moving average of the weights."""

import pytest
import torch

from tagkit.training.ema import WeightAverage, decay_at, swapped


def test_the_mean_is_its_formula() -> None:
    weights = torch.randn(1, 2, generator=torch.Generator().manual_seed(0))
    mean = WeightAverage([weights], 0.8)
    expected = weights.clone()
    for step in range(1, 60):
        weights.add_(torch.randn(1, 2, generator=torch.Generator().manual_seed(step)))
        decay = min(0.8, step / (step + 10))
        assert decay_at(step, 0.8) == decay
        assert mean.next_decay() == decay
        mean.update(decay)
        expected = decay * expected + (1 - decay) * weights
    torch.testing.assert_close(mean.means[0], expected)


def test_swapping_ends_with_the_first_values_whatever_happens() -> None:
    left, right = torch.zeros(2), torch.ones(2)
    with pytest.raises(ZeroDivisionError), swapped([(left, right)]):
        _ = 1 / 0
    assert left.tolist() == [0, 0]
    with swapped([(left, right)]):
        assert left.tolist() == [1, 1]
        assert right.tolist() == [0, 0]
    assert right.tolist() == [1, 1]
