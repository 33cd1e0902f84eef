"""Halting beside a softmax: one distribution, its loss, and its gradient."""

import pytest
import torch
from torch import Tensor

from tagkit.nn.softmax import SOFTMAXES
from tagkit.nn.softmax.halting import HaltingSoftmax
from tagkit.nn.softmax.layer import SoftmaxOptions

UNITS, HIDDEN = 6, 5


def layer_of(kind: str, end: int, *, tied: bool) -> tuple[HaltingSoftmax, Tensor | None]:
    """In float64, with the table of all units where it is tied."""
    torch.manual_seed(4)
    options = SoftmaxOptions(units=UNITS - 1, hidden=HIDDEN, dim=3, tied=tied)
    layer = HaltingSoftmax(SOFTMAXES[kind](options), hidden=HIDDEN, end=end).double()
    for weights in layer.parameters():
        torch.nn.init.normal_(weights)
    return layer, torch.randn(UNITS, 3).double().requires_grad_() if tied else None


@pytest.mark.parametrize("kind", sorted(SOFTMAXES))
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("end", [0, 2, UNITS - 1])
def test_halting_and_units_are_one_distribution(kind: str, tied: bool, end: int) -> None:
    layer, table = layer_of(kind, end, tied=tied)
    layer.eval()
    states = torch.randn(UNITS, HIDDEN).double()
    # (states, targets) each target after each state
    found = torch.stack(
        [layer.log_prob_of(states, torch.full((UNITS,), unit), table) for unit in range(UNITS)], 1
    )
    torch.testing.assert_close(found.exp().sum(1), torch.ones(UNITS).double())
    halts = layer.halt_probs(states)
    torch.testing.assert_close(found[:, end].exp(), halts)
    given = layer.log_probs(states, table)
    assert bool((given[:, end] == -torch.inf).all())
    torch.testing.assert_close(given.exp().sum(1), torch.ones(UNITS).double())
    others = torch.arange(UNITS) != end
    torch.testing.assert_close(found[:, others], (torch.log1p(-halts)[:, None] + given)[:, others])
    loss, count = layer.loss(states, torch.arange(UNITS), table)
    torch.testing.assert_close(loss, -found.diagonal().sum())
    assert int(count) == UNITS
    if tied and kind == "full":
        (weight, bias), vectors = layer.inner.parameters(), table
        assert vectors is not None
        scores = states @ bias.t() @ vectors[others].t() + weight
        torch.testing.assert_close(given[:, others], torch.log_softmax(scores, 1))


def test_a_line_that_ends_teaches_the_halting_unit_alone() -> None:
    layer, table = layer_of("full", UNITS - 1, tied=True)
    assert table is not None
    states = torch.randn(3, HIDDEN).double()
    layer.loss(states, torch.full((3,), UNITS - 1), table)[0].backward()
    assert layer.halt.weight.grad is not None
    torch.testing.assert_close(
        layer.halt.weight.grad[0], ((layer.halt_probs(states) - 1)[:, None] * states).sum(0)
    )
    assert table.grad is not None
    assert not table.grad.any()
    layer.loss(states, torch.arange(3), table)[0].backward()
    assert not table.grad[-1].any()  # as no unit stands for the end
    assert table.grad[:-1].any()


def test_halting_that_is_nearly_certain_leaves_a_chance_to_go_on() -> None:
    layer, _ = layer_of("full", UNITS - 1, tied=False)
    layer.float()
    layer.requires_grad_(False)
    layer.halt.weight.zero_()
    layer.halt.bias.fill_(30.0)
    assert 0 < 1 - float(layer.halt_probs(torch.zeros(1, HIDDEN))) < 1e-12
    going_on = layer.log_prob_of(torch.zeros(1, HIDDEN), torch.tensor([0]))
    assert bool(going_on.isfinite())
