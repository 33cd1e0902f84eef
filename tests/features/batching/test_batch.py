"""The padded batch."""

import numpy as np
from says import refuses

from tagkit.features import Arrays
from tagkit.features.batching.batch import Batch, Tokens, Words


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


def test_a_target_that_a_batch_lacks_is_named() -> None:
    assert a_batch().target("tags").tolist() == [[1, 0], [1, 0]]
    with refuses(ValueError, "classes"):
        a_batch().target("classes")
