"""The padded batch: inputs and targets of one training step.

The records hold arrays, or tensors of the same shapes and types of numbers: those of
`models/base/device.py`, which share the memory of the arrays on a CPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from tagkit.features import Array


@dataclass(frozen=True, slots=True)
class Words(Generic[Array]):
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

    word_ids: Array
    vector_rows: Array
    char_ids: tuple[Array, ...]
    affix_ids: Array


@dataclass(frozen=True, slots=True)
class Tokens(Generic[Array]):
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
            padded; None in a model that reads none.
        children: (batch, time, 2) int64 nodes of a tree over each sentence, as
            `nn/trees/encoder.py` reads them, 0 where padded; None in a model that reads none.
        numbers: (batch, time, values) those of all columns of numbers, standardised, likewise.
    """

    rows: Array
    mask: Array
    feature_ids: tuple[Array, ...]
    documents: Array | None = None
    contextual: Array | None = None
    children: Array | None = None
    numbers: Array | None = None


@dataclass(frozen=True, slots=True)
class Batch(Generic[Array]):
    """Sentences to learn from in one step.

    Attributes:
        words: the distinct words of the sentences.
        tokens: the sentences, as rows of `words`.
        targets: gold labels, by the name that their task gives them: "tags" is (batch, time) int64,
            0 where padded, "classes" is (batch, classes) bool, True for the gold classes. Empty
            in prediction.
        weights: (batch,) float weight of each sentence in the loss; None where all weigh the same.
    """

    words: Words[Array]
    tokens: Tokens[Array]
    # By name, not in fields of their own: each task brings its targets.
    targets: Mapping[str, Array]
    weights: Array | None = None

    def target(self, name: str) -> Array:
        """The targets of this name.

        Raises:
            ValueError: the batch has no such targets.
        """
        if name not in self.targets:
            raise ValueError(f"the batch holds no {name} to learn from")
        return self.targets[name]
