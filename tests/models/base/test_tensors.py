"""Batches of arrays to batches of tensors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.batching.contextual_states import ContextualUnits, UnitRows
from tagkit.models.base import device as module
from tagkit.models.base.device import joined, to_tensors

META = torch.device("meta")


def a_batch() -> Batch[Arrays]:
    groups = (np.array([[2], [3]]), np.array([[4, 5]]))
    words = Words(np.array([3, 2, 4]), np.array([0, 1, 0]), groups, np.zeros((3, 0), np.int64))
    mask = np.array([[True, True], [True, False]])
    states = np.ones((2, 2, 3), np.float32)
    tokens = Tokens(np.array([[0, 1], [2, 0]]), mask, (), np.array([0, 1]), states)
    return Batch(words, tokens, {"tags": np.array([[1, 0], [1, 0]])}, np.ones(2, np.float32))


def parts(batch: Batch[Any]) -> list[Any]:
    words, tokens = batch.words, batch.tokens
    return [words.word_ids, words.vector_rows, *words.char_ids, words.affix_ids, tokens.rows,
            tokens.mask, tokens.documents, tokens.contextual, *batch.targets.values(),
            batch.weights]  # fmt: skip


def test_tensors_have_the_memory_and_the_type_of_their_arrays_on_a_cpu() -> None:
    batch = a_batch()
    pairs = [*zip(parts(batch), parts(to_tensors(batch)), strict=True)]
    assert all(np.may_share_memory(own, tensor.numpy()) for own, tensor in pairs if own.size)
    assert [own.dtype for own, _ in pairs] == [tensor.numpy().dtype for _, tensor in pairs]
    assert to_tensors(batch.words).word_ids.tolist() == [3, 2, 4]
    assert to_tensors(replace(batch.tokens, documents=None)).documents is None


def test_every_array_of_a_batch_goes_to_another_device() -> None:
    moved = to_tensors(a_batch(), META)
    assert [group.shape for group in moved.words.char_ids] == [(3, 2)]
    assert all(tensor.is_meta for tensor in parts(moved))
    units = ContextualUnits((UnitRows(np.ones((2, 5)), np.ones((2, 2))),))
    (rows,) = to_tensors(units, META).rows
    assert (rows.units.shape, rows.places.is_meta) == ((2, 5), True)


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
    assert [group.shape for group in to_tensors(words, META).char_ids] == [(2, 2)]
    assert len(to_tensors(words).char_ids) == 2
