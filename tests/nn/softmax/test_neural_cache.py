"""The continuous cache: its equations as a loop, segments, windows, and sums of probabilities."""

import math

import pytest
import torch
from torch import Tensor

from tagkit.nn.softmax import neural_cache
from tagkit.nn.softmax.neural_cache import CacheOptions, NeuralCache

UNITS, HIDDEN, TIME = 5, 3, 40


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    """States, targets, and log probabilities of all units at each step."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(TIME, HIDDEN, generator=generator)
    targets = torch.randint(UNITS, (TIME,), generator=generator)
    return states, targets, torch.randn(TIME, UNITS, generator=generator).log_softmax(1)


def by_the_equations(
    options: CacheOptions, states: Tensor, targets: Tensor, probs: Tensor, t: int, unit: int
) -> float:
    """The probability of a unit at step t, by a loop over the steps before."""
    found = dict.fromkeys(range(UNITS), 0.0)
    for i in range(max(0, t - options.window), t):
        product = sum(a * b for a, b in zip(states[t].tolist(), states[i].tolist(), strict=True))
        found[int(targets[i])] += math.exp(options.theta * product)
    own = math.exp(probs[t, unit])
    if not t:
        return own
    share = options.share
    return (1 - share) * own + share * found[unit] / sum(found.values())


@pytest.mark.parametrize("block", [1, 7, 128])
@pytest.mark.parametrize(
    "options",
    [
        CacheOptions(window=1, theta=0.3, share=0.1),
        CacheOptions(window=9, theta=2.0, share=0.5),
        CacheOptions(window=100, theta=0.0, share=0.9),
        CacheOptions(window=9, theta=2.0, share=0.0),
    ],
)
def test_probabilities_are_those_of_the_equations(
    options: CacheOptions, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neural_cache, "BLOCK", block)
    states, targets, probs = drawn()
    own = probs.gather(1, targets.unsqueeze(1)).squeeze(1)
    expected = [
        by_the_equations(options, states, targets, probs, t, int(targets[t])) for t in range(TIME)
    ]
    whole = NeuralCache(options).mix(states, targets, own)
    torch.testing.assert_close(whole.exp(), torch.tensor(expected).double(), rtol=1e-5, atol=1e-7)
    # In segments of several lengths the same: the window is carried.
    cache, cuts = NeuralCache(options), (1, 3, 20, 0, 16)
    parts = [
        cache.mix(*part)
        for part in zip(states.split(cuts), targets.split(cuts), own.split(cuts), strict=True)
    ]
    torch.testing.assert_close(torch.cat(parts), whole)
    assert cache._states is not None
    assert len(cache._states) == min(options.window, TIME)


def test_probabilities_of_all_units_sum_to_one() -> None:
    options = CacheOptions(window=9, theta=2.0, share=0.3)
    states, targets, probs = drawn()
    sums = torch.zeros(2).double()
    for unit in range(UNITS):
        for number, t in enumerate((0, 20)):
            cache = NeuralCache(options)
            if t:
                cache.mix(states[:t], targets[:t], probs[:t, 0])
            sums[number] += cache.mix(
                states[t : t + 1], torch.tensor([unit]), probs[t : t + 1, unit]
            ).exp()[0]
    torch.testing.assert_close(sums, torch.ones(2).double())


def test_a_unit_that_just_followed_the_same_state_becomes_likely() -> None:
    states = torch.eye(3)[[0, 1, 0]]
    targets, own = torch.tensor([3, 1, 3]), torch.full((3,), -9.0)
    options = CacheOptions(window=8, theta=50.0, share=0.25)
    mixed = NeuralCache(options).mix(states, targets, own)
    assert mixed[0] == own[0]
    assert mixed[2].exp().item() == pytest.approx(0.25, rel=1e-3)
    # A unit that the cache has not seen loses its share.
    assert mixed[1].item() == pytest.approx(-9 + math.log(0.75))


def test_products_of_thousands_stay_finite() -> None:
    states, targets, probs = drawn()
    options = CacheOptions(window=8, theta=1000.0, share=0.1)
    assert bool(NeuralCache(options).mix(100 * states, targets, probs[:, 0]).isfinite().all())
