"""BPE-dropout: the batches of training with words that are cut into other units each time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagkit.features.batch import Batch
from tagkit.features.bucketing import Ids
from tagkit.features.document_batches import documents_of_rows
from tagkit.features.encoding import Encoded, encode_words, index, words_and_tokens
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

    def batch(self, indices: Sequence[int] | Ids, seed: int) -> Batch:
        """The sentences at `indices`; the same seed gives the same units."""
        assert self.vocabulary.units is not None
        cut = self.vocabulary.units.sampler(self.dropout, random.Random(seed))
        chosen = [self.sentences[number] for number in indices]
        indexed = index(chosen, self.vocabulary, cut if self.vocabulary.reads_units else None)
        encoded_words = encode_words(indexed.distinct, self.vocabulary, chars=self.chars, cut=cut)
        words, tokens = words_and_tokens(indexed, encoded_words, np.arange(len(chosen)))
        documents = documents_of_rows(np.asarray(indices), self.encoded.indexed.documents)
        return self.encoded.batch(indices, (words, replace(tokens, documents=documents)))
