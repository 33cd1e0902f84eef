"""States of language models at each word of a sentence, as further inputs of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

import numpy as np
import numpy.typing as npt

from tagkit.features import Array, Arrays, Ids

States = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class UnitRows(Generic[Array]):
    """Sentences of a batch as a language model reads them.

    Attributes:
        units: (batch, units) int64 numbers of units; what follows those of a row is read in vain.
        places: (batch, time) int64 index in `units` of the unit whose state each word has; 0 where
            padded.
    """

    units: Array
    places: Array


@dataclass(frozen=True, slots=True)
class ContextualUnits(Generic[Array]):
    """Sentences of a batch as each language model reads them, in place of its states.

    Attributes:
        rows: one for each language model.
    """

    rows: tuple[UnitRows[Array], ...]


class ContextualInputs(Protocol):
    """What a model reads of the sentences of a corpus beside their words."""

    def batch(self, indices: Sequence[int] | Ids, width: int) -> Arrays | ContextualUnits[Arrays]:
        """States or units of some sentences.

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
