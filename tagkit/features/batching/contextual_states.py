"""States of language models at each word of a sentence, as further inputs of a model."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tagkit.features import Arrays, Ids

States = npt.NDArray[np.float32]


class ContextualInputs(Protocol):
    """What a model reads of the sentences of a corpus beside their words."""

    def batch(self, indices: Sequence[int] | Ids, width: int) -> Arrays:
        """States at the words of some sentences.

        Args:
            indices: of the sentences.
            width: number of words of the longest of them.
        """


def padded_rows(rows: Sequence[Arrays], width: int, dtype: npt.DTypeLike) -> Arrays:
    """(rows, width, ...) of a type, zero on padding.

    Args:
        rows: (values, ...) each, at most `width` of them; there is at least one row.
        width: of all rows.
        dtype: of NumPy.
    """
    padded = np.zeros((len(rows), width, *rows[0].shape[1:]), dtype)
    for row, values in enumerate(rows):
        padded[row, : len(values)] = values
    return padded
