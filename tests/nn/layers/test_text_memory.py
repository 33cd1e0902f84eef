"""Attention over a window that slides along a text."""

import pytest
import torch
from torch import Tensor

from tagkit.nn.layers import text_memory
from tagkit.nn.layers.text_memory import TextMemory, attend_in_window

BATCH, HEADS, SIZE, HIDDEN = 2, 3, 4, 5


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def by_hand(queries: Tensor, keys: Tensor, values: Tensor, filled: Tensor, window: int) -> Tensor:
    """Each row, each head and each token in a loop of its own."""
    found = torch.zeros_like(queries)
    time, tokens = queries.shape[2], keys.shape[2]
    for row in range(BATCH):
        for head in range(HEADS):
            for t in range(time):
                own = tokens - time + t
                seen = [k for k in range(max(0, own - window), own + 1) if filled[row, k]]
                scores = keys[row, head, seen] @ queries[row, head, t] / SIZE**0.5
                found[row, head, t] = torch.softmax(scores, 0) @ values[row, head, seen]
    return found


@pytest.mark.parametrize("window", [1, 3, 8, 20])
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("block", [1, 3, 64])
def test_a_token_reads_itself_and_the_window_before_it(
    monkeypatch: pytest.MonkeyPatch, window: int, before: int, block: int
) -> None:
    monkeypatch.setattr(text_memory, "_LEAST_BLOCK", block)
    time = 9
    queries = drawn(BATCH, HEADS, time, SIZE)
    keys, values = drawn(2, BATCH, HEADS, before + time, SIZE, seed=2)
    filled = torch.ones(BATCH, before + time, dtype=torch.bool)
    filled[1, : max(0, before - 1)] = False
    found = attend_in_window(queries, keys, values, filled=filled, window=window, dropout=0)
    torch.testing.assert_close(found, by_hand(queries, keys, values, filled, window))


def test_a_window_of_nothing_is_refused() -> None:
    queries = drawn(BATCH, HEADS, 2, SIZE)
    filled = torch.ones(BATCH, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"^window = 0: expected at least 1 token before each$"):
        attend_in_window(queries, queries, queries, filled=filled, window=0, dropout=0)


@pytest.mark.parametrize("parts", [(7,), (1,) * 7, (2, 4, 1), (6, 1)])
def test_a_memory_holds_the_last_tokens_whatever_the_parts_they_came_in(
    parts: tuple[int, ...],
) -> None:
    text, state = drawn(BATCH, 7, HIDDEN), None
    for part in torch.split(text, parts, dim=1):
        memory = TextMemory.of(state, part, HIDDEN).extended(part)
        state = memory.state(4)
        assert state.shape == (4, BATCH, HIDDEN + 1)
    assert state is not None
    torch.testing.assert_close(state[..., :-1], text[:, 3:].transpose(0, 1))
    assert state[:, 0, -1].tolist() == [4, 5, 6, 7]
    assert TextMemory.of(state, text, HIDDEN).count.tolist() == [7, 7]


def test_places_of_a_memory_that_are_empty_hold_nothing_not_even_nan() -> None:
    text = drawn(BATCH, 2, HIDDEN)
    state = TextMemory.of(None, text, HIDDEN).extended(text).state(4)
    assert state[:, 0, -1].tolist() == [0, 0, 1, 2]
    assert not state[:2].any()
    state[:2, :, :-1] = torch.nan
    memory = TextMemory.of(state, text, HIDDEN)
    assert not memory.states[:, :2].any()
    assert memory.filled.tolist() == [[False, False, True, True]] * 2
    assert memory.count.tolist() == [2, 2]


def test_numbers_of_tokens_are_exact_in_16_bits_too() -> None:
    text = torch.zeros(1, 999, HIDDEN, dtype=torch.bfloat16)
    memory = TextMemory.of(None, text, HIDDEN).extended(text)
    assert memory.count.tolist() == [999]
    assert memory.states.dtype == torch.bfloat16
    assert memory.state(3).dtype == torch.float32
