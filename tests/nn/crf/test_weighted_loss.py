"""Weights of tags in the loss: enumeration, and the losses that it must equal."""

import itertools
import math
from pathlib import Path

import pytest
import tiny
import torch
from says import refuses
from torch import Tensor, nn

from tagkit.config import load_config
from tagkit.errors import ConfigError, DataError
from tagkit.nn.crf import scaled
from tagkit.nn.crf import weighted_loss as module
from tagkit.nn.crf.chain import Chain, path_score
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

TAGS, TIME = 3, 4


def chain(seed: int) -> tuple[Chain, Tensor]:
    """Two sentences, of four tokens and of two, and their gold paths."""
    dice = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=dice, dtype=torch.float64, requires_grad=True)

    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    gold = torch.randint(TAGS, (2, TIME), generator=dice)
    return Chain(draw(2, TIME, TAGS), draw(TAGS, TAGS), draw(TAGS), draw(TAGS), mask), gold


def enumerated(chain: Chain, gold: Tensor, weights: Tensor, row: int) -> float:
    """- sum of w[y[t]] log p(y[t] | y[t-1], x), each factor from sums over all paths."""
    length = int(chain.mask[row].sum())
    path = gold[row, :length].tolist()

    def score(path: tuple[int, ...]) -> float:
        total = chain.start[path[0]] + chain.end[path[-1]]
        total = total + sum(chain.emissions[row, t, tag] for t, tag in enumerate(path))
        return float(
            (total + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))).detach()
        )

    def mass(at: dict[int, int]) -> float:
        return sum(math.exp(score(p)) for p in itertools.product(range(TAGS), repeat=length)
                   if all(p[t] == tag for t, tag in at.items()))  # fmt: skip

    total = 0.0
    for t in range(length):
        before = {t - 1: path[t - 1]} if t else {}
        total -= float(weights[path[t]]) * math.log(mass({**before, t: path[t]}) / mass(before))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_weighted_loss_equals_enumeration(seed: int) -> None:
    scores, gold = chain(seed)
    weights = torch.tensor([0.5, 3.0, 1.25])
    found = weighted_loss(scores, gold, weights).detach()
    for row in range(2):
        assert float(found[row]) == pytest.approx(enumerated(scores, gold, weights, row))


