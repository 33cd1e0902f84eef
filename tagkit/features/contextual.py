"""States of language models at each word of a sentence, as further inputs of a model."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.features.language_part import LanguagePart
from tagkit.text.records import Sentence

States = npt.NDArray[np.float32]


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
    padded = np.zeros((len(states), width, states[0].shape[1]), np.float32)
    for row, values in enumerate(states):
        padded[row, : len(values)] = values
    return torch.from_numpy(padded)
