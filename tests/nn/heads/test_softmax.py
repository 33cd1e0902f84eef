"""The softmax head: its loss and its tags, token by token."""

import math

import pytest
import torch
from tag_heads import GOLD, MASK, free, hidden_states, make_head
from torch import Tensor


@pytest.fixture
def states() -> Tensor:
    return hidden_states()


@pytest.mark.parametrize("kind", ["softmax", "viterbi"])
@torch.no_grad()
def test_the_softmax_loss_is_the_log_probability_of_each_token(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    total, count = head.loss(states, MASK, GOLD)
    probs = torch.softmax(head.linear(states), 2)
    tokens = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    expected = -sum(math.log(probs[row, t, GOLD[row, t]]) for row, t in tokens)
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6


@torch.no_grad()
def test_softmax_takes_the_best_tag_of_each_token(states: Tensor) -> None:
    head = make_head("softmax", free(3))
    expected = head.linear(states).argmax(2).masked_fill(~MASK, 0)
    assert torch.equal(head.decode(states, MASK), expected)
