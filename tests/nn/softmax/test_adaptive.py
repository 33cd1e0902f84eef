"""The adaptive softmax: parity with torch's, and the rule of its cutoffs."""

import pytest
import torch
from torch import nn

from tagkit.nn.softmax.adaptive import SHRINK, AdaptiveSoftmax, best_cutoffs


def test_it_is_the_one_of_torch() -> None:
    torch.manual_seed(1)
    theirs = nn.AdaptiveLogSoftmaxWithLoss(32, 50, [7, 21], div_value=SHRINK, head_bias=True)
    ours = AdaptiveSoftmax(units=50, hidden=32, dim=32, tied=False, cutoffs=(7, 21))
    with torch.no_grad():
        ours.weight.copy_(theirs.head.weight[:7])  # type: ignore[union-attr]
        ours.clusters.copy_(theirs.head.weight[7:])
        ours.bias[:7] = theirs.head.bias[:7]
        ours.cluster_bias.copy_(theirs.head.bias[7:])
        for own, (project, weight) in zip(ours.tails, theirs.tail, strict=True):
            own.project.copy_(project.weight)
            own.weight.copy_(weight.weight)
    states, targets = torch.randn(64, 32), torch.randint(50, (64,))
    own = ours.log_prob_of(states, targets)
    torch.testing.assert_close(own, theirs(states, targets).output)
    torch.testing.assert_close(ours.log_probs(states), theirs.log_prob(states))
    torch.testing.assert_close(ours.loss(states, targets)[0] / 64, theirs(states, targets).loss)


@pytest.mark.parametrize("shrink", [1, SHRINK])
def test_cutoffs_rise_and_cost_less_than_others_the_more_units_there_are(shrink: int) -> None:
    assert best_cutoffs(100, shrink) == ()
    for units in (2_000, 10_000, 100_000):
        cutoffs = best_cutoffs(units, shrink)
        assert list(cutoffs) == sorted({*cutoffs})
        assert 0 < cutoffs[0] < units / 4
        assert cutoffs[-1] < units
        # By Zipf's law most tokens need the head alone.
        weights = 1 / (torch.arange(units) + 1.0)
        assert weights[: cutoffs[0]].sum() > 0.79 * weights.sum()


def test_no_tail_and_one_without_a_target_are_no_trouble() -> None:
    torch.manual_seed(1)
    softmax = AdaptiveSoftmax(units=9, hidden=4, dim=4, tied=False, cutoffs=())
    states, targets = torch.randn(5, 4), torch.arange(5)
    expected = torch.log_softmax(states @ softmax.weight.t(), 1)  # type: ignore[union-attr]
    torch.testing.assert_close(softmax.log_probs(states), expected)
    softmax = AdaptiveSoftmax(units=9, hidden=4, dim=4, tied=False, cutoffs=(5, 7))
    total, _ = softmax.loss(states, targets)
    torch.testing.assert_close(total, -softmax.log_probs(states).diagonal().sum())
