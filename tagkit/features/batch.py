"""The padded batch: what the network reads in one step, and what it learns from that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Words:
    """Distinct words: what is looked up, or read, once for all their tokens.

    Attributes:
        word_ids: (words,) int64.
        vector_rows: (words,) int64 row of each word's pretrained vector, 0 of none.
        char_ids: their characters in groups of similar length, which laid end to end are the words
            in order; each (words, chars) int64, `PAD_ID` where padded. Empty where the model reads
            no characters.
    """

    word_ids: Tensor
    vector_rows: Tensor
    char_ids: tuple[Tensor, ...]

    def to(self, device: torch.device) -> "Words":
        """The same words on another device."""
        return Words(
            self.word_ids.to(device, non_blocking=True),
            self.vector_rows.to(device, non_blocking=True),
            tuple(group.to(device, non_blocking=True) for group in self.char_ids),
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sentences of one step, padded on the right to the longest.

    Attributes:
        rows: (batch, time) int64, which of some distinct words each token is; 0 where padded.
        mask: (batch, time) bool, True on real tokens. Every row starts with True.
        feature_ids: one (batch, time) int64 a feature column.
    """

    rows: Tensor
    mask: Tensor
    feature_ids: tuple[Tensor, ...]

    def to(self, device: torch.device) -> "Tokens":
        """The same tokens on another device."""
        return Tokens(
            self.rows.to(device, non_blocking=True),
            self.mask.to(device, non_blocking=True),
            tuple(ids.to(device, non_blocking=True) for ids in self.feature_ids),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences to learn from in one step.

    Attributes:
        words: the distinct words of the sentences.
        tokens: which of these words stands where.
        targets: what is learnt, by the name that its task gives it: "tags" is (batch, time) int64,
            0 where padded, "classes" is (batch, classes) bool, True of the gold classes. Empty
            where all is to be predicted.
    """

    words: Words
    tokens: Tokens
    targets: Mapping[str, Tensor]

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        if device.type == "cpu":
            return self
        return Batch(
            self.words.to(device),
            self.tokens.to(device),
            {name: t.to(device, non_blocking=True) for name, t in self.targets.items()},
        )

    def target(self, name: str) -> Tensor:
        """What is learnt under a name.

        Raises:
            ValueError: the batch has none.
        """
        if name not in self.targets:
            raise ValueError(f"the batch holds no {name} to learn from")
        return self.targets[name]

    def with_words(self, word_ids: Tensor) -> "Batch":
        """The same batch with other word ids."""
        return replace(self, words=replace(self.words, word_ids=word_ids))
