"""Every way to pool states, against a plain loop."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from tagkit.config import HeadConfig, allowed
from tagkit.nn.heads import POOLINGS
from tagkit.nn.heads.pooling import AttentionPooling, MemoryPooling, Pooling

LENGTHS = (4, 1, 3, 2)
MASK = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)


@pytest.fixture
def states() -> Tensor:
    return torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def final() -> Tensor:
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(2))


def pooling(kind: str) -> Pooling:
    torch.manual_seed(3)
    layer = POOLINGS[kind](3)
    if kind == "memory":
        layer.hops = 3
        torch.nn.init.normal_(layer.get_parameter("kept.weight"))
    return layer


def test_the_configuration_allows_the_poolings_of_the_table() -> None:
    assert allowed(HeadConfig, "pooling") == ("auto", *POOLINGS)


def by_hand(
    kind: str, layer: Pooling, states: list[list[float]], final: list[float]
) -> list[float]:
    """One text's vector, number by number."""
    columns = list(zip(*states, strict=True))
    mean = [sum(column) / len(states) for column in columns]
    largest = [max(column) for column in columns]
    if isinstance(layer, MemoryPooling):
        return hops_by_hand(layer, states, final)
    if not isinstance(layer, AttentionPooling):
        parts = {"last": final, "mean": mean, "max": largest}
        parts |= {"mean+max": mean + largest, "concat": final + mean + largest}
        return parts[kind]
    keys, query = layer.keys, layer.query.weight[0].tolist()
    scores = []
    for state in states:
        rows = zip(keys.weight.tolist(), keys.bias.tolist(), strict=True)
        hidden = [math.tanh(sum(w * x for w, x in zip(row, state)) + b) for row, b in rows]  # noqa: B905
        score = sum(q * h for q, h in zip(query, hidden, strict=True))
        scores.append(score / math.sqrt(3) if kind == "scaled-attention" else score)
    total = sum(math.exp(score) for score in scores)
    shares = [math.exp(score) / total for score in scores]
    return [sum(a * x for a, x in zip(shares, column, strict=True)) for column in columns]


def hops_by_hand(
    layer: MemoryPooling, states: list[list[float]], final: list[float]
) -> list[float]:
    """The vector that three hops end with."""
    a, c, h = (
        each.weight.detach().double().numpy() for each in (layer.keys, layer.values, layer.kept)
    )
    u = np.array(final)
    for _ in range(3):
        scores = [u @ (a @ np.array(state)) for state in states]
        p = np.exp(scores) / np.exp(scores).sum()
        o = sum(share * (c @ np.array(state)) for share, state in zip(p, states, strict=True))
        u = h @ u + o
    return [float(value) for value in u]


@pytest.mark.parametrize("kind", POOLINGS)
def test_every_pooling_is_what_a_plain_loop_finds(kind: str, states: Tensor, final: Tensor) -> None:
    layer = pooling(kind)
    found, _ = layer(states, final, MASK)
    assert found.shape == (4, layer.outputs)
    for row, length in enumerate(LENGTHS):
        expected = by_hand(kind, layer, states[row, :length].tolist(), final[row].tolist())
        torch.testing.assert_close(found[row], torch.tensor(expected))


@pytest.mark.parametrize("kind", POOLINGS)
def test_padding_even_nan_never_leaks_into_a_vector_or_a_gradient(
    kind: str, states: Tensor, final: Tensor
) -> None:
    results = []
    for filler in (0.0, 1e9, torch.nan, torch.inf):
        layer = pooling(kind)
        given = states.masked_fill(~MASK.unsqueeze(2), filler).requires_grad_()
        last = final.clone().requires_grad_()
        found, _ = layer(given, last, MASK)
        found.square().sum().backward()
        touched = given.grad if given.grad is not None else torch.zeros_like(states)
        assert not touched[~MASK].any()
        results.append([found, touched, *(p.grad for p in layer.parameters())])
    for others in results[1:]:
        for ours, theirs in zip(results[0], others, strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", POOLINGS)
def test_a_text_gets_the_same_vector_alone_and_in_a_batch(
    kind: str, states: Tensor, final: Tensor
) -> None:
    layer = pooling(kind)
    together, _ = layer(states, final, MASK)
    for row, length in enumerate(LENGTHS):
        mask = torch.ones(1, length, dtype=torch.bool)
        alone, _ = layer(states[row : row + 1, :length], final[row : row + 1], mask)
        torch.testing.assert_close(alone[0], together[row])


def test_hops_of_a_memory_are_those_of_the_equations_in_64_bits_and_so_are_their_gradients() -> (
    None
):
    layer = pooling("memory").double()
    assert isinstance(layer, MemoryPooling)
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(4, 4, 3, generator=generator, dtype=torch.float64)
    final = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    found, weights = layer(states, final, MASK)
    for row, length in enumerate(LENGTHS):
        expected = hops_by_hand(layer, states[row, :length].tolist(), final[row].tolist())
        np.testing.assert_allclose(found[row].detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    # The attention that people see is that of the last hop.
    layer.hops = 2
    asked, _ = layer(states, final, MASK)
    layer.hops = 1
    torch.testing.assert_close(layer(states, asked, MASK)[1], weights)
    layer.hops = 3
    given = (states.requires_grad_(), final.requires_grad_(), *layer.parameters())
    assert torch.autograd.gradcheck(lambda one, last, *_: layer(one, last, MASK)[0], given)


def test_a_memory_begins_with_hops_that_add_to_what_is_known() -> None:
    assert torch.equal(POOLINGS["memory"](3).get_parameter("kept.weight"), torch.eye(3))


@pytest.mark.parametrize("kind", ["attention", "scaled-attention", "memory"])
def test_the_shares_of_attention_sum_to_one_and_padding_has_none(
    kind: str, states: Tensor, final: Tensor
) -> None:
    _, weights = pooling(kind)(states, final, MASK)
    torch.testing.assert_close(weights.sum(1), torch.ones(4))
    assert not weights[~MASK].any()
    assert bool((weights[MASK] > 0).all())
    assert weights[1, 0] == 1  # a text of one word


@pytest.mark.parametrize("kind", POOLINGS)
def test_saved_and_loaded_weights_give_the_same_vector(
    kind: str, states: Tensor, final: Tensor
) -> None:
    saved = pooling(kind)
    torch.manual_seed(4)
    loaded = POOLINGS[kind](3)
    loaded.hops = saved.hops
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved(states, final, MASK)[0], loaded(states, final, MASK)[0])


@pytest.mark.parametrize("kind", POOLINGS)
def test_every_parameter_gets_a_gradient(kind: str, states: Tensor, final: Tensor) -> None:
    layer = pooling(kind)
    layer(states.requires_grad_(), final.requires_grad_(), MASK)[0].square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name


def test_names_of_saved_parameters_are_those_of_earlier_versions() -> None:
    saved = {kind: list(pooling(kind).state_dict()) for kind in POOLINGS}
    of_attention = ["keys.weight", "keys.bias", "query.weight"]
    with_weights = {kind: names for kind, names in saved.items() if names}
    assert with_weights == {
        "attention": of_attention, "scaled-attention": of_attention,
        "memory": ["keys.weight", "values.weight", "kept.weight"],
    }  # fmt: skip
