"""Sentences -> ids -> padded batches.

Each distinct word's characters are encoded once for a corpus, and enter a batch once however often
the word occurs in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.features.batch import Batch, Tokens, Words
from tagkit.features.bucketing import Ids
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.text.records import Sentence

# Distinct words of a batch are padded to one length until so many steps of padding have been
# added; then a new group begins. A group costs two more calls of the network.
_CHAR_PADDING = 1000
# Characters of a group, padding included: bounds memory where many words are long.
_GROUP_CHARS = 131_072


@dataclass(frozen=True)
class Spellings:
    """Distinct words as ids.

    Attributes:
        word_ids: (words,).
        vector_rows: (words,).
        chars: ids of each word's characters; empty where no characters are read.
    """

    word_ids: Ids
    vector_rows: Ids
    chars: list[Ids]

    @cached_property
    def _lengths(self) -> Ids:
        return np.array([len(chars) for chars in self.chars], dtype=np.int64)

    def words(self, which: Ids) -> tuple[Words, Ids]:
        """Some of the words, the shortest first, and where in that order each of `which` stands."""
        if not self.chars:
            return self._words(which, ()), np.arange(len(which))
        lengths = self._lengths[which]
        by_length = np.argsort(lengths, kind="stable")
        place = np.empty_like(by_length)
        place[by_length] = np.arange(len(by_length))
        ordered, widths = which[by_length], lengths[by_length]
        groups = []
        for start, end in _groups(widths):
            filled = np.arange(int(widths[end - 1])) < widths[start:end, None]
            spelt = np.concatenate([self.chars[i] for i in ordered[start:end]])
            groups.append(_laid_out(spelt, filled))
        return self._words(ordered, tuple(groups)), place

    def _words(self, which: Ids, char_ids: tuple[Tensor, ...]) -> Words:
        word_ids, rows = self.word_ids[which], self.vector_rows[which]
        return Words(torch.from_numpy(word_ids), torch.from_numpy(rows), char_ids)


@dataclass(frozen=True)
class Indexed:
    """Sentences as numbers of distinct words, all tokens in one row.

    Attributes:
        distinct: the words, by number.
        numbers: (tokens,) which of them each token is.
        lengths: (sentences,) number of tokens of each.
        features: (columns, tokens) ids.
    """

    distinct: list[str]
    numbers: Ids
    lengths: Ids
    features: Ids

    @cached_property
    def _starts(self) -> Ids:
        return np.cumsum(self.lengths) - self.lengths

    def places(self, indices: Sequence[int] | Ids) -> tuple[npt.NDArray[np.bool_], Ids]:
        """Where sentences fill a (batch, time) array, and the tokens that stand there, in order."""
        chosen = np.asarray(indices)
        lengths = self.lengths[chosen]
        steps = np.arange(int(lengths.max()))
        filled = steps < lengths[:, None]
        return filled, (self._starts[chosen, None] + steps)[filled]

    def tokens(self, indices: Sequence[int] | Ids, row_of: Ids) -> Tokens:
        """The sentences at `indices`, in that order.

        Args:
            indices: of sentences.
            row_of: (distinct words,) the row in some table of each.
        """
        filled, places = self.places(indices)
        return self._tokens(filled, places, row_of[self.numbers[places]])

    def _tokens(self, filled: npt.NDArray[np.bool_], places: Ids, rows: Ids) -> Tokens:
        return Tokens(
            _laid_out(rows, filled),
            torch.from_numpy(filled),
            tuple(_laid_out(column[places], filled) for column in self.features),
        )


@dataclass(frozen=True)
class Target:
    """What is learnt of each token, or of each sentence, of a corpus.

    Attributes:
        values: (tokens,) int64 ids, all sentences in one row; or (sentences, ...) of any type.
        per: which of the two.
    """

    values: npt.NDArray[Any]
    per: Literal["token", "sentence"]


@dataclass(frozen=True)
class Encoded:
    """Sentences to learn from, as ids.

    Attributes:
        indexed: their tokens.
        spellings: their distinct words.
        targets: what is learnt of them, by name.
    """

    indexed: Indexed
    spellings: Spellings
    targets: Mapping[str, Target]

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.indexed.lengths)

    @property
    def lengths(self) -> Ids:
        """(sentences,) number of words of each."""
        return self.indexed.lengths

    @property
    def target_count(self) -> int:
        """What a loss is divided by: tokens where something is learnt of each, else sentences."""
        per_token = any(target.per == "token" for target in self.targets.values())
        return int(self.lengths.sum()) if per_token else len(self)

    def paths(self, name: str) -> list[list[int]]:
        """A token target's ids, sentence by sentence."""
        cuts = np.cumsum(self.lengths)[:-1]
        return [ids.tolist() for ids in np.split(self.targets[name].values, cuts)]

    def batch(self, indices: Sequence[int] | Ids) -> Batch:
        """The sentences at `indices`, in that order, as one batch."""
        filled, places = self.indexed.places(indices)
        distinct, inverse = np.unique(self.indexed.numbers[places], return_inverse=True)
        words, place = self.spellings.words(distinct)
        return Batch(
            words=words,
            # `inverse` is a token's place among the distinct words as np.unique sorts them, and
            # `place` where `words`, which are sorted by length, have each of these.
            tokens=self.indexed._tokens(filled, places, place[inverse]),
            targets={
                name: _laid_out(target.values[places], filled)
                if target.per == "token"
                else torch.from_numpy(target.values[indices])
                for name, target in self.targets.items()
            },
        )


