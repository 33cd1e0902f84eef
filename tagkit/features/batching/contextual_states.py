"""States of language models at each word of a sentence, as further inputs of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.features import Ids
from tagkit.features.language_part import LanguagePart
from tagkit.text.records import Sentence

States = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class UnitRows:
    """Sentences of a batch as a language model reads them.

    Attributes:
        units: (batch, units) int64 numbers of units; what follows those of a row is read in vain.
        places: (batch, time) int64 index in `units` of the unit whose state each word has; 0 where
            padded.
    """

    units: Tensor
    places: Tensor

    def to(self, device: torch.device, *, non_blocking: bool) -> "UnitRows":
        """The same rows on another device."""
        units = self.units.to(device, non_blocking=non_blocking)
        return UnitRows(units, self.places.to(device, non_blocking=non_blocking))


@dataclass(frozen=True, slots=True)
class ContextualUnits:
    """Sentences of a batch as each language model reads them, in place of its states.

    Attributes:
        rows: one for each language model.
    """

    rows: tuple[UnitRows, ...]

    def to(self, device: torch.device, *, non_blocking: bool) -> "ContextualUnits":
        """The same units on another device."""
        return ContextualUnits(
            tuple(each.to(device, non_blocking=non_blocking) for each in self.rows)
        )


class ContextualInputs(Protocol):
    """What a model reads of the sentences of a corpus beside their words."""

    def batch(self, indices: Sequence[int] | Ids, width: int) -> Tensor | ContextualUnits:
        """States or units of some sentences.

        Args:
            indices: of the sentences.
            width: number of words of the longest of them.
        """


class ContextualStates(Protocol):
    """The language models of a model.

    Attributes:
        parts: what each of them is, in the order of their values.
    """

    parts: tuple[LanguagePart, ...]

    @property
    def weights(self) -> int:
        """How many weights they have together."""

    def read(self, sentences: Sequence[Sentence], device: torch.device) -> list[States]:
        """The states at each word of each sentence, (words, values of all models).

        Args:
            sentences: each is read by itself.
            device: where the models work.
        """

    def states(self, units: ContextualUnits, mask: Tensor) -> Tensor:
        """(batch, time, values of all models) states at each word, zero on padding.

        Unlike those of `read` they have gradients, where the models are trained.

        Args:
            units: of the sentences.
            mask: (batch, time) bool, True on real words.
        """

    def tensors(self) -> Mapping[str, Tensor]:
        """Their weights, by the names that a saved model has for them."""

    def set_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take these weights, named as in `tensors`; others among them are left alone."""


def padded_states(states: Sequence[States], width: int) -> Tensor:
    """(batch, width, values) float32 of sentences, zero on padding.

    Args:
        states: (words, values) of each sentence.
        width: number of words of the longest one.
    """
    return padded_rows(states, width, np.float32)


def padded_rows(rows: Sequence[npt.NDArray[Any]], width: int, dtype: npt.DTypeLike) -> Tensor:
    """(rows, width, ...) of a type, zero on padding.

    Args:
        rows: (values, ...) each, at most `width` of them; there is at least one row.
        width: of all rows.
        dtype: of NumPy.
    """
    padded = np.zeros((len(rows), width, *rows[0].shape[1:]), dtype)
    for row, values in enumerate(rows):
        padded[row, : len(values)] = values
    return torch.from_numpy(padded)
