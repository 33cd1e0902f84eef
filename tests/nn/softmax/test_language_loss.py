"""The language-model loss: its value by a loop, its gradient, and the laws of padding."""

import math

import pytest
import torch
from torch import Tensor, nn

from tagkit.nn.softmax.language_loss import LanguageLoss, Sides

FEATURES, WORDS, TIME = 3, 6, 5
LENGTHS = (5, 1, 3, 2)
MASK = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 0.0], dtype=torch.float64)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loss(*, weight: float = 1.0, per_token: bool = True, two: bool = True) -> LanguageLoss:
    torch.manual_seed(2)
    found = LanguageLoss(
        weight=weight, per_token=per_token, words=WORDS, features=FEATURES, backwards=two
    ).double()
    for parameter in found.parameters():
        nn.init.normal_(parameter)
    return found


def sides(*, two: bool = True) -> Sides:
    shape = len(LENGTHS), TIME, FEATURES
    return drawn(*shape, seed=0), drawn(*shape, seed=2) if two else None


def word_ids() -> Tensor:
    return torch.randint(WORDS, MASK.shape, generator=torch.Generator().manual_seed(5))


def by_loop(ours: LanguageLoss, states: Sides, of_words: Tensor, weights: Tensor) -> float:
    """The formulas of the module, token by token."""
    total, part = 0.0, ours.parts["words"]
    for row, length in enumerate(LENGTHS):
        for predictor, state, step in ((part.ahead, states[0], 1), (part.back, states[1], -1)):
            for t in range(length):
                if predictor is None or not 0 <= t + step < length:
                    continue
                assert state is not None
                layer = predictor.transform.linear
                m = torch.tanh(layer.weight @ state[row, t] + layer.bias)
                scores = (predictor.output.weight @ m + predictor.output.bias).tolist()
                exps = [math.exp(score) for score in scores]
                word = int(of_words[row, t + step])
                total -= float(weights[row]) * math.log(exps[word] / sum(exps))
    return total


@pytest.mark.parametrize("two", [True, False])
def test_the_loss_equals_a_loop_over_tokens(two: bool) -> None:
    ours, states, ids = loss(weight=0.3, two=two), sides(two=two), word_ids()
    expected = by_loop(ours, states, ids, WEIGHTS)
    assert ours(states, ids, MASK, WEIGHTS).item() == pytest.approx(0.3 * expected, rel=1e-12)
    assert expected > 0


def test_a_target_per_sentence_takes_the_mean_of_its_tokens() -> None:
    states, ids, mean = sides(), word_ids(), loss(per_token=False)
    expected = by_loop(mean, states, ids, WEIGHTS / MASK.sum(1))
    assert mean(states, ids, MASK, WEIGHTS).item() == pytest.approx(expected, rel=1e-12)


def test_every_parameter_gets_a_gradient() -> None:
    ours = loss()
    ours(sides(), word_ids(), MASK, None).backward()
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_padding_has_no_part_in_it_and_a_sentence_costs_the_same_alone_and_in_a_batch() -> None:
    ours, ids, states = loss(), word_ids(), sides()
    clean = ours(states, ids, MASK, WEIGHTS)
    broken = tuple(
        one.masked_fill(~MASK.unsqueeze(2), math.nan).requires_grad_()
        for one in states
        if one is not None
    )
    found = ours(broken, ids.masked_fill(~MASK, 0), MASK, WEIGHTS)
    assert torch.equal(found, clean)
    found.backward()
    for parameter in ours.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    for one in broken:
        assert one.grad is not None
        assert not one.grad[~MASK].any()
        assert one.grad[0].any()
    alone = sum(
        ours(
            tuple(one[row : row + 1, :length] for one in states if one is not None),
            ids[row : row + 1, :length], MASK[row : row + 1, :length], WEIGHTS[row : row + 1],
        )
        for row, length in enumerate(LENGTHS)
    )  # fmt: skip
    torch.testing.assert_close(alone, clean)


def test_sentences_of_one_word_predict_nothing() -> None:
    ours = loss()
    one = tuple(side[:, :1] for side in sides() if side is not None)
    found = ours(one, word_ids()[:, :1], MASK[:, :1], None)
    found.backward()
    assert found.item() == 0
    assert all(not parameter.grad.any() for parameter in ours.parameters())
