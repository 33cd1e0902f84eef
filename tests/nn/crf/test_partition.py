"""The log-partition as a product of matrices in pairs: the same as step by step."""

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
