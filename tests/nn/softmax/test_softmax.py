"""The laws of the table of output layers over units, for every row, tied or not."""

import math

import pytest
import torch
from marks import mostly_slow
from says import refuses
from torch import Tensor, nn

from tagkit.nn.softmax import SOFTMAXES, cross_entropy
from tagkit.nn.softmax.adaptive import AdaptiveSoftmax
from tagkit.nn.softmax.layer import SoftmaxOptions, UnitSoftmax
from tagkit.nn.softmax.sampled import SampledSoftmax

UNITS, HIDDEN, TOKENS = 17, 6, 11

# Sizes of vectors: that of the states, and one that needs a projection.
each_kind = pytest.mark.parametrize("kind", SOFTMAXES)
each_size = pytest.mark.parametrize(
    ("tied", "dim"),
    mostly_slow([(False, HIDDEN), (True, 5), (True, HIDDEN), (False, 5)], always=2),
)


def layer(kind: str, tied: bool, dim: int, units: int = UNITS) -> tuple[UnitSoftmax, Tensor | None]:
    """A layer of float64 with biases that are not 0, and its table where it is tied."""
    torch.manual_seed(3)
    options = SoftmaxOptions(units=units, hidden=HIDDEN, dim=dim, tied=tied)
    # Cutoffs that so few units would not be worth.
    found = (
        AdaptiveSoftmax(units=units, hidden=HIDDEN, dim=dim, tied=tied, cutoffs=(3, 9))
        if kind == "adaptive"
        else SOFTMAXES[kind](options)
    ).double()
    if isinstance(found, SampledSoftmax):
        found.samples = units // 2
    for parameter in found.parameters():
        nn.init.normal_(parameter)
    return found, torch.randn(units, dim).double().requires_grad_() if tied else None


def drawn() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    states = torch.randn(TOKENS, HIDDEN, generator=generator).double().requires_grad_()
    return states, torch.randint(UNITS, (TOKENS,), generator=generator)


@each_kind
@each_size
def test_probabilities_sum_to_one_and_the_loss_is_that_of_the_targets(
    kind: str, tied: bool, dim: int
) -> None:
    softmax, table = layer(kind, tied, dim)
    softmax.eval()
    states, targets = drawn()
    log_probs = softmax.log_probs(states, table)
    assert log_probs.shape == (TOKENS, UNITS)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(TOKENS).double())
    own = softmax.log_prob_of(states, targets, table)
    torch.testing.assert_close(own, log_probs.gather(1, targets.unsqueeze(1)).squeeze(1))
    total, count = softmax.loss(states, targets, table)
    torch.testing.assert_close(total, -own.sum())
    assert count == TOKENS


@each_kind
def test_the_perplexity_of_a_uniform_model_is_the_number_of_units(kind: str) -> None:
    softmax, _ = layer(kind, False, HIDDEN)
    for parameter in softmax.parameters():
        nn.init.zeros_(parameter)
    if isinstance(softmax, AdaptiveSoftmax):
        # A cluster is as likely as all of its units.
        softmax.cluster_bias.data = torch.tensor([6.0, 8.0]).log().double()
    states, targets = drawn()
    total, count = softmax.eval().loss(states, targets)
    assert math.exp(total.item() / count.item()) == pytest.approx(UNITS)


@each_kind
@each_size
def test_gradients_are_those_of_differences(
    kind: str, tied: bool, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy, "SCORES", 4 * UNITS)  # parts of 4 tokens
    softmax, table = layer(kind, tied, dim)
    states, targets = drawn()
    # The table last, as the states and all parameters.
    leaves = (states, *softmax.parameters(), *([] if table is None else [table]))

    def loss(given: Tensor, *others: Tensor) -> Tensor:
        torch.manual_seed(1)  # the same sample each time
        return 0.5 * softmax.loss(given, targets, others[-1] if tied else None)[0]

    assert torch.autograd.gradcheck(loss, leaves, fast_mode=True)
    for one in leaves:
        one.grad = None
    loss(*leaves).backward()
    for one in leaves:
        assert one.grad is not None
        assert bool(one.grad.abs().sum() > 0)


@each_kind
def test_the_gradient_of_a_tied_matrix_is_the_sum_of_both_uses(kind: str) -> None:
    softmax, table = layer(kind, True, HIDDEN)
    assert table is not None
    softmax.eval()
    inputs, targets = torch.arange(TOKENS), torch.arange(TOKENS) + 3
    softmax.loss(nn.functional.embedding(inputs, table).tanh(), targets, table)[0].backward()
    both, table.grad = table.grad, None
    softmax.loss(nn.functional.embedding(inputs, table).tanh(), targets, table.detach())[
        0
    ].backward()
    of_input, table.grad = table.grad, None
    fixed = nn.functional.embedding(inputs, table.detach()).tanh()
    softmax.loss(fixed, targets, table)[0].backward()
    assert both is not None
    assert of_input is not None
    assert table.grad is not None
    torch.testing.assert_close(both, of_input + table.grad)
    assert not any(one.numel() == table.numel() for one in softmax.parameters())


@each_kind
def test_parts_of_tokens_give_the_loss_of_all_at_once(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    softmax, _ = layer(kind, False, HIDDEN)
    states, targets = drawn()
    found = []
    for scores in (10**9, 1, 5 * UNITS):
        monkeypatch.setattr(cross_entropy, "SCORES", scores)
        torch.manual_seed(1)
        total, _ = softmax.loss(states, targets)
        gradient = torch.autograd.grad(total, states)[0]
        found.append((total, gradient, softmax.log_prob_of(states, targets)))
    for other in found[1:]:
        for one, wanted in zip(other, found[0], strict=True):
            torch.testing.assert_close(one, wanted)


@each_kind
def test_scores_of_thousands_stay_finite(kind: str) -> None:
    softmax, _ = layer(kind, False, HIDDEN)
    states, targets = drawn()
    total, _ = softmax.loss(1e4 * states, targets)
    assert bool(total.isfinite())
    assert bool(torch.autograd.grad(total, states)[0].isfinite().all())


@each_kind
def test_no_tokens_have_no_loss(kind: str) -> None:
    softmax, _ = layer(kind, False, HIDDEN)
    nothing = torch.zeros(0, HIDDEN).double().requires_grad_()
    total, count = softmax.loss(nothing, torch.zeros(0, dtype=torch.int64))
    total.backward()
    assert (total.item(), count.item()) == (0, 0)


def test_a_tied_layer_asks_for_its_table_and_another_one_has_its_own() -> None:
    states, targets = drawn()
    tied, table = layer("full", True, HIDDEN)
    with refuses(ValueError, "embedding"):
        tied.loss(states, targets)
    with refuses(ValueError, "without"):
        layer("full", False, HIDDEN)[0].loss(states, targets, table)


def test_in_float32_the_loss_of_many_tokens_is_that_of_float64() -> None:
    softmax, _ = layer("full", False, HIDDEN)
    states = torch.randn(20_000, HIDDEN, generator=torch.Generator().manual_seed(1))
    targets = torch.arange(20_000) % UNITS
    exact, _ = softmax.loss(states.double(), targets)
    found, _ = softmax.float().loss(states, targets)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(exact.item(), rel=2e-7)
