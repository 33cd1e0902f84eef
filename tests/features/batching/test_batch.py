"""The padded batch."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.batching.contextual_states import ContextualUnits, UnitRows


def a_batch() -> Batch[Arrays]:
    words = Words(np.array([3, 2]), np.array([0, 1]), (np.array([[2], [3]]),),
                  np.array([[1, 0], [2, 1]]))  # fmt: skip
    mask = np.array([[True, True], [True, False]])
    tokens = Tokens(
        np.array([[0, 1], [1, 0]]),
        mask,
        (np.array([[2, 3], [3, 0]]),),
        documents=np.array([0, 1]),
        contextual=np.ones((2, 2, 3), np.float32),
    )
    return Batch(words, tokens, {"tags": np.array([[1, 0], [1, 0]])})


def arrays(batch: Batch[Any]) -> list[Any]:
    words, tokens = batch.words, batch.tokens
    assert tokens.documents is not None
    assert tokens.contextual is not None
    return [words.word_ids, words.vector_rows, *words.char_ids, tokens.rows, tokens.mask,
            *tokens.feature_ids, tokens.documents, tokens.contextual,
            *batch.targets.values()]  # fmt: skip


def test_every_array_of_a_batch_is_converted() -> None:
    batch = a_batch()
    shapes = batch.mapped(lambda array: array.shape)
    assert arrays(shapes) == [array.shape for array in arrays(batch)]
    units = ContextualUnits((UnitRows(np.ones((2, 5)), np.ones((2, 2))),))
    tokens = replace(batch.tokens, contextual=units).mapped(lambda array: array.shape)
    assert tokens.contextual == ContextualUnits((UnitRows((2, 5), (2, 2)),))


def test_a_target_that_a_batch_lacks_is_named() -> None:
    assert a_batch().target("tags").tolist() == [[1, 0], [1, 0]]
    with pytest.raises(ValueError, match=r"^the batch holds no classes to learn from$"):
        a_batch().target("classes")


def test_other_word_ids_leave_the_batch_and_all_else_as_they_were() -> None:
    batch = a_batch()
    other = batch.with_words(np.array([1, 2]))
    assert other.words.word_ids.tolist() == [1, 2]
    assert batch.words.word_ids.tolist() == [3, 2]
    pairs = zip(arrays(other)[1:], arrays(batch)[1:], strict=True)
    assert all(ours is theirs for ours, theirs in pairs)
