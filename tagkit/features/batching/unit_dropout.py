"""BPE-dropout: training with words that are cut into other units each time.

Models with labels cut the words of each batch. A language model reads one long row of units, in
which the place of each depends on all before it: it cuts the whole text before each epoch.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagkit.features import Arrays, Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.document_batches import documents_of_rows
from tagkit.features.batching.encoding import Encoded, encode_words, index, words_and_tokens
from tagkit.features.batching.unit_stream import UnitStream
from tagkit.features.vocabulary import Vocabulary
from tagkit.text.records import Sentence


@dataclass(frozen=True)
class UnitDropout:
    """A training corpus whose words are cut anew in every batch.

    A classifier cuts each occurrence of a word, a tagger each distinct word of a batch, as that
    has one vector.

    Attributes:
        sentences: of the training corpus, as `encoded` has them.
        encoded: the same as ids, cut as in prediction. Batches are planned by its lengths.
        vocabulary: with units.
        dropout: probability that a possible merge is left out.
        chars: whether the model reads characters.
    """

    sentences: Sequence[Sentence]
    encoded: Encoded
    vocabulary: Vocabulary
    dropout: float
    chars: bool

    def batch(self, indices: Sequence[int] | Ids, seed: int) -> Batch[Arrays]:
        """The sentences at `indices`; the same seed gives the same units."""
        assert self.vocabulary.units is not None
        cut = self.vocabulary.units.sampler(self.dropout, random.Random(seed))
        chosen = [self.sentences[number] for number in indices]
        indexed = index(chosen, self.vocabulary, cut if self.vocabulary.reads_units else None)
        encoded_words = encode_words(indexed.distinct, self.vocabulary, chars=self.chars, cut=cut)
        words, tokens = words_and_tokens(indexed, encoded_words, np.arange(len(chosen)))
        documents = documents_of_rows(np.asarray(indices), self.encoded.indexed.documents)
        return self.encoded.batch(indices, (words, replace(tokens, documents=documents)))


class ResegmentedText:
    """A training text that is divided into units afresh before each epoch; an example is a segment.

    Attributes:
        stream: the text in its present units; at first those of prediction.
    """

    def __init__(self, cut: Callable[[int | None], UnitStream]) -> None:
        """`cut` gives the text in the units that follow from a seed, or without dropout of None."""
        self._cut = cut
        self._seed: int | None = None
        self.stream = cut(None)

    def resegment(self, seed: int) -> UnitStream:
        """Cut the text for an epoch; a seed gives the same units each time."""
        if seed != self._seed:  # a run that is resumed plans its epoch more than once
            self.stream, self._seed = self._cut(seed), seed
        return self.stream

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.stream)

    @property
    def lengths(self) -> Ids:
        """(examples,) number of units in each."""
        return self.stream.lengths

    @property
    def target_count(self) -> int:
        """Number of units that count."""
        return self.stream.target_count

    @property
    def documents(self) -> None:
        """None, as of `UnitStream`."""
        return None

    def batch(self, indices: Sequence[int] | Ids) -> Batch[Arrays]:
        """The examples at `indices`, in that order."""
        return self.stream.batch(indices)
