"""The language-model loss: its value by a loop, its gradient, and the laws of padding."""

import math

import pytest
import torch
from torch import Tensor, nn

from tagkit.nn.softmax.language_loss import LanguageLoss, NeighbourLoss, Sides

FEATURES, WORDS, TIME = 3, 6, 5
LENGTHS = (5, 1, 3, 2)
MASK = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 0.0], dtype=torch.float64)
KINDS = ("words", "characters")


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loss(
    *kinds: str, weight: float = 1.0, per_token: bool = True, two: bool = True
) -> LanguageLoss:
    torch.manual_seed(2)
    found = LanguageLoss(
        weight=weight,
        per_token=per_token,
        words=WORDS,
        parts=dict.fromkeys(kinds, (FEATURES, two)),
    ).double()
    for parameter in found.parameters():
        nn.init.normal_(parameter)
    return found


def sides(*, two: bool = True) -> dict[str, Sides]:
    batch = len(LENGTHS)
    return {
        kind: (
            drawn(batch, TIME, FEATURES, seed=n),
            drawn(batch, TIME, FEATURES, seed=n + 2) if two else None,
        )
        for n, kind in enumerate(KINDS)
    }


def word_ids() -> Tensor:
    return torch.randint(WORDS, MASK.shape, generator=torch.Generator().manual_seed(5))


def by_loop(
    part: NeighbourLoss, kind: str, states: Sides, of_words: Tensor, weights: Tensor
) -> float:
    """The formulas of the module, token by token."""
    total = 0.0
    for row, length in enumerate(LENGTHS):
        for predictor, state, step in ((part.ahead, states[0], 1), (part.back, states[1], -1)):
            for t in range(length):
                if predictor is None or not 0 <= t + step < length:
                    continue
                assert state is not None
                s, layer = state[row, t], predictor.transform
                inner = layer.linear.weight @ s + layer.linear.bias
                if kind == "words":
                    m = torch.tanh(inner)
                else:
                    gate = torch.sigmoid(layer.highway.gate.weight @ s + layer.highway.gate.bias)
                    m = gate * torch.relu(inner) + (1 - gate) * s
                scores = (predictor.output.weight @ m + predictor.output.bias).tolist()
                exps = [math.exp(score) for score in scores]
                word = int(of_words[row, t + step])
                total -= float(weights[row]) * math.log(exps[word] / sum(exps))
    return total


@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_equals_a_loop_over_tokens(kind: str, two: bool) -> None:
    ours, states, ids = loss(kind, weight=0.3, two=two), sides(two=two), word_ids()
    (part,) = ours.parts.values()
    expected = by_loop(part, kind, states[kind], ids, WEIGHTS)
    assert ours(states, ids, MASK, WEIGHTS).item() == pytest.approx(0.3 * expected, rel=1e-12)
    assert expected > 0


def test_both_kinds_add_up_and_a_target_per_sentence_takes_the_mean_of_its_tokens() -> None:
    states, ids = sides(), word_ids()
    both = loss(*KINDS)
    expected = sum(
        by_loop(both.parts[kind], kind, states[kind], ids, torch.ones(4)) for kind in KINDS
    )
    assert both(states, ids, MASK, None).item() == pytest.approx(expected, rel=1e-12)
    mean = loss("words", per_token=False)
    expected = by_loop(mean.parts["words"], "words", states["words"], ids, WEIGHTS / MASK.sum(1))
    assert mean(states, ids, MASK, WEIGHTS).item() == pytest.approx(expected, rel=1e-12)


def test_every_parameter_gets_a_gradient() -> None:
    ours = loss(*KINDS)
    ours(sides(), word_ids(), MASK, None).backward()
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_padding_has_no_part_in_it_and_a_sentence_costs_the_same_alone_and_in_a_batch() -> None:
    ours, ids = loss(*KINDS), word_ids()
    states = {
        kind: tuple(one.requires_grad_() for one in pair if one is not None)
        for kind, pair in sides().items()
    }
    clean = ours(states, ids, MASK, WEIGHTS)
    broken = {
        kind: tuple(
            one.detach().masked_fill(~MASK.unsqueeze(2), math.nan).requires_grad_() for one in pair
        )
        for kind, pair in states.items()
    }
    found = ours(broken, ids.masked_fill(~MASK, 0), MASK, WEIGHTS)
    assert torch.equal(found, clean)
    ours.zero_grad()
    found.backward()
    for parameter in ours.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    for pair in broken.values():
        for one in pair:
            assert one.grad is not None
            assert not one.grad[~MASK].any()
            assert one.grad[0].any()
    alone = sum(
        ours(
            {kind: tuple(one[row : row + 1, :length] for one in both)
             for kind, both in states.items()},
            ids[row : row + 1, :length], MASK[row : row + 1, :length], WEIGHTS[row : row + 1],
        )
        for row, length in enumerate(LENGTHS)
    )  # fmt: skip
    torch.testing.assert_close(alone, clean)


def test_sentences_of_one_word_predict_nothing() -> None:
    ours = loss(*KINDS)
    one = {
        kind: tuple(side[:, :1] for side in pair if side is not None)
        for kind, pair in sides().items()
    }
    found = ours(one, word_ids()[:, :1], MASK[:, :1], None)
    found.backward()
    assert found.item() == 0
    assert all(not parameter.grad.any() for parameter in ours.parameters())
