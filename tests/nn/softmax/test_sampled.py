"""The sampled softmax: its expected counts, and what its gradient tends to."""

import pytest
import torch
from torch import Tensor

from tagkit.nn.softmax.full import FullSoftmax
from tagkit.nn.softmax.sampled import SampledSoftmax, expected_counts

UNITS, HIDDEN = 40, 5


def sampled(samples: int) -> SampledSoftmax:
    torch.manual_seed(3)
    found = SampledSoftmax(units=UNITS, hidden=HIDDEN, dim=HIDDEN, tied=False).double()
    found.samples = samples
    return found


def drawn() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    states = torch.randn(30, HIDDEN, generator=generator).double()
    return states, torch.randint(UNITS, (30,), generator=generator)


def gradient(layer: FullSoftmax) -> Tensor:
    states, targets = drawn()
    states.requires_grad_()
    return torch.autograd.grad(layer.loss(states, targets)[0], states)[0]


@pytest.mark.parametrize("samples", [1, 7, 39, 40, 99])
def test_expected_counts_are_log_uniform_up_to_one_and_sum_to_the_samples(samples: int) -> None:
    counts = expected_counts(UNITS, samples).double()
    assert counts.sum().item() == pytest.approx(min(samples, UNITS), rel=1e-5)
    assert bool((counts <= 1).all())
    q = torch.log1p(1 / torch.arange(1, UNITS + 1).double())
    ratio = (counts / q)[counts < 1]
    if len(ratio):
        torch.testing.assert_close(ratio, ratio[:1].expand_as(ratio), rtol=1e-5, atol=0)


def test_units_are_drawn_as_often_as_expected() -> None:
    torch.manual_seed(1)
    counts = expected_counts(UNITS, 10)
    drawn = (torch.rand(20_000, UNITS) < counts).float().mean(0)
    assert bool(((drawn - counts).abs() < 5 * (counts / 20_000).sqrt()).all())


def test_a_sample_of_all_units_is_the_full_softmax() -> None:
    layer = sampled(UNITS)
    full = FullSoftmax(units=UNITS, hidden=HIDDEN, dim=HIDDEN, tied=False).double()
    full.load_state_dict(layer.state_dict())
    states, targets = drawn()
    assert torch.equal(layer.loss(states, targets)[0], full.loss(states, targets)[0])
    torch.testing.assert_close(gradient(layer), gradient(full))


def test_the_sum_over_all_units_is_estimated_without_a_bias() -> None:
    layer, (states, targets) = sampled(10), drawn()
    own = -layer.log_prob_of(states, targets)
    torch.manual_seed(7)
    # exp(loss) of one token is what the sum is, divided by exp(score of the target).
    with torch.no_grad():
        draws = torch.stack([layer.loss(states[:1], targets[:1])[0].exp() for _ in range(600)])
    error = draws.std() / 600**0.5
    assert error < 0.05 * draws.mean()
    assert abs(draws.mean() - own[0].exp()) < 4 * error


@pytest.mark.slow
def test_the_mean_gradient_tends_to_the_full_one_as_samples_grow() -> None:
    distances = []
    for samples in (4, 12, 36):
        layer = sampled(samples)
        exact = gradient(layer.eval())
        layer.train()
        torch.manual_seed(11)
        mean = torch.stack([gradient(layer) for _ in range(100)]).mean(0)
        distances.append(((mean - exact).norm() / exact.norm()).item())
    assert distances == sorted(distances, reverse=True)
    assert distances[1] < 0.1
    assert distances[2] < 0.01


def test_one_state_of_the_generator_gives_one_loss_and_evaluation_draws_nothing() -> None:
    layer, (states, targets) = sampled(10), drawn()
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(layer.loss(states, targets)[0].item())
    assert found[0] == found[1] != found[2]
    before = torch.get_rng_state()
    total, _ = layer.eval().loss(states, targets)
    assert torch.equal(torch.get_rng_state(), before)
    torch.testing.assert_close(total, -layer.log_prob_of(states, targets).sum())
