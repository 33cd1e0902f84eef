"""The head of classes: its scores, its loss, its weights."""

import math

import pytest
import torch
from torch import Tensor, nn

from tagkit.nn.heads import POOLINGS
from tagkit.nn.heads.classification import ACTIVATIONS, ClassHead, balanced_weights

MASK = torch.tensor([[True, True, True], [True, False, False], [True, True, False]])
TARGETS = torch.tensor([[True, False, False], [False, False, True], [False, True, False]])
SEVERAL = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])


@pytest.fixture
def states() -> Tensor:
    states = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(1))
    return states.masked_fill(~MASK.unsqueeze(2), torch.nan)


@pytest.fixture
def final() -> Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(2))


def head(pooling: str = "max", **changes: object) -> ClassHead:
    torch.manual_seed(3)
    options: dict[str, object] = {
        "pooling": POOLINGS[pooling](4), "hidden": (), "activation": "relu",
        "dropout": 0.0, "classes": 3, "several": False, "label_smoothing": 0.0,
        "class_weights": torch.ones(3),
    }  # fmt: skip
    return ClassHead(**{**options, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.5, 2.0, 3.0)])
def test_the_loss_of_one_class_is_torchs_cross_entropy(
    smoothing: float, weights: tuple[float, ...], states: Tensor, final: Tensor
) -> None:
    ours = head(label_smoothing=smoothing, class_weights=torch.tensor(weights))
    total, count = ours.loss(states, final, MASK, TARGETS)
    expected = nn.functional.cross_entropy(
        ours.scores(states, final, MASK)[0], TARGETS.int().argmax(1), torch.tensor(weights),
        reduction="sum", label_smoothing=smoothing,
    )  # fmt: skip
    torch.testing.assert_close(total, expected)
    assert int(count) == 3


def test_the_loss_of_several_classes_is_that_of_each_by_itself(
    states: Tensor, final: Tensor
) -> None:
    weights = torch.tensor([0.5, 2.0, 3.0])
    ours = head(several=True, class_weights=weights)
    total, count = ours.loss(states, final, MASK, SEVERAL)
    probs = ours.probabilities(ours.scores(states, final, MASK)[0]).detach()
    expected = 0.0
    for row in range(3):
        for label in range(3):
            p = probs[row, label].item()
            expected -= float(weights[label]) * math.log(p if SEVERAL[row, label] else 1 - p)
    assert total.item() == pytest.approx(expected, rel=1e-5)
    assert int(count) == 3


def test_smoothing_pulls_each_of_several_classes_towards_one_half(
    states: Tensor, final: Tensor
) -> None:
    ours = head(several=True, label_smoothing=0.2)
    total, _ = ours.loss(states, final, MASK, SEVERAL)
    scores, _ = ours.scores(states, final, MASK)
    expected = nn.functional.binary_cross_entropy_with_logits(
        scores, torch.where(SEVERAL, 0.9, 0.1), reduction="sum"
    )
    torch.testing.assert_close(total, expected)


def test_probabilities_sum_to_one_over_classes_unless_there_may_be_several(
    states: Tensor, final: Tensor
) -> None:
    scores, _ = head().scores(states, final, MASK)
    torch.testing.assert_close(head().probabilities(scores), scores.softmax(1))
    torch.testing.assert_close(head(several=True).probabilities(scores), scores.sigmoid())


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_feed_forward_layers_stand_in_the_order_of_the_option(
    activation: str, states: Tensor, final: Tensor
) -> None:
    ours = head(hidden=(5, 2), activation=activation, dropout=0.5).eval()
    sizes = [(x.in_features, x.out_features) for x in ours.layers if isinstance(x, nn.Linear)]
    assert sizes == [(4, 5), (5, 2), (2, 3)]
    assert [x.p for x in ours.layers if isinstance(x, nn.Dropout)] == [0.5] * 3
    first, second, last = (x for x in ours.layers if isinstance(x, nn.Linear))
    act = ACTIVATIONS[activation]()
    vector, _ = ours.pooling(states, final, MASK)
    expected = last(act(second(act(first(vector)))))
    torch.testing.assert_close(ours.scores(states, final, MASK)[0], expected)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("several", [False, True])
def test_every_parameter_gets_a_gradient(
    pooling: str, several: bool, states: Tensor, final: Tensor
) -> None:
    ours = head(pooling, hidden=(8,), activation="tanh", several=several)
    total, _ = ours.loss(states, final, MASK, SEVERAL if several else TARGETS)
    total.backward()
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name


def test_balanced_weights_make_all_classes_count_alike() -> None:
    targets = torch.tensor([[1, 0], [1, 0], [1, 0], [0, 1]]).bool()
    weights = balanced_weights(targets)
    torch.testing.assert_close(weights, torch.tensor([4 / 6, 2.0]))
    assert float((targets.float() @ weights).mean()) == pytest.approx(1)
    assert float(targets[:, 0].sum() * weights[0]) == pytest.approx(float(weights[1]))
