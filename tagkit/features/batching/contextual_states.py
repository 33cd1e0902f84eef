"""States of language models at each word of a sentence, as further inputs of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

import numpy as np
import numpy.typing as npt

from tagkit.features import Array, Arrays, Ids, Other

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

    def mapped(self, convert: Callable[[Array], Other]) -> "UnitRows[Other]":
        """The same rows, with each array converted."""
        return UnitRows(convert(self.units), convert(self.places))


@dataclass(frozen=True, slots=True)
class ContextualUnits(Generic[Array]):
    """Sentences of a batch as each language model reads them, in place of its states.

    Attributes:
        rows: one for each language model.
    """

    rows: tuple[UnitRows[Array], ...]

    def mapped(self, convert: Callable[[Array], Other]) -> "ContextualUnits[Other]":
        """The same units, with each array converted."""
        return ContextualUnits(tuple(each.mapped(convert) for each in self.rows))


class ContextualInputs(Protocol):
    """What a model reads of the sentences of a corpus beside their words."""

    def batch(self, indices: Sequence[int] | Ids, width: int) -> Arrays | ContextualUnits[Arrays]:
        """States or units of some sentences.

        Args:
            indices: of the sentences.
            width: number of words of the longest of them.
        """


def padded_states(states: Sequence[States], width: int) -> Arrays:
    """(batch, width, values) float32 of sentences, zero on padding.

    Args:
        states: (words, values) of each sentence.
        width: number of words of the longest one.
    """
    return padded_rows(states, width, np.float32)


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
