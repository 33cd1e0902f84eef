"""The padded batch: inputs and targets of one training step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from tagkit.features.batching.contextual_states import ContextualUnits
from tagkit.features.vocabulary import PAD_ID

# Characters of a group on a GPU, padding included. One word of thousands would make thousands of
# others as long.
_JOINED_CHARS = 2**18


@dataclass(frozen=True, slots=True)
class Words:
    """Distinct words of a batch: embedded once, however many tokens they have.

    Attributes:
        word_ids: (words,) int64.
        vector_rows: (words,) int64 row of each word's pretrained vector, 0 without one.
        char_ids: their characters in groups of words of similar length; the groups one after
            another have the words in the order of `word_ids`. Each group is (words, chars) int64,
            `PAD_ID` where padded. Empty if the model reads no characters.
        affix_ids: (words, affixes) int64 prefixes, suffixes and shape of each word, `PAD_ID` of
            unknown ones; (words, 0) if the model reads none.
    """

    word_ids: Tensor
    vector_rows: Tensor
    char_ids: tuple[Tensor, ...]
    affix_ids: Tensor

    def to(self, device: torch.device) -> "Words":
        """The same words on another device, on a GPU in fewer groups."""
        groups = self.char_ids if device.type == "cpu" else joined(self.char_ids)
        # From pageable memory non_blocking changes nothing, and is safe; from pinned memory the
        # copy overlaps with the computation.
        return Words(
            self.word_ids.to(device, non_blocking=True),
            self.vector_rows.to(device, non_blocking=True),
            tuple(group.to(device, non_blocking=True) for group in groups),
            self.affix_ids.to(device, non_blocking=True),
        )


def joined(groups: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Groups of words as few as have room, in the same order.

    Groups save padding, which a CPU has to compute. On a GPU each group costs the launches of a
    recurrent layer, and padding next to nothing.

    Args:
        groups: each (words, chars) int64, `PAD_ID` where padded.
    """
    found: list[list[Tensor]] = []
    words = width = 0
    for group in groups:
        words, width = words + len(group), max(width, group.shape[1])
        if found and words * width <= _JOINED_CHARS:
            found[-1].append(group)
        else:
            found.append([group])
            words, width = group.shape
    return tuple(parts[0] if len(parts) == 1 else _padded(parts) for parts in found)


def _padded(groups: Sequence[Tensor]) -> Tensor:
    """One group of all words: each (words, chars) -> (all words, chars of the longest)."""
    width = max(group.shape[1] for group in groups)
    return torch.cat(
        [nn.functional.pad(group, (0, width - group.shape[1]), value=PAD_ID) for group in groups]
    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sentences of one step, padded on the right to the longest.

    Attributes:
        rows: (batch, time) int64 row of each token's word in a table of distinct words, such as
            `Words`; 0 where padded, which is a real word's row too: `mask` alone marks padding.
        mask: (batch, time) bool, True on real tokens. Every row starts with True.
        feature_ids: for each feature column (batch, time) int64, `PAD_ID` where padded.
        documents: (batch,) int64 number of the document of each sentence, from 0: those of one
            document are rows that follow each other, and the encoder reads them as one sequence.
            None where it reads each sentence by itself.
        contextual: (batch, time, values) states of language models at each token, zero where
            padded, or, where these are trained, the units that they read; None in a model that
            reads none.
    """

    rows: Tensor
    mask: Tensor
    feature_ids: tuple[Tensor, ...]
    documents: Tensor | None = None
    contextual: Tensor | ContextualUnits | None = None

    def to(self, device: torch.device) -> "Tokens":
        """The same tokens on another device."""
        return Tokens(
            self.rows.to(device, non_blocking=True),
            self.mask.to(device, non_blocking=True),
            tuple(ids.to(device, non_blocking=True) for ids in self.feature_ids),
            None if self.documents is None else self.documents.to(device, non_blocking=True),
            None if self.contextual is None else self.contextual.to(device, non_blocking=True),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences to learn from in one step.

    Attributes:
        words: the distinct words of the sentences.
        tokens: the sentences, as rows of `words`.
        targets: gold labels, by the name that their task gives them: "tags" is (batch, time) int64,
            0 where padded, "classes" is (batch, classes) bool, True for the gold classes. Empty
            in prediction.
        weights: (batch,) float weight of each sentence in the loss; None where all weigh the same.
    """

    words: Words
    tokens: Tokens
    # By name, not in fields of their own: each task brings its targets.
    targets: Mapping[str, Tensor]
    weights: Tensor | None = None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        # Batches are made on the CPU, so there is nothing to copy.
        if device.type == "cpu":
            return self
        return Batch(
            self.words.to(device),
            self.tokens.to(device),
            {name: t.to(device, non_blocking=True) for name, t in self.targets.items()},
            None if self.weights is None else self.weights.to(device, non_blocking=True),
        )

    def target(self, name: str) -> Tensor:
        """The targets of this name.

        Raises:
            ValueError: the batch has no such targets.
        """
        if name not in self.targets:
            raise ValueError(f"the batch holds no {name} to learn from")
        return self.targets[name]

    def with_words(self, word_ids: Tensor) -> "Batch":
        """The same batch with other word ids."""
        # For training, where rare words become unknown at times; their characters and vectors stay.
        return replace(self, words=replace(self.words, word_ids=word_ids))
