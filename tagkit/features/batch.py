"""Sentences -> ids -> padded batches.

Each distinct spelling's characters are encoded once a corpus, and enter a batch once however often
the word occurs in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.features.bucketing import Ids
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.text.records import Sentence

# Distinct words of a batch are padded to one length until so many steps of padding have been
# added; then a new group begins. A group costs two more calls of the network.
_CHAR_PADDING = 1000
# Characters of a group, padding included: bounds memory where many words are long.
_GROUP_CHARS = 131_072


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
    """What is learnt from in one step.

    Attributes:
        words: the distinct words of the sentences.
        tokens: which of them stands where.
        tag_ids: (batch, time) int64, 0 where padded; None when the tags are to be predicted.
        classes: (batch, classes) bool, True of the gold classes; None when there are none.
    """

    words: Words
    tokens: Tokens
    tag_ids: Tensor | None
    classes: Tensor | None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        if device.type == "cpu":
            return self
        return Batch(
            self.words.to(device),
            self.tokens.to(device),
            None if self.tag_ids is None else self.tag_ids.to(device, non_blocking=True),
            None if self.classes is None else self.classes.to(device, non_blocking=True),
        )

    def with_words(self, word_ids: Tensor) -> "Batch":
        """The same batch with other word ids."""
        return replace(self, words=replace(self.words, word_ids=word_ids))


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
class Encoded:
    """Sentences to learn from, as ids.

    Attributes:
        indexed: their tokens.
        spellings: their distinct words.
        tag_ids: (tokens,); None where there are none.
        classes: (sentences, classes) bool, True of the gold classes; None where there are none.
    """

    indexed: Indexed
    spellings: Spellings
    tag_ids: Ids | None
    classes: npt.NDArray[np.bool_] | None

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.indexed.lengths)

    @property
    def lengths(self) -> Ids:
        """(sentences,) number of words of each."""
        return self.indexed.lengths

    @property
    def targets(self) -> int:
        """Number of decisions to learn: the tags, or the classes of texts that have no tags."""
        return len(self) if self.tag_ids is None else len(self.tag_ids)

    def paths(self) -> list[list[int]]:
        """The tag ids of each sentence; empty where there are none."""
        if self.tag_ids is None:
            return []
        cuts = np.cumsum(self.lengths)[:-1]
        return [ids.tolist() for ids in np.split(self.tag_ids, cuts)]

    def batch(self, indices: Sequence[int] | Ids) -> Batch:
        """The sentences at `indices`, in that order, as one batch."""
        filled, places = self.indexed.places(indices)
        distinct, inverse = np.unique(self.indexed.numbers[places], return_inverse=True)
        words, place = self.spellings.words(distinct)
        tags = None if self.tag_ids is None else _laid_out(self.tag_ids[places], filled)
        return Batch(
            words=words,
            tokens=self.indexed._tokens(filled, places, place[inverse]),
            tag_ids=tags,
            classes=None if self.classes is None else torch.from_numpy(self.classes[indices]),
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


def encode(sentences: Sequence[Sentence], vocabulary: Vocabulary, *, chars: bool) -> Encoded:
    """Sentences to learn from as ids: their tags and classes too, where the model has such.

    Args:
        sentences: with tags in the training scheme, all of them in `vocabulary`, or without; their
            labels likewise.
        vocabulary: of the model.
        chars: whether the model reads characters.

    Raises:
        KeyError: a tag or class that is not in the vocabulary.
    """
    indexed = index(sentences, vocabulary)
    tagged = bool(vocabulary.tags) and all(sentence.tags is not None for sentence in sentences)
    return Encoded(
        indexed=indexed,
        spellings=spell(indexed.distinct, vocabulary, chars=chars),
        tag_ids=_tags(sentences, vocabulary) if tagged else None,
        classes=_classes(sentences, vocabulary) if vocabulary.classes else None,
    )


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


def _tags(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Ids:
    tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    ids = [vocabulary.tag_id(tag) for tag in tags]
    if None in ids:
        raise KeyError(tags[ids.index(None)])
    return np.array(ids, dtype=np.int64)


def _classes(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> npt.NDArray[np.bool_]:
    classes = np.zeros((len(sentences), len(vocabulary.classes)), dtype=np.bool_)
    for row, sentence in enumerate(sentences):
        for label in sentence.labels:
            number = vocabulary.class_id(label)
            if number is None:
                raise KeyError(label)
            classes[row, number] = True
    return classes
