"""Lengths as a distribution over all numbers, and the numbers that share weights."""

import math

import numpy as np
import pytest
import torch

from tagkit.nn.softmax.length import LengthEnd, best_lengths, ended, group_of

GIVEN = 3


def layer(given: int = GIVEN) -> LengthEnd:
    torch.manual_seed(2)
    built = LengthEnd(given=given, dim=4).double()
    for weights in built.parameters():
        torch.nn.init.normal_(weights)
    return built


@pytest.mark.parametrize("given", [0, GIVEN])
def test_it_equals_a_loop_over_its_equation(given: int) -> None:
    built, known = layer(given), torch.randn(2, given).double()
    found = built.log_probs(known, 40).exp().detach().numpy()
    for row in range(2):
        left = 1.0
        for length in range(41):
            group = length if length < 32 else 32 + int(8 * math.log2(length / 32))
            score = float(built.bias[group].detach())
            if built.weight is not None:
                score += float((built.weight[group] @ known[row]).detach())
            ends = 1 / (1 + math.exp(-score))
            np.testing.assert_allclose(found[row, length], left * ends, rtol=1e-10)
            left *= 1 - ends


def test_the_probabilities_of_all_lengths_sum_to_1() -> None:
    built, known = layer(), torch.randn(3, GIVEN).double()
    total = built.log_probs(known, 20_000).exp().sum(1)
    torch.testing.assert_close(total, torch.ones(3).double())
    lengths = torch.tensor([0, 33, 5])
    alone = torch.stack([
        built.log_prob_of(known[row : row + 1], lengths[row : row + 1])[0] for row in range(3)
    ])  # fmt: skip
    torch.testing.assert_close(built.log_prob_of(known, lengths), alone)


def test_the_best_lengths_are_the_most_probable_of_those_that_are_allowed() -> None:
    built, known = layer(), torch.randn(2, GIVEN).double()
    probs = built.log_probs(known, 9).detach()
    lengths, log_probs = best_lengths(probs, [2, 8], [9, 5], 3)
    expected = sorted(range(2, 10), key=lambda length: -float(probs[0, length]))[:3]
    assert lengths[0].tolist() == expected
    torch.testing.assert_close(log_probs[0], probs[0, expected])
    # Where the least is above the most, that is it.
    assert lengths[1, 0] == 5
    assert log_probs[1, 1:].tolist() == [-math.inf, -math.inf]


def test_numbers_near_the_end_differ_and_those_far_from_it_share_weights() -> None:
    groups = group_of(torch.arange(20_000))
    assert groups[:36].tolist() == [*range(32), 32, 32, 32, 33]
    assert bool((groups.diff() >= 0).all())
    assert int(groups.max()) == 99
    built = layer()
    torch.testing.assert_close(built(torch.tensor([-1])), built(torch.tensor([0])))


def test_nothing_but_the_end_follows_what_is_over() -> None:
    scores = torch.randn(2, 4).log_softmax(1)
    found = ended(scores, torch.tensor([[True], [False]]), 2)
    assert found[0].tolist() == [-math.inf, -math.inf, 0, -math.inf]
    torch.testing.assert_close(found[1], scores[1])
