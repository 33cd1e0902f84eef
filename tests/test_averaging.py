"""The running mean of the weights."""

import pytest
import torch
from torch import nn

from tagkit.averaging import RunningMean


def test_the_mean_is_its_formula() -> None:
    model = nn.Linear(2, 1)
    mean = RunningMean(model, decay=0.8)
    expected = model.weight.detach().clone()
    for step in range(1, 60):
        with torch.no_grad():
            model.weight.add_(torch.randn(1, 2, generator=torch.Generator().manual_seed(step)))
        mean.update()
        decay = min(0.8, step / (step + 10))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    with mean.lent():
        torch.testing.assert_close(model.weight.detach(), expected)


def test_lending_ends_with_the_models_own_weights_whatever_happens() -> None:
    model = nn.Linear(2, 1)
    mean = RunningMean(model, decay=0.9)
    with torch.no_grad():
        model.weight.add_(1)
    mean.update()
    own = model.weight.detach().clone()
    with pytest.raises(ZeroDivisionError), mean.lent():
        _ = 1 / 0
    assert torch.equal(model.weight.detach(), own)
    with mean.lent():
        assert not torch.equal(model.weight.detach(), own)
    assert torch.equal(model.weight.detach(), own)


def test_without_a_decay_the_mean_is_the_model_itself() -> None:
    model = nn.Linear(2, 1)
    mean = RunningMean(model, decay=0.0)
    with torch.no_grad():
        model.weight.add_(1)
    own = model.weight.detach().clone()
    mean.update()
    with mean.lent():
        assert torch.equal(model.weight.detach(), own)
