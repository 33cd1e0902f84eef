"""The log-partition as a product of matrices in pairs: the same as step by step."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tagkit.nn.crf import partition as module
from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.partition import log_partition, tree_partition
from tests.support.pretended_gpu import pretended_gpu


def drawn(seed: int, lengths: list[int], tags: int, forbidden: float, scale: float) -> Chain:
    dice = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> Tensor:
        return scale * torch.randn(*shape, generator=dice, dtype=torch.float64)

    transitions = scores(tags, tags)
    transitions[torch.rand(tags, tags, generator=dice) < forbidden] = -torch.inf
    transitions.fill_diagonal_(0.5)  # every sentence has a path
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    emissions = scores(*mask.shape, tags).masked_fill(~mask.unsqueeze(2), torch.nan)
    return Chain(emissions, transitions, scores(tags), scores(tags), mask)


def value_and_gradients(way: object, chain: Chain) -> list[Tensor]:
    parts = [
        part.clone().requires_grad_()
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    total = way(Chain(*parts, chain.mask))  # type: ignore[operator]
    weights = torch.arange(1.0, len(total) + 1)
    return [total, *torch.autograd.grad(total @ weights.to(total), parts, materialize_grads=True)]


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 20), min_size=1, max_size=4),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.1, 1.0, 10.0]),
)
def test_pairs_of_matrices_give_the_sum_and_the_gradient_of_steps(
    seed: int, lengths: list[int], tags: int, forbidden: float, scale: float
) -> None:
    chain = drawn(seed, lengths, tags, forbidden, scale)
    ours, theirs = (value_and_gradients(way, chain) for way in (tree_partition, log_partition))
    for found, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found.nan_to_num(0), expected.nan_to_num(0))


class Largest(TorchDispatchMode):
    """Remembers the bytes of the largest tensor that was computed."""

    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for part in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(part, Tensor):
                self.bytes = max(self.bytes, part.untyped_storage().nbytes())
        return found


BATCH, TIME, TAGS = 3, 60, 9
STEP = 8 * BATCH * TAGS * TAGS  # bytes of one step's matrices


# 31 is odd: the last matrix would get a partner for which there is no room.
@pytest.mark.parametrize("steps", [59, 31, 16, 8])
def test_stretches_of_any_length_give_the_same_within_their_bound(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = drawn(2, [TIME, 41, 1], TAGS, 0.2, 1.0)
    expected = value_and_gradients(log_partition, chain)
    monkeypatch.setattr(module, "_CHUNK_BYTES", STEP * steps)
    monkeypatch.setattr(module, "_in_turn", None)
    with Largest() as largest:
        # 59 matrices are odd too, so they take two stretches.
        found = value_and_gradients(tree_partition, chain)
    assert STEP * 4 < largest.bytes <= STEP * steps
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.nan_to_num(0), other.nan_to_num(0))


def test_where_few_matrices_have_room_none_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = drawn(3, [TIME, 41, 1], TAGS, 0.2, 1.0)
    expected = value_and_gradients(log_partition, chain)
    monkeypatch.setattr(module, "_CHUNK_BYTES", STEP * 7)
    monkeypatch.setattr(module, "_in_pairs", None)
    with Largest() as largest:
        found = value_and_gradients(tree_partition, chain)
    assert largest.bytes == 8 * BATCH * TIME * TAGS  # the emissions
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.nan_to_num(0), other.nan_to_num(0))


def test_where_there_is_too_much_to_multiply_steps_are_taken_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = drawn(4, [TIME, 41, 1], TAGS, 0.2, 1.0)
    expected = value_and_gradients(log_partition, chain)
    # 59 steps have 64 matrices with their padding.
    monkeypatch.setattr(module, "_MULTIPLICATIONS", 64 * BATCH * TAGS**3 - 1)
    monkeypatch.setattr(module, "_in_pairs", None)
    found = value_and_gradients(tree_partition, chain)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.nan_to_num(0), other.nan_to_num(0))


@pytest.mark.parametrize("multiplications", [0, 2**29])
def test_sentences_of_one_token_and_one_without_a_path_have_finite_gradients(
    multiplications: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MULTIPLICATIONS", multiplications)
    single = drawn(5, [1, 1], 3, 0.0, 1.0)
    for one, other in zip(
        value_and_gradients(tree_partition, single),
        value_and_gradients(log_partition, single),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
    never = torch.full((3, 3), -torch.inf).double()
    longer = drawn(6, [4, 1], 3, 0.0, 1.0)
    dead = Chain(longer.emissions, never, longer.start, longer.end, longer.mask)
    total, *gradients = value_and_gradients(tree_partition, dead)
    assert float(total[0].detach()) < -600
    assert float(total[1].detach()) == pytest.approx(
        float(log_partition(dead)[1].detach()), abs=1e-9
    )
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def enumerated(chain: Chain) -> Tensor:
    """By the scores of all paths, in float64."""
    totals = []
    for row, length in enumerate(chain.mask.sum(1).tolist()):
        scores = []
        for path in itertools.product(range(len(chain.start)), repeat=length):
            emitted = sum(chain.emissions[row, t, tag] for t, tag in enumerate(path))
            stepped = sum(chain.transitions[pair] for pair in itertools.pairwise(path))
            scores.append(chain.start[path[0]] + emitted + stepped + chain.end[path[-1]])
        totals.append(torch.stack(scores).logsumexp(0))
    return torch.stack(totals)


def two_ways(gap: float, after: float, switch: float) -> Chain:
    """Tag 0 leads by `gap` at 3 tokens, tag 1 by `after` at 3 more; between them costs `switch`."""
    emissions = torch.zeros(2, 6, 2, dtype=torch.float64)
    emissions[0, :3, 1], emissions[0, 3:, 0] = -gap, -after
    steps = torch.tensor([[0.0, -switch], [-switch, 0.0]], dtype=torch.float64)
    free = torch.zeros(2, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([[6], [2]])
    return Chain(emissions, steps, free, free, mask)


EXTREME = {
    "a lead that is lost later": two_ways(800, 1200, 5000),
    "one that drifts without a way back": two_ways(280, 290, torch.inf),
    "in the steps": two_ways(1, 2, 900),
    "just within a number": two_ways(100, 101, 300),
    "at random": drawn(7, [5, 4, 1], 3, 0.3, 1000.0),
    "beyond single numbers": drawn(8, [5, 2], 3, 0.0, 1e6),
}


@pytest.mark.parametrize("multiplications", [0, 2**29])
@pytest.mark.parametrize("chain", EXTREME.values(), ids=EXTREME)
@pytest.mark.parametrize("place", [nullcontext, pretended_gpu])
def test_scores_that_are_far_apart_give_the_sum_and_the_gradient_of_all_paths(
    multiplications: int,
    chain: Chain,
    place: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MULTIPLICATIONS", multiplications)
    real = replace(chain, emissions=chain.emissions.nan_to_num(0, neginf=-torch.inf))
    expected = value_and_gradients(enumerated, real)
    with place():
        there = "cpu" if place is nullcontext else "cuda"
        parts = (chain.emissions, chain.transitions, chain.start, chain.end, chain.mask)
        found = value_and_gradients(tree_partition, Chain(*(part.to(there) for part in parts)))
        found = [part.cpu() for part in found]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.nan_to_num(0), other.nan_to_num(0))


def test_sentences_of_a_batch_are_exact_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, taken = two_ways(800, 1200, 5000), []
    exact = module._by_messages
    monkeypatch.setattr(
        module, "_by_messages", lambda part: taken.append(len(part.mask)) or exact(part)
    )
    tree_partition(replace(chain, transitions=torch.zeros_like(chain.transitions)))
    tree_partition(drawn(9, [20, 20], 4, 0.3, 3.0))
    assert taken == [1]  # the sentence whose emissions are far apart


@pytest.mark.cuda
def test_a_gpu_gives_the_sum_and_the_gradient_of_a_cpu() -> None:
    chain = drawn(1, [30, 7, 1], 5, 0.2, 2.0)
    parts = (chain.emissions, chain.transitions, chain.start, chain.end, chain.mask)
    on_gpu = Chain(*(part.cuda() for part in parts))
    for found, expected in zip(
        value_and_gradients(log_partition, on_gpu),
        value_and_gradients(log_partition, chain),
        strict=True,
    ):
        torch.testing.assert_close(found.cpu().nan_to_num(0), expected.nan_to_num(0))
