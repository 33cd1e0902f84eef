"""Sentences -> ids -> padded batches.

The characters of each distinct word are encoded once for a corpus, and are in a batch once,
however often the word occurs there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from tagkit.features import Arrays, Ids
from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.features.batching.contextual_states import ContextualInputs
from tagkit.features.batching.document_batches import document_numbers, documents_of_rows
from tagkit.features.batching.targets import Target
from tagkit.features.batching.trees import tree_children
from tagkit.features.unit_reading import cut_all
from tagkit.features.vector_columns import Numbers, standardised
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.features.word_features import AFFIXES_PER_WORD
from tagkit.text.records import Sentence

Mask = npt.NDArray[np.bool_]
# Padding characters in a group of a batch's distinct words, all padded to the longest of the group.
# Each further group costs two more calls of the character network (one a direction).
_CHAR_PADDING = 1000
# Characters of a group, padding included: bounds memory when many words are long.
_GROUP_CHARS = 131_072


@dataclass(frozen=True)
class EncodedWords:
    """Distinct words as ids.

    Attributes:
        word_ids: (words,).
        vector_rows: (words,) row of each word's pretrained vector, 0 without one.
        chars: ids of the characters of all words, word after word; empty if the model reads none.
        char_counts: (words,) number of each word's characters; (0,) if the model reads none.
        affix_ids: (words, affixes) ids of each word's prefixes, suffixes and shape; (words, 0) if
            the model reads none. int32: they are the largest array of a corpus of rare words.
    """

    word_ids: Ids
    vector_rows: Ids
    chars: Ids
    char_counts: Ids
    affix_ids: npt.NDArray[np.int32]

    @cached_property
    def _char_starts(self) -> Ids:
        # (words,) index of each word's first character among those of all words.
        return np.cumsum(self.char_counts) - self.char_counts

    def words(self, numbers: Ids) -> tuple[Words[Arrays], Ids]:
        """The words of these numbers, the shortest first, and the position of each of `numbers`."""
        if not len(self.char_counts):
            return self._words(numbers, ()), np.arange(len(numbers))
        lengths = self.char_counts[numbers]
        by_length = np.argsort(lengths, kind="stable")
        # `position` is the inverse of the permutation `by_length`.
        position = np.empty_like(by_length)
        position[by_length] = np.arange(len(by_length))
        ordered, widths = numbers[by_length], lengths[by_length]
        groups = []
        for start, end in _groups(widths):
            # (chars of the longest word) < (words, 1) -> (words, chars). The last word is longest.
            steps = np.arange(int(widths[end - 1]))
            filled = steps < widths[start:end, None]
            # (words, 1) + (chars,) -> (words, chars) -> (chars of the group,), word after word
            places = (self._char_starts[ordered[start:end], None] + steps)[filled]
            groups.append(_padded(self.chars[places], filled))
        return self._words(ordered, tuple(groups)), position

    def _words(self, numbers: Ids, char_ids: tuple[Ids, ...]) -> Words[Arrays]:
        affixes = self.affix_ids[numbers].astype(np.int64)
        return Words(self.word_ids[numbers], self.vector_rows[numbers], char_ids, affixes)


@dataclass(frozen=True)
class Indexed:
    """Sentences as numbers of distinct words, the tokens of all sentences in one array.

    Attributes:
        distinct: the words, by number.
        numbers: (tokens,) number of each token's word.
        lengths: (sentences,) number of tokens in each.
        features: (columns, tokens) ids.
        documents: (sentences,) number of the document, or of the part of one, that each sentence
            is read with; ascends. None where each is read by itself.
        children: (tokens, 2) nodes of a tree over each sentence (`trees.py`); None without trees.
        values: (tokens, values) float32, as `numbers` of `Tokens`.
    """

    distinct: list[str]
    numbers: Ids
    lengths: Ids
    features: Ids
    documents: Ids | None = None
    children: Ids | None = None
    values: Numbers | None = None

    @cached_property
    def _starts(self) -> Ids:
        # (sentences,) index of each sentence's first token among all tokens.
        return np.cumsum(self.lengths) - self.lengths

    def positions(self, indices: Sequence[int] | Ids) -> tuple[Mask, Ids]:
        """The mask of a batch, (batch, time) bool, and the index of each token where it is True."""
        chosen = np.asarray(indices)
        lengths = self.lengths[chosen]
        if len(chosen) == 1:  # most often in a server: one sentence, of which nothing is padding
            start, length = int(self._starts[chosen[0]]), int(lengths[0])
            return np.ones((1, length), dtype=np.bool_), np.arange(start, start + length)
        steps = np.arange(int(lengths.max()))
        # (time,) < (batch, 1) -> (batch, time)
        filled = steps < lengths[:, None]
        # (batch, 1) + (time,) -> (batch, time) -> (tokens of the batch,), row by row
        return filled, (self._starts[chosen, None] + steps)[filled]

    def tokens(self, indices: Sequence[int] | Ids, row_of: Ids) -> Tokens[Arrays]:
        """The sentences at `indices`, in that order.

        Args:
            indices: of sentences.
            row_of: (distinct words,) the row of each in a table of words, such as a `WordCache`.
        """
        filled, positions = self.positions(indices)
        return self._tokens(indices, filled, positions, row_of[self.numbers[positions]])

    def _tokens(
        self, indices: Sequence[int] | Ids, filled: Mask, positions: Ids, rows: Ids
    ) -> Tokens[Arrays]:
        return Tokens(
            _padded(rows, filled),
            filled,
            tuple(_padded(column[positions], filled) for column in self.features),
            documents_of_rows(np.asarray(indices), self.documents),
            children=None if self.children is None else _padded(self.children[positions], filled),
            numbers=None if self.values is None else _padded(self.values[positions], filled),
        )


@dataclass(frozen=True)
class Encoded:
    """Sentences to learn from, as ids.

    Attributes:
        indexed: their tokens.
        encoded_words: their distinct words.
        targets: their gold labels, by name.
        weights: (sentences,) weight of each in the loss; None where all weigh the same.
        contextual: what language models give of each sentence; None without any.
    """

    indexed: Indexed
    encoded_words: EncodedWords
    targets: Mapping[str, Target]
    weights: npt.NDArray[np.float32] | None = None
    contextual: ContextualInputs | None = None

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.indexed.lengths)

    @property
    def lengths(self) -> Ids:
        """(sentences,) number of words in each."""
        return self.indexed.lengths

    @property
    def documents(self) -> Ids | None:
        """(sentences,) as in `Indexed`."""
        return self.indexed.documents

    @property
    def target_count(self) -> int:
        """Divisor of the loss: number of tokens if a target is per token, else of sentences."""
        # With tags and classes together the number of tokens is taken for both.
        own = [target for target in self.targets.values() if not target.auxiliary]
        if counts := [target.count for target in own if target.count is not None]:
            return sum(counts)
        per_token = any(target.per == "token" for target in own)
        return int(self.lengths.sum()) if per_token else len(self)

    def paths(self, name: str) -> list[list[int]]:
        """The ids of a target per token, sentence by sentence."""
        # np.split wants the boundaries between sentences, so not the end of the last one.
        cuts = np.cumsum(self.lengths)[:-1]
        return [ids.tolist() for ids in np.split(self.targets[name].values, cuts)]

    def batch(self, indices: Sequence[int] | Ids) -> Batch[Arrays]:
        """The sentences at `indices`, in that order, as one batch."""
        filled, positions = self.indexed.positions(indices)
        words, tokens = words_and_tokens(self.indexed, self.encoded_words, indices)
        if self.contextual is not None:
            read = self.contextual.batch(indices, filled.shape[1])
            tokens = replace(tokens, contextual=read)
        return Batch(
            words=words,
            tokens=tokens,
            targets={
                name: _padded(target.values[positions], filled)
                if target.per == "token"
                else target.values[indices]
                for name, target in self.targets.items()
            },
            weights=None if self.weights is None else self.weights[indices],
        )


def words_and_tokens(
    indexed: Indexed, encoded_words: EncodedWords, indices: Sequence[int] | Ids
) -> tuple[Words[Arrays], Tokens[Arrays]]:
    """The inputs of a batch: its distinct words, and its sentences as rows of these."""
    filled, positions = indexed.positions(indices)
    distinct, inverse = np.unique(indexed.numbers[positions], return_inverse=True)
    words, position = encoded_words.words(distinct)
    # `inverse` is each token's place among the distinct words as np.unique sorts them; `position`
    # is where each of those is in `words`, which are sorted by length.
    return words, indexed._tokens(indices, filled, positions, position[inverse])


def index(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    document_words: int = 0,
    tree: str = "",
) -> Indexed:
    """Sentences as numbers of their distinct words; tags and classes are not read.

    Args:
        sentences: with the feature columns of training.
        vocabulary: of the model. Where it reads units, these are the words here.
        document_words: maximum number of words that are read as one sequence of a document; 0 to
            read each sentence by itself.
        tree: that a recursive network reads, as of `tree_of`; empty for none.

    Raises:
        DataError: as of `tree_of`.
    """
    flat = words = [word for sentence in sentences for word in sentence.words]
    lengths = np.array([len(sentence.words) for sentence in sentences], dtype=np.int64)
    counts = np.ones(len(words), dtype=np.int64)  # (words,) of units
    if vocabulary.reads_units:
        flat, counts = cut_all(words, vocabulary.units_of)
        # From the sum up to a sentence's end that up to the end of the one before is taken.
        lengths = np.diff(np.cumsum(counts)[np.cumsum(lengths) - 1], prepend=0)
    # dict.fromkeys keeps the order of first occurrence, which a set would not: the same corpus must
    # give the same numbers in every process.
    number = {word: place for place, word in enumerate(dict.fromkeys(flat))}
    columns = [
        vocabulary.feature_ids(column, [v for s in sentences for v in s.features[column]])
        for column in range(len(vocabulary.features))
    ]
    # Without columns np.array([]) would be (0,), not (0, tokens).
    features = np.array(columns, dtype=np.int64).reshape(len(columns), len(words))
    columns_of_numbers = vocabulary.vectors
    values = standardised(sentences, columns_of_numbers) if columns_of_numbers else None
    return Indexed(
        distinct=list(number),
        numbers=np.fromiter(map(number.__getitem__, flat), np.int64, len(flat)),
        lengths=lengths,
        features=np.repeat(features, counts, axis=1),  # a unit has those of its word
        documents=document_numbers(sentences, document_words),
        children=tree_children(sentences, tree) if tree else None,
        values=None if values is None else np.repeat(values, counts, axis=0),
    )


def encode_words(words: Sequence[str], vocabulary: Vocabulary, *, chars: bool) -> EncodedWords:
    """Words as ids; with `chars` their characters too, or the units in place of these."""
    spelt = [vocabulary.char_ids(word) for word in words] if chars else []
    return EncodedWords(
        word_ids=np.array([vocabulary.word_id(word) for word in words], dtype=np.int64),
        vector_rows=np.array([vocabulary.vector_row(word) for word in words], dtype=np.int64)
        if vocabulary.vector_words
        else np.zeros(len(words), dtype=np.int64),
        chars=np.fromiter(chain.from_iterable(spelt), np.int64),
        # No word is empty, and unknown characters have an id too, so no count is 0.
        char_counts=np.fromiter(map(len, spelt), np.int64),
        affix_ids=_affix_ids(words, vocabulary),
    )


def _affix_ids(words: Sequence[str], vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
    width = AFFIXES_PER_WORD if vocabulary.affixes else 0
    # Word by word into the array: lists of a million words take more memory than it.
    ids = chain.from_iterable(map(vocabulary.affix_ids, words if width else ()))
    return np.fromiter(ids, np.int32, len(words) * width).reshape(len(words), width)


def encode(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    targets: Mapping[str, Target],
    *,
    chars: bool,
    weights: Sequence[float] | None = None,
    document_words: int = 0,
    tree: str = "",
) -> Encoded:
    """Sentences to learn from as ids.

    Args:
        sentences: of the training corpus.
        vocabulary: of the model.
        targets: gold labels of the sentences, by the names that the task gives them.
        chars: whether the model reads characters.
        weights: of the sentences in the loss; None where all weigh the same.
        document_words: as for `index`, and so is `tree`.
        tree: that a recursive network reads.

    Raises:
        DataError: as of `index`.
    """
    indexed = index(sentences, vocabulary, document_words=document_words, tree=tree)
    encoded_words = encode_words(indexed.distinct, vocabulary, chars=chars)
    weighed = None if weights is None else np.array(weights, dtype=np.float32)
    return Encoded(indexed, encoded_words, targets, weighed)


def _groups(lengths: Ids) -> Iterator[tuple[int, int]]:
    """Start and end of each group of words, whose lengths ascend.

    A group ends before the word that would bring it over a limit; a single word of any length is a
    group.
    """
    start, total = 0, 0  # `total`: characters of the group without padding
    for end, length in enumerate(lengths.tolist()):
        # Before and after the word at `end`, which is the longest so far, has been added.
        padding, size = length * (end - start) - total, length * (end + 1 - start)
        if padding > _CHAR_PADDING or (size > _GROUP_CHARS and end > start):
            yield start, end
            start, total = end, 0
        total += length
    yield start, len(lengths)


def _padded(values: Arrays, filled: Mask) -> Arrays:
    """Values, in order, where `filled` is True; `PAD_ID` elsewhere.

    A value may be one number or a row of numbers: (values, ...) -> (*filled.shape, ...).
    """
    # Masked assignment goes row by row, just as `values` is ordered; no loop over sentences.
    padded = np.full((*filled.shape, *values.shape[1:]), PAD_ID, dtype=values.dtype)
    padded[filled] = values
    return padded
