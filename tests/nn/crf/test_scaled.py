"""Scaled products with forbidden steps: as exact as logarithms, or marked as not safe."""

import math

import pytest
import torch
from torch import Tensor

from tagkit.models.tagging.tag_head import illegal_steps
from tagkit.nn.crf import partition
from tagkit.nn.crf.chain import Chain, in_double
from tagkit.nn.crf.log_space import log_counts, log_messages
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.scaled import Scores, scaled_forward

MASK = torch.arange(30) < torch.tensor([30, 30, 17, 1])[:, None]
TAGS = ("O", *(f"{prefix}-{label}" for label in "ABCD" for prefix in "BI"))


def constrained(scheme: str, scale: float) -> Chain:
    """Random scores; steps that a scheme forbids are minus infinity."""
    generator = torch.Generator().manual_seed(1)
    tags = tuple(tag for tag in TAGS if scheme == "iob2" or tag[0] != "B")
    illegal = illegal_steps(tags, scheme)

    def scores(*shape: int) -> Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    size = len(tags)
    return Chain(
        scores(4, 30, size),
        scores(size, size) + illegal.transitions,
        scores(size) + illegal.start,
        scores(size) + illegal.end,
        MASK,
    )


def safe(chain: Chain) -> list[bool]:
    found = scaled_forward(Scores.of(chain))
    return [] if found is None else found.safe.tolist()


def expect_exact(chain: Chain) -> None:
    """The log-partition and its gradient are those of sums of exponentials."""
    parts = [
        part.clone().requires_grad_()
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    weights = torch.arange(1.0, len(chain.mask) + 1).double()
    total = log_partition(Chain(*parts, chain.mask))
    found = torch.autograd.grad(total @ weights, parts)
    exact = in_double(chain)
    messages = log_messages(exact)
    torch.testing.assert_close(total, messages.log_partition, rtol=1e-12, atol=1e-9)
    for one, other in zip(found, log_counts(exact, messages, weights), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scheme", ["iob2", "iob1"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_constraints_of_a_scheme_leave_every_sentence_to_scaled_products(
    scheme: str, scale: float
) -> None:
    chain = constrained(scheme, scale)
    assert safe(chain) == [True] * 4
    expect_exact(chain)


def drifting(lead: float) -> Chain:
    """Two tags that no step joins: in sentence 0 tag 0 leads by `lead`, then tag 1 makes up."""
    emissions = torch.zeros(2, 30, 2, dtype=torch.float64)
    emissions[0, :15, 0] = emissions[0, 15:, 1] = lead / 15
    apart = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]]).double()
    free = torch.zeros(2, dtype=torch.float64)
    return Chain(emissions, apart, free, free, MASK[:2])


@pytest.mark.parametrize(("lead", "held"), [(340.0, True), (360.0, False), (3000.0, False)])
def test_tags_that_drift_too_far_apart_are_found_in_their_sentence_alone(
    lead: float, held: bool
) -> None:
    chain = drifting(lead)
    assert safe(chain) == [held, True]
    expect_exact(chain)
    assert float(log_partition(chain)[0]) == pytest.approx(lead + math.log(2), abs=1e-9)


def test_only_the_sentences_that_need_it_are_computed_in_logarithms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []
    in_logarithms = partition.log_messages

    def counted(chain: Chain) -> object:
        sizes.append(len(chain.mask))
        return in_logarithms(chain)

    monkeypatch.setattr(partition, "log_messages", counted)
    log_partition(drifting(3000.0))
    assert sizes == [1]
    log_partition(drifting(10.0))
    assert sizes == [1]


def test_a_sentence_of_far_scores_is_scaled_as_often_beside_one_that_is_not_safe() -> None:
    # 250 nats apart, so that eight steps without a scaling would shrink by exp(-2000).
    emissions = torch.zeros(2, 30, 2, dtype=torch.float64)
    emissions[0, ::2, 0] = emissions[0, 1::2, 1] = 250
    apart = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]]).double()
    free = torch.zeros(2, dtype=torch.float64)
    alone = Chain(emissions[:1].clone(), apart, free, free, MASK[:1])
    emissions[1, 3, 1] = 1e4
    both = Chain(emissions, apart, free, free, MASK[:2])
    assert safe(alone) == [True]
    assert safe(both) == [True, False]
    assert log_partition(both)[0] == log_partition(alone)[0]
    expect_exact(both)


@pytest.mark.parametrize(("apart", "held"), [(140.0, True), (160.0, False)])
def test_steps_are_as_far_apart_as_the_allowed_ones(apart: float, held: bool) -> None:
    chain = constrained("iob2", 0.1)
    chain.transitions[0, :2] = torch.tensor([apart, -apart]).double()  # from O to O and B-A
    chain.transitions.add_(500)
    # At one token alone nothing can be lost by steps that are less than 300 nats apart.
    assert safe(chain)[3:] == ([True] if held else [])
    expect_exact(chain)


def test_the_betas_of_tags_that_no_path_reaches_never_overflow() -> None:
    emissions = torch.zeros(1, 30, 2, dtype=torch.float64)
    emissions[..., 1] = 200  # exp(200 x 29) is no float64
    never = -torch.inf
    chain = Chain(
        emissions,
        torch.tensor([[0.0, never], [0.0, 0.0]]).double(),
        torch.tensor([0.0, never]).double(),
        torch.zeros(2).double(),
        MASK[:1],
    )
    assert safe(chain) == [True]
    expect_exact(chain)


@pytest.mark.parametrize("scale", [1.0, 1e4, -1e4])
def test_where_one_path_is_allowed_it_is_the_sum(scale: float) -> None:
    # Tags 0 1 2 0 1 2 ...: each has one successor, and one tag may begin.
    never = torch.full((3, 3), -torch.inf).double()
    for before in range(3):
        never[before, (before + 1) % 3] = 0.5
    start = torch.tensor([0.25, -torch.inf, -torch.inf]).double()
    emissions = scale * torch.randn(
        4, 30, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    chain = Chain(emissions, never, start, torch.zeros(3).double(), MASK)
    path = torch.arange(30) % 3
    taken = emissions.gather(2, path.expand(4, 30).unsqueeze(2)).squeeze(2).masked_fill(~MASK, 0)
    expected = 0.25 + taken.sum(1) + 0.5 * (MASK.sum(1) - 1)
    torch.testing.assert_close(log_partition(chain), expected, rtol=1e-12, atol=1e-9)
    expect_exact(chain)