def test_with_weights_of_one_it_is_the_chains_loss_and_has_its_gradient() -> None:
    scores, gold = chain(7)
    parts = (scores.emissions, scores.transitions, scores.start, scores.end)
    mine = weighted_loss(scores, gold, torch.ones(TAGS)).sum()
    theirs = (log_partition(scores) - path_score(scores, gold)).sum()
    torch.testing.assert_close(mine, theirs)
    for one, other in zip(
        torch.autograd.grad(mine, parts), torch.autograd.grad(theirs, parts), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_without_transitions_it_is_the_weighted_cross_entropy() -> None:
    scores, gold = chain(3)
    zero = torch.zeros(TAGS, dtype=torch.float64)
    flat = Chain(scores.emissions, torch.zeros(TAGS, TAGS).double(), zero, zero, scores.mask)
    weights = torch.tensor([0.5, 3.0, 1.25], dtype=torch.float64)
    expected = nn.functional.cross_entropy(
        scores.emissions[scores.mask], gold[scores.mask], weight=weights, reduction="sum"
    )
    torch.testing.assert_close(weighted_loss(flat, gold, weights).sum(), expected)


def test_gradients_are_right_and_finite_with_forbidden_steps() -> None:
    scores, gold = chain(5)
    weights = torch.tensor([0.5, 3.0, 1.25], dtype=torch.float64)

    def loss(emissions: Tensor, transitions: Tensor) -> Tensor:
        return weighted_loss(
            Chain(emissions, transitions, scores.start, scores.end, scores.mask), gold, weights
        )

    assert torch.autograd.gradcheck(loss, (scores.emissions, scores.transitions))
    forbidden = scores.transitions.detach().clone()
    forbidden[1] = -torch.inf  # nothing follows tag 1
    gold = torch.tensor([[0, 2, 2, 1], [2, 0, 0, 0]])
    found = loss(scores.emissions, forbidden)
    assert torch.isfinite(found).all()
    (gradient,) = torch.autograd.grad(found.sum(), scores.emissions)
    assert torch.isfinite(gradient).all()


def forbidding(seed: int) -> tuple[Chain, Tensor, Tensor]:
    """A chain with forbidden steps, gold paths without one, and weights."""
    scores, gold = chain(seed)
    scores.transitions.data[1, 2] = scores.start.data[1] = scores.end.data[2] = -torch.inf
    gold = torch.tensor([[0, 2, 1, 0], [2, 1, 0, 0]])
    return scores, gold, torch.tensor([0.5, 3.0, 1.25], dtype=torch.float64)


def value_and_gradients(chain: Chain, gold: Tensor, weights: Tensor) -> list[Tensor]:
    found = weighted_loss(chain, gold, weights)
    parts = (chain.emissions, chain.transitions, chain.start, chain.end)
    return [found, *torch.autograd.grad(found @ torch.tensor([1.0, -2.0]).double(), parts)]


@pytest.mark.parametrize("seed", range(3))
def test_with_forbidden_steps_scaled_products_and_logarithms_agree(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = forbidding(seed)
    monkeypatch.setattr(module, "_log_loss", None)
    found = value_and_gradients(*given)
    for row in range(2):
        expected = enumerated(*given, row)
        assert float(found[0][row].detach()) == pytest.approx(expected)
    monkeypatch.undo()
    monkeypatch.setattr(scaled, "SAFE_SPREAD", -1.0)
    monkeypatch.setattr(module, "_scaled_loss", None)
    for one, other in zip(found, value_and_gradients(*given), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("row", [0, 1])
def test_a_sentence_of_extreme_scores_is_computed_in_logarithms_in_its_place(
    row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, gold, weights = forbidding(4)
    scores.emissions.data[row] *= 1e4
    sizes = []
    in_logarithms = module._log_loss

    def counted(chain: Chain, *others: Tensor) -> Tensor:
        sizes.append(len(chain.mask))
        return in_logarithms(chain, *others)

    monkeypatch.setattr(module, "_log_loss", counted)
    found = value_and_gradients(scores, gold, weights)
    assert sizes == [1]
    monkeypatch.setattr(scaled, "SAFE_SPREAD", -1.0)
    for one, other in zip(found, value_and_gradients(scores, gold, weights), strict=True):
        torch.testing.assert_close(one, other)


def test_padding_even_nan_never_leaks() -> None:
    scores, gold = chain(2)
    weights = torch.tensor([0.5, 3.0, 1.25])
    clean = weighted_loss(scores, gold, weights)
    spoilt = scores.emissions.detach().clone()
    spoilt[~scores.mask] = torch.nan
    dirty = Chain(spoilt, scores.transitions, scores.start, scores.end, scores.mask)
    torch.testing.assert_close(weighted_loss(dirty, gold, weights), clean)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["crf", "softmax", "feedback"])
def test_a_label_that_weighs_more_is_found_more_often(tmp_path: Path, head: str) -> None:
    recalls = []
    for weight in ("0.05", "20"):
        trained = train(
            tiny.config(
                tmp_path, f"head.kind={head}", f"head.label_weights={{PER={weight}}}",
                "train.max_epochs=2", "embeddings.min_count=2", "head.feature_crf=0",
            ),
            force=True,
        )  # fmt: skip
        recalls.append(trained.dev.types["PER"].recall)
    assert recalls[1] > recalls[0]


def test_weights_go_to_all_tags_of_a_label(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "head.label_weights={PER=4.0, O=0.5}")
    run = prepare(config, torch.device("cpu"))
    assert run.model.head is not None
    assert run.model.head.tag_weights is not None
    found = dict(zip(run.vocabulary.tags, run.model.head.tag_weights.tolist(), strict=True))
    assert found["O"] == 0.5
    assert {found[tag] for tag in found if tag.endswith("PER")} == {4.0}
    assert {found[tag] for tag in found if tag.endswith("LOC")} == {1.0}


def test_a_classifier_has_no_labels_of_tokens_to_weigh() -> None:
    with refuses(ConfigError, "head.class_weights", "classes"):
        load_config(overrides=["task=classify", "head.label_weights={a=2.0}"])


def test_a_label_that_there_is_not_is_named(tmp_path: Path) -> None:
    with refuses(DataError, "head.label_weights", "train.conll"):
        prepare(tiny.config(tmp_path, "head.label_weights={PRE=4.0}"), torch.device("cpu"))
