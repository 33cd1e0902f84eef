"""Batches of arrays to batches of tensors."""

import numpy as np
import pytest
import torch

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.models.base import tensors as module
from tagkit.models.base.tensors import (
    CPU,
    joined,
    to_tensors,
    tokens_to_tensors,
    words_to_tensors,
)

META = torch.device("meta")


def a_batch() -> Batch[Arrays]:
    groups = (np.array([[2], [3]]), np.array([[4, 5]]))
    words = Words(np.array([3, 2, 4]), np.array([0, 1, 0]), groups, np.zeros((3, 0), np.int64))
    mask = np.array([[True, True], [True, False]])
    states = np.ones((2, 2, 3), np.float32)
    tokens = Tokens(np.array([[0, 1], [2, 0]]), mask, (), np.array([0, 1]), states)
    return Batch(words, tokens, {"tags": np.array([[1, 0], [1, 0]])}, np.ones(2, np.float32))


def test_tensors_have_the_memory_and_the_type_of_their_arrays_on_a_cpu() -> None:
    batch = a_batch()
    found: list[tuple[Arrays, torch.Tensor]] = []
    to_tensors(batch).mapped(lambda tensor: found.append((tensor.numpy(), tensor)))
    own: list[Arrays] = []
    batch.mapped(own.append)
    assert all(np.may_share_memory(a, b) for a, (b, _) in zip(own, found, strict=True) if a.size)
    assert [a.dtype for a in own] == [b.dtype for b, _ in found]
    assert words_to_tensors(batch.words, CPU).word_ids.tolist() == [3, 2, 4]
    assert tokens_to_tensors(batch.tokens, CPU).mask.dtype == torch.bool


def test_every_array_of_a_batch_goes_to_another_device() -> None:
    moved = to_tensors(a_batch(), META)
    assert [group.shape for group in moved.words.char_ids] == [(3, 2)]
    found: list[torch.Tensor] = []
    moved.mapped(found.append)
    assert len(found) == 10
    assert all(tensor.is_meta for tensor in found)


def test_groups_of_words_are_joined_in_order_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = [
        np.array([[2], [3]]),
        np.array([[4, 5, 0], [6, 7, 8]]),
        np.array([[9] * 4]),
    ]
    (whole,) = joined(groups)
    assert whole.tolist() == [[2, 0, 0, 0], [3, 0, 0, 0], [4, 5, 0, 0], [6, 7, 8, 0], [9, 9, 9, 9]]
    monkeypatch.setattr(module, "_JOINED_CHARS", 12)  # the first two, with their padding
    first, second = joined(groups)
    assert first.tolist() == [[2, 0, 0], [3, 0, 0], [4, 5, 0], [6, 7, 8]]
    assert second is groups[2]
    monkeypatch.setattr(module, "_JOINED_CHARS", 1)  # no group is cut
    assert all(one is other for one, other in zip(joined(groups), groups, strict=True))
    assert joined([]) == ()


def test_groups_are_joined_on_their_way_to_a_gpu() -> None:
    words = Words(np.array([3, 2]), np.array([0, 1]),
                  (np.array([[2]]), np.array([[3, 4]])), np.zeros((2, 0)))  # fmt: skip
    assert [group.shape for group in words_to_tensors(words, META).char_ids] == [(2, 2)]
    assert len(words_to_tensors(words, CPU).char_ids) == 2
