"""The summed cross-entropy against torch's, with and without weights."""

import pytest
import torch
from torch import Tensor, nn

from tagkit.nn.softmax.cross_entropy import cross_entropy

UNITS = 6


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("at_once", [1, 2 * UNITS, 2**22])
@pytest.mark.parametrize("weighted", [True, False])
def test_gradients_are_exact_however_many_scores_there_are_at_once(
    at_once: int, weighted: bool
) -> None:
    trained = [drawn(5, 3, seed=1), drawn(UNITS, 3, seed=2), drawn(UNITS, seed=3)]
    states, weight, bias = (one.requires_grad_() for one in trained)
    targets = torch.tensor([0, 5, 2, 2, 1])
    weights = torch.tensor([1.0, 0.5, 3, 0, 1]).double() if weighted else torch.ones(5).double()
    each = nn.functional.cross_entropy(states @ weight.T + bias, targets, reduction="none")
    found = cross_entropy(
        states, weight, bias, targets, weights if weighted else None, scores=at_once
    )
    torch.testing.assert_close(found, (weights * each).sum())
    expected = torch.autograd.grad(7 * (weights * each).sum(), trained)
    torch.testing.assert_close(torch.autograd.grad(7 * found, trained), expected)


def test_scores_of_any_size_have_a_finite_loss() -> None:
    big, targets = 1e4 * torch.eye(3), torch.tensor([0, 1, 0])
    for weights in (None, torch.ones(3)):
        found = cross_entropy(big, torch.eye(3), torch.zeros(3), targets, weights)
        assert float(found) == pytest.approx(1e4)
