"""Sentences -> padded batches: encoding, buckets of similar length, order kept.

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

from tagkit.sentence import Sentence
from tagkit.vocab import PAD_ID, Vocabulary

Ids = npt.NDArray[np.int64]

# Distinct words of a batch are padded to one length until so many steps of padding have been
# added; then a new group begins. A group costs two more calls of the network.
_CHAR_PADDING = 1000
# Padded tokens of a batch that is measured in sentences: bounds memory where texts are long.
_MOST_TOKENS = 65_536
# Batches that are shuffled as one: sentences of similar length come from among so many.
_POOL_BATCHES = 64


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences of one step, padded on the right to the longest.

    Attributes:
        word_ids: (batch, time) int64, `PAD_ID` where padded.
        vector_rows: (batch, time) int64 row of each token's pretrained vector, 0 of none and where
            padded.
        mask: (batch, time) bool, True on real tokens. Every row starts with True.
        char_ids: distinct words in groups of similar length, each (words, chars) int64, `PAD_ID`
            where padded; empty where the model reads no characters.
        word_rows: (batch, time) int64, the row of each token's word in the groups laid end to end.
        feature_ids: one (batch, time) int64 a feature column.
        tag_ids: (batch, time) int64, 0 where padded; None when the tags are to be predicted.
        classes: (batch, classes) bool, True of the gold classes; None when there are none.
    """

    word_ids: Tensor
    vector_rows: Tensor
    mask: Tensor
    char_ids: tuple[Tensor, ...]
    word_rows: Tensor
    feature_ids: tuple[Tensor, ...]
    tag_ids: Tensor | None
    classes: Tensor | None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        if device.type == "cpu":
            return self
        return Batch(
            self.word_ids.to(device, non_blocking=True),
            self.vector_rows.to(device, non_blocking=True),
            self.mask.to(device, non_blocking=True),
            tuple(group.to(device, non_blocking=True) for group in self.char_ids),
            self.word_rows.to(device, non_blocking=True),
            tuple(ids.to(device, non_blocking=True) for ids in self.feature_ids),
            None if self.tag_ids is None else self.tag_ids.to(device, non_blocking=True),
            None if self.classes is None else self.classes.to(device, non_blocking=True),
        )

    def with_words(self, word_ids: Tensor) -> "Batch":
        """The same batch with other word ids."""
        return replace(self, word_ids=word_ids)


@dataclass(frozen=True)
class Encoded:
    """Sentences as ids.

    Attributes:
        word_ids: one (words,) array a sentence.
        vector_rows: one (words,) array a sentence.
        surfaces: one (words,) array a sentence, each word's place in `spellings`.
        spellings: character ids of each distinct word; empty where no characters are read.
        feature_ids: one (columns, words) array a sentence.
        tag_ids: one (words,) array a sentence; None when the tags are to be predicted.
        classes: (sentences, classes) bool, True of the gold classes; None when there are none.
    """

    word_ids: list[Ids]
    vector_rows: list[Ids]
    surfaces: list[Ids]
    spellings: list[Ids]
    feature_ids: list[Ids]
    tag_ids: list[Ids] | None
    classes: npt.NDArray[np.bool_] | None

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.word_ids)

    @cached_property
    def lengths(self) -> Ids:
        """(sentences,) number of words of each."""
        return np.array([len(ids) for ids in self.word_ids], dtype=np.int64)

    @cached_property
    def _spelling_lengths(self) -> Ids:
        return np.array([len(chars) for chars in self.spellings], dtype=np.int64)

    def batch(self, indices: Sequence[int] | Ids) -> Batch:
        """The sentences at `indices`, in that order, as one batch."""
        lengths = self.lengths[np.asarray(indices)]
        time = int(lengths.max())
        filled = np.arange(time) < lengths[:, None]
        char_ids, rows = self._chars([self.surfaces[i] for i in indices])
        columns = len(self.feature_ids[0]) if self.feature_ids else 0
        tags = self.tag_ids
        return Batch(
            word_ids=_pad([self.word_ids[i] for i in indices], filled),
            vector_rows=_pad([self.vector_rows[i] for i in indices], filled),
            mask=torch.from_numpy(filled),
            char_ids=char_ids,
            word_rows=_pad([rows], filled),
            feature_ids=tuple(
                _pad([self.feature_ids[i][column] for i in indices], filled)
                for column in range(columns)
            ),
            tag_ids=_pad([tags[i] for i in indices], filled) if tags is not None else None,
            classes=None if self.classes is None else torch.from_numpy(self.classes[indices]),
        )

    def _chars(self, surfaces: list[Ids]) -> tuple[tuple[Tensor, ...], Ids]:
        """Groups of the distinct words' characters, and each token's row in them."""
        if not self.spellings:
            return (), np.concatenate(surfaces)
        distinct, rows = np.unique(np.concatenate(surfaces), return_inverse=True)
        lengths = self._spelling_lengths[distinct]
        by_length = np.argsort(lengths, kind="stable")
        place = np.empty_like(by_length)
        place[by_length] = np.arange(len(by_length))
        groups = []
        for start, end in _groups(lengths[by_length]):
            words = [self.spellings[i] for i in distinct[by_length[start:end]]]
            widths = lengths[by_length[start:end]]
            groups.append(_pad(words, np.arange(int(widths[-1])) < widths[:, None]))
        return tuple(groups), place[rows]