def index(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Indexed:
    """Sentences as numbers of their distinct words; tags and classes are not looked at."""
    flat = [word for sentence in sentences for word in sentence.words]
    number = {word: place for place, word in enumerate(dict.fromkeys(flat))}
    columns = [
        vocabulary.feature_ids(column, [v for s in sentences for v in s.features[column]])
        for column in range(len(vocabulary.features))
    ]
    return Indexed(
        distinct=list(number),
        numbers=np.fromiter(map(number.__getitem__, flat), np.int64, len(flat)),
        lengths=np.array([len(sentence.words) for sentence in sentences], dtype=np.int64),
        features=np.array(columns, dtype=np.int64).reshape(len(columns), len(flat)),
    )


def spell(words: Sequence[str], vocabulary: Vocabulary, *, chars: bool) -> Spellings:
    """Words as ids; their characters too where the model reads such."""
    return Spellings(
        word_ids=np.array([vocabulary.word_id(word) for word in words], dtype=np.int64),
        vector_rows=np.array([vocabulary.vector_row(word) for word in words], dtype=np.int64)
        if vocabulary.vector_words
        else np.zeros(len(words), dtype=np.int64),
        # A word of no characters cannot be; a word of unknown ones still has some.
        chars=[np.array(vocabulary.char_ids(word), dtype=np.int64) for word in words]
        if chars
        else [],
    )


def encode(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    targets: Mapping[str, Target],
    *,
    chars: bool,
) -> Encoded:
    """Sentences to learn from as ids.

    Args:
        sentences: of the training corpus.
        vocabulary: of the model.
        targets: what is learnt of the sentences, by name, as their task has it.
        chars: whether the model reads characters.
    """
    indexed = index(sentences, vocabulary)
    return Encoded(indexed, spell(indexed.distinct, vocabulary, chars=chars), targets)


def tag_target(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Target:
    """The tags of sentences, one of each token.

    Raises:
        KeyError: a tag that is not in the vocabulary.
    """
    tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    ids = [vocabulary.tag_id(tag) for tag in tags]
    if None in ids:
        raise KeyError(tags[ids.index(None)])
    return Target(np.array(ids, dtype=np.int64), "token")


def class_target(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Target:
    """The classes of sentences: (sentences, classes) bool, True of the gold ones.

    Raises:
        KeyError: a class that is not in the vocabulary.
    """
    classes = np.zeros((len(sentences), len(vocabulary.classes)), dtype=np.bool_)
    for row, sentence in enumerate(sentences):
        for label in sentence.labels:
            number = vocabulary.class_id(label)
            if number is None:
                raise KeyError(label)
            classes[row, number] = True
    return Target(classes, "sentence")


def _groups(lengths: Ids) -> Iterator[tuple[int, int]]:
    """Cut ascending lengths where padding all to the next, or the next itself, would be too much.

    A word of up to `_GROUP_CHARS` characters always has room.
    """
    start, total = 0, 0
    for end, length in enumerate(lengths.tolist()):
        padding, size = length * (end - start) - total, length * (end + 1 - start)
        if padding > _CHAR_PADDING or (size > _GROUP_CHARS and end > start):
            yield start, end
            start, total = end, 0
        total += length
    yield start, len(lengths)


def _laid_out(values: Ids, filled: npt.NDArray[np.bool_]) -> Tensor:
    """Values, in order, where `filled` is True; `PAD_ID` elsewhere."""
    padded = np.full(filled.shape, PAD_ID, dtype=np.int64)
    padded[filled] = values
    return torch.from_numpy(padded)
