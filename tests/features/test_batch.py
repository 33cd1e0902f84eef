"""The padded batch."""

import pytest
import torch

from tagkit.features.batch import Batch, Tokens, Words


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
