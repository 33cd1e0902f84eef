"""The padded batch."""

import pytest
import torch

from tagkit.features.batching import batch as module
from tagkit.features.batching.batch import Batch, Tokens, Words, joined


def a_batch() -> Batch:
    words = Words(torch.tensor([3, 2]), torch.tensor([0, 1]), (torch.tensor([[2], [3]]),),
                  torch.tensor([[1, 0], [2, 1]]))  # fmt: skip
    mask = torch.tensor([[True, True], [True, False]])
    tokens = Tokens(
        torch.tensor([[0, 1], [1, 0]]),
        mask,
        (torch.tensor([[2, 3], [3, 0]]),),
        documents=torch.tensor([0, 1]),
        contextual=torch.ones(2, 2, 3),
    )
    return Batch(words, tokens, {"tags": torch.tensor([[1, 0], [1, 0]])})


def tensors(batch: Batch) -> list[torch.Tensor]:
    words, tokens = batch.words, batch.tokens
    assert tokens.documents is not None
    assert tokens.contextual is not None
    return [words.word_ids, words.vector_rows, *words.char_ids, tokens.rows, tokens.mask,
            *tokens.feature_ids, tokens.documents, tokens.contextual,
            *batch.targets.values()]  # fmt: skip


def test_every_tensor_of_a_batch_goes_to_another_device() -> None:
    batch = a_batch()
    moved = batch.to(torch.device("meta"))
    assert all(tensor.is_meta for tensor in tensors(moved))
    assert [t.shape for t in tensors(moved)] == [t.shape for t in tensors(batch)]
    assert batch.to(torch.device("cpu")) is batch


def test_groups_of_words_are_joined_in_order_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = [
        torch.tensor([[2], [3]]),
        torch.tensor([[4, 5, 0], [6, 7, 8]]),
        torch.tensor([[9] * 4]),
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
    words = Words(torch.tensor([3, 2]), torch.tensor([0, 1]),
                  (torch.tensor([[2]]), torch.tensor([[3, 4]])), torch.zeros(2, 0))  # fmt: skip
    assert [group.shape for group in words.to(torch.device("meta")).char_ids] == [(2, 2)]
    assert len(words.to(torch.device("cpu")).char_ids) == 2


def test_a_target_that_a_batch_lacks_is_named() -> None:
    assert a_batch().target("tags").tolist() == [[1, 0], [1, 0]]
    with pytest.raises(ValueError, match=r"^the batch holds no classes to learn from$"):
        a_batch().target("classes")


def test_other_word_ids_leave_the_batch_and_all_else_as_they_were() -> None:
    batch = a_batch()
    other = batch.with_words(torch.tensor([1, 2]))
    assert other.words.word_ids.tolist() == [1, 2]
    assert batch.words.word_ids.tolist() == [3, 2]
    pairs = zip(tensors(other)[1:], tensors(batch)[1:], strict=True)
    assert all(ours is theirs for ours, theirs in pairs)