def encode(sentences: Sequence[Sentence], vocabulary: Vocabulary, *, chars: bool) -> Encoded:
    """Sentences as ids; their tags and classes too, where the model has such.

    Args:
        sentences: with tags in the training scheme, all of them in `vocabulary`, or without; their
            labels likewise.
        vocabulary: of the model.
        chars: whether the model reads characters.

    Raises:
        KeyError: a tag or class that is not in the vocabulary.
    """
    number: dict[str, int] = {}
    surfaces = [
        np.array([number.setdefault(word, len(number)) for word in sentence.words], dtype=np.int64)
        for sentence in sentences
    ]
    ids_of = np.array([vocabulary.word_id(word) for word in number], dtype=np.int64)
    rows_of = np.array([vocabulary.vector_row(word) for word in number], dtype=np.int64)
    # A word of no characters cannot be; a word of unknown ones still has some.
    spellings = [np.array(vocabulary.char_ids(word), dtype=np.int64) for word in number]
    tagged = bool(vocabulary.tags) and all(sentence.tags is not None for sentence in sentences)
    return Encoded(
        word_ids=[ids_of[surface] for surface in surfaces],
        vector_rows=[rows_of[surface] for surface in surfaces],
        surfaces=surfaces,
        spellings=spellings if chars else [],
        feature_ids=[_features(sentence, vocabulary) for sentence in sentences],
        tag_ids=[_tags(sentence, vocabulary) for sentence in sentences] if tagged else None,
        classes=_classes(sentences, vocabulary) if vocabulary.classes else None,
    )


def batches_in_order(lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """Indices of batches of similar length, the shortest first: little padding, no chance.

    Args:
        lengths: (sentences,) number of words of each.
        batch_size: sentences a batch, at most.
        batch_tokens: tokens a batch, padding included, at most, where a sentence is no longer
            than that.
    """
    return _cut(np.argsort(lengths, kind="stable"), lengths, batch_size, batch_tokens)


def batches_at_random(
    lengths: Ids, batch_size: int, batch_tokens: int, generator: np.random.Generator
) -> list[Ids]:
    """Indices of an epoch's batches: sentences of similar length, otherwise in random order.

    The corpus is shuffled, cut into pools, each pool sorted by length and cut into batches, and
    the batches shuffled. A batch has `batch_tokens` tokens, padding included, or, where that is 0,
    `batch_size` sentences (fewer where they are so long that memory is at risk).
    """
    shuffled = generator.permutation(len(lengths))
    # With a token budget alone a batch of average sentences sets the size of a pool.
    average = max(1, int(lengths.mean()))
    size = max(1, batch_tokens // average) if batch_tokens else batch_size
    pools = max(1, round(len(lengths) / (size * _POOL_BATCHES)))
    batches = []
    for pool in np.array_split(shuffled, pools):
        ordered = pool[np.argsort(lengths[pool], kind="stable")]
        limit = len(lengths) if batch_tokens else batch_size
        batches += _cut(ordered, lengths, limit, batch_tokens or _MOST_TOKENS)
    return [batches[i] for i in generator.permutation(len(batches))]


def padding_share(lengths: Ids, batches: Sequence[Ids]) -> float:
    """How much of the batches' area is padding, 0 to 1."""
    area = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - float(lengths.sum()) / area if area else 0.0


def _cut(ordered: Ids, lengths: Ids, batch_size: int, batch_tokens: int) -> list[Ids]:
    """Cut indices that are sorted by length into batches."""
    return list(_slices(ordered, lengths, batch_size, batch_tokens))


def _slices(ordered: Ids, lengths: Ids, batch_size: int, batch_tokens: int) -> Iterator[Ids]:
    start = 0
    for end in range(len(ordered)):
        rows = end - start
        too_wide = (rows + 1) * int(lengths[ordered[end]]) > batch_tokens
        if rows and (rows == batch_size or too_wide):
            yield ordered[start:end]
            start = end
    if start < len(ordered):
        yield ordered[start:]


def _groups(lengths: Ids) -> Iterator[tuple[int, int]]:
    """Cut ascending lengths where padding all to the next would add too many steps."""
    start, total = 0, 0
    for end, length in enumerate(lengths.tolist()):
        if length * (end - start) - total > _CHAR_PADDING:
            yield start, end
            start, total = end, 0
        total += length
    yield start, len(lengths)


def _pad(rows: Sequence[Ids], filled: npt.NDArray[np.bool_]) -> Tensor:
    """Rows laid out where `filled` is True, `PAD_ID` elsewhere."""
    padded = np.full(filled.shape, PAD_ID, dtype=np.int64)
    padded[filled] = np.concatenate(rows)
    return torch.from_numpy(padded)


def _features(sentence: Sentence, vocabulary: Vocabulary) -> Ids:
    columns = [
        vocabulary.feature_ids(column, values) for column, values in enumerate(sentence.features)
    ]
    return np.array(columns, dtype=np.int64).reshape(len(columns), len(sentence))


def _tags(sentence: Sentence, vocabulary: Vocabulary) -> Ids:
    ids = [vocabulary.tag_id(tag) for tag in sentence.tags or ()]
    if None in ids:
        unknown = (sentence.tags or ())[ids.index(None)]
        raise KeyError(unknown)
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
