"""A softmax over each part of a value: laws of padding, and values by hand."""

import pytest
import torch
from says import refuses
from torch import Tensor, nn

from tagkit.nn.heads.parts import PartsHead

MASK = torch.tensor([[True, True, True], [True, False, False]])
# (batch, time, parts): ids of a part with two labels, and of one with three.
GOLD = torch.tensor([[[0, 2], [1, 0], [0, 1]], [[1, 1], [0, 0], [0, 0]]])


def head() -> PartsHead:
    torch.manual_seed(3)
    return PartsHead(4, [2, 3])


def states() -> Tensor:
    return torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def test_the_loss_is_that_of_a_softmax_for_each_part() -> None:
    parts, found = head(), states()
    total, count = parts(found, MASK, GOLD)
    expected = 0.0
    for row, time in ((0, 0), (0, 1), (0, 2), (1, 0)):
        scores = parts.linear.weight @ found[row, time] + parts.linear.bias
        for part, labels in enumerate((scores[:2], scores[2:])):
            expected -= float(torch.log_softmax(labels, 0)[GOLD[row, time, part]])
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 4


def test_padding_changes_neither_loss_nor_scores_nor_gradients() -> None:
    parts, found = head(), states()
    total, _ = parts(found, MASK, GOLD)
    first, second = parts.scores(found, MASK)
    spoilt = found.clone()
    spoilt[~MASK] = torch.nan
    spoilt.requires_grad_()
    loss, _ = parts(spoilt, MASK, GOLD)
    torch.testing.assert_close(loss, total)
    loss.backward()
    assert spoilt.grad is not None
    assert torch.equal(spoilt.grad[~MASK], torch.zeros(2, 4))
    for ours, theirs in zip((first, second), parts.scores(spoilt, MASK), strict=True):
        torch.testing.assert_close(ours, theirs)
        assert torch.equal(theirs[~MASK], torch.zeros_like(theirs[~MASK]))


def test_one_part_is_the_softmax_head_of_a_tagger() -> None:
    torch.manual_seed(1)
    parts, found = PartsHead(4, [3]), states()
    total, count = parts(found, MASK, GOLD[..., 1:])
    scores = parts.linear(found)[MASK]
    expected = nn.functional.cross_entropy(scores, GOLD[..., 1][MASK], reduction="sum")
    torch.testing.assert_close(total, expected)
    assert int(count) == 4


def test_every_parameter_gets_a_gradient() -> None:
    parts = head()
    parts(states(), MASK, GOLD)[0].backward()
    for name, parameter in parts.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_states_of_another_size_and_masks_with_holes_are_refused() -> None:
    with refuses(ValueError, "states", "4"):
        head().scores(torch.zeros(1, 2, 5), torch.ones(1, 2, dtype=torch.bool))
    hole = torch.tensor([[True, False, True]])
    with refuses(ValueError):
        head().scores(torch.zeros(1, 3, 4), hole)
