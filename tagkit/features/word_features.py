"""Prefixes, suffixes and shapes of words, and what the CRF of word features reads of a token.

By these, taggers without networks recognise words that training never saw (Ratnaparkhi 1996;
Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named Entities", section on features
for CRF taggers). The network over the characters can learn them, but not from a few hundred
sentences. The CRF reads a token's word, affixes and shape, and its neighbours'. A feature such as
"the word before is 'in'" is known by its key, a hash of 64 bits: no text of it is kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tagkit.text.records import Sentence

_PREFIXES = (1, 2, 3)  # lengths in characters
_SUFFIXES = (1, 2, 3, 4)  # endings carry more grammar than beginnings in most written languages
# An affix of one word alone says no more than the word does.
_MIN_WORDS = 2
# A corpus of a million words has tens of thousands, the rare ones of names and numbers.
_MAX_AFFIXES = 20_000
MAX_KEPT = 64  # characters of a word of which a cache keeps something


def affixes_of(word: str) -> list[str]:
    """A word's prefixes ("un-"), suffixes ("-ing") and shape ("=Xx"), always equally many.

    Affixes are in lower case; those as long as the word or longer are empty.
    """
    lower = word.lower()
    size = len(lower)
    affixes = [f"{lower[:length]}-" if length < size else "" for length in _PREFIXES]
    affixes += [f"-{lower[-length:]}" if length < size else "" for length in _SUFFIXES]
    affixes.append(f"={word_shape(word)}")
    return affixes


AFFIXES_PER_WORD = len(_PREFIXES) + len(_SUFFIXES) + 1


def word_shape(word: str) -> str:
    """Kinds of a word's characters, at most two of one kind in a row: "DC10-30" is "XX00-00".

    X stands for upper case, x for lower case, 0 for digits, a for letters of scripts without case;
    other characters stand for themselves.
    """
    kinds = word.translate(_KINDS)
    return _kept_shape(kinds) if len(kinds) <= MAX_KEPT else _shortened(kinds)


def _shortened(kinds: str) -> str:
    return _REPEATED.sub(r"\1\1", kinds)


# Words have few shapes beside their lengths, and finding one again takes a thirtieth.
_kept_shape = lru_cache(4096)(_shortened)


def _kind(char: str) -> str:
    if char.isupper():
        return "X"
    if char.islower():
        return "x"
    if char.isdigit():
        return "0"
    return "a" if char.isalpha() else char


class _Kinds(dict[int, str]):
    """The kind of each character by its code point, found where the character is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = _kind(chr(code))
        return self[code]


_KINDS = _Kinds()
# Any character three times or more. Possessive: a greedy repeat remembers every step that it could
# go back to, some 80 bytes a character.
_REPEATED = re.compile(r"(.)\1{2,}+", re.DOTALL)


def frequent_affixes(words: Iterable[str]) -> tuple[str, ...]:
    """The affixes and shapes of distinct words, the most frequent first.

    Args:
        words: distinct, as written in the training corpus.
    """
    counts: Counter[str] = Counter()
    for word in words:
        counts.update(affix for affix in affixes_of(word) if affix)
    known = [affix for affix, count in counts.items() if count >= _MIN_WORDS]
    # Ties are broken by the alphabet, so that ids do not depend on the corpus's order.
    known.sort(key=lambda affix: (-counts[affix], affix))
    return tuple(known[:_MAX_AFFIXES])


Keys = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Values = npt.NDArray[np.float64]

_LENGTHS = (1, 2, 3, 4)  # of prefixes and suffixes, in characters
# Places in what `word_parts` gives of a word, and how many of these `pair_keys` reads.
_LOWER, _SHAPE, _SHOWN = 0, 1, slice(0, 4)
PAIR_PARTS = 2
_OWN = [_LOWER, _SHAPE, *range(4, 5 + 2 * len(_LENGTHS))]
# Features of a token by what they depend on, in the order of their keys: the word itself and what
# every token has, the word before, the word after, and then pairs of words and columns.
OWN, BEFORE, AFTER = slice(0, 12), slice(12, 16), slice(16, 20)
_SHAPES = slice(20, 23)  # the pairs and the three of shapes alone
_FIRST_PAIR, _FIRST_COLUMN = 20, 25
# Words that training never saw have shapes that it did see, so that weights of shapes serve most.
# Chosen on dev (benchmarks/BENCHMARKS.md, "Clusters of vectors, shapes, and larger shares").
_SHAPE_VALUE = 1.4
_FIRST_CLUSTER = 2**32  # behind those of any number of columns
_START, _END = "\x02", "\x03"  # stand for the word before a sentence, and after it
BORDERS = (_START, _END)
# Odd numbers near 2^64 / 1.618 and others without a pattern: similar hashes get distant keys.
_BY_TEMPLATE = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND, _THIRD = (
    np.uint64(number) for number in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)
)
_MIXING = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def feature_keys(sentence: Sentence) -> Keys:
    """Keys of the features of each token, (tokens, features), of as many features in each sentence.

    Args:
        sentence: with the feature columns that the model reads.
    """
    parts = word_parts((_START, *sentence.words, _END))  # (tokens + 2, parts)
    words = word_keys(parts)
    # The features of a token, and what its neighbours have for it.
    found = [words[1:-1, OWN], words[:-2, BEFORE], words[2:, AFTER]]
    found += [pair_keys(parts[:-2], parts[1:-1], parts[2:]), column_keys(sentence)]
    return np.concatenate(found, axis=1)


def feature_groups(features: int) -> tuple[slice, ...]:
    """Features of a token that recur together, for few of their values are distinct.

    Args:
        features: how many a token has.
    """
    others = (slice(one, one + 1) for one in range(_SHAPES.stop, features))
    return OWN, BEFORE, AFTER, _SHAPES, *others


def feature_values(features: int) -> Values:
    """(features,) how strongly each feature counts while weights of few names are learnt.

    Args:
        features: how many a token has.
    """
    values = np.ones(features)
    # Among a token's own features the first is the one that every token has.
    for place in (OWN.start + 1 + _SHAPE, BEFORE.start + _SHAPE, AFTER.start + _SHAPE):
        values[place] = _SHAPE_VALUE
    return values


def word_parts(words: Sequence[str]) -> Hashes:
    """(words, parts) hashes of the parts of words that features are made of."""
    return np.stack([_parts(word) for word in words])


def word_keys(parts: Hashes) -> Keys:
    """(words, features) keys of what depends on one word: `OWN`, `BEFORE` the next, `AFTER` it.

    Args:
        parts: (words, parts) as `word_parts` gives them.
    """
    # A feature that every token has: how frequent each tag is.
    every, shown = np.zeros((len(parts), 1), np.uint64), parts[:, _SHOWN]
    return _keys([every, parts[:, _OWN], shown, shown], OWN.start)


def pair_keys(before: Hashes, here: Hashes, after: Hashes) -> Keys:
    """(tokens, features) keys of what depends on a word and its neighbours together.

    Args:
        before: (tokens, parts) of the words before, of which the first `PAIR_PARTS` are read.
        here: (tokens, parts) of the words themselves.
        after: (tokens, parts) of the words after.
    """
    shape, last, next_ = here[:, _SHAPE], before[:, _SHAPE], after[:, _SHAPE]
    together = [
        last * _FIRST + shape * _SECOND,
        shape * _FIRST + next_ * _SECOND,
        last * _FIRST + shape * _SECOND + next_ * _THIRD,
        before[:, _LOWER] * _FIRST + shape * _SECOND,
        shape * _FIRST + after[:, _LOWER] * _SECOND,
    ]
    return _keys([np.stack(together, axis=1)], _FIRST_PAIR)


def column_keys(sentence: Sentence) -> Keys:
    """(tokens, features) keys of the feature columns, at the word and at both neighbours."""
    found = [np.zeros((len(sentence.words), 0), np.uint64)]
    for values in sentence.features:
        hashes = np.array([_hash(value) for value in (_START, *values, _END)], np.uint64)
        found.append(np.stack([hashes[:-2], hashes[1:-1], hashes[2:]], axis=1))
    return _keys(found, _FIRST_COLUMN)


def cluster_keys(numbers: npt.NDArray[np.int64]) -> Keys:
    """(words, 3, kinds) keys of clusters: for a word's own tokens, the next, and the one before.

    Args:
        numbers: (words, kinds) of the clusters of their vectors.
    """
    places = [numbers.astype(np.uint64)] * 3
    return _keys(places, _FIRST_CLUSTER).reshape(len(numbers), 3, -1)


def _parts(word: str) -> Hashes:
    """Hashes of a word: lower case, shape, last two and three letters, spelling, affixes."""
    # A cache of so many words of any length would have no bound.
    return _kept_parts(word) if len(word) <= MAX_KEPT else _new_parts(word)


def _new_parts(word: str) -> Hashes:
    lower = word.lower()
    parts = [lower, word_shape(word), lower[-2:], lower[-3:], word]
    parts += [word[:length] for length in _LENGTHS]
    parts += [word[-length:] for length in _LENGTHS]
    return np.array([_hash(part) for part in parts], np.uint64)


_kept_parts = lru_cache(65_536)(_new_parts)


def _hash(text: str) -> int:
    # Of a file that is not Unicode throughout, a word may hold half of a surrogate pair.
    return crc32(text.encode("utf-8", "surrogatepass"))


def _keys(hashes: Sequence[Hashes], first: int) -> Keys:
    """The keys of features of these hashes, the first of which is number `first` of a token's."""
    raw: Hashes = np.concatenate(hashes, axis=1)
    # The same word before a token and after it are two features.
    templates = np.arange(first, first + raw.shape[1], dtype=np.uint64) * _BY_TEMPLATE
    return _mixed(raw + templates)


def _mixed(keys: Hashes) -> Keys:
    """Keys whose every bit depends on all bits (Steele et al. 2014, SplitMix64)."""
    for shift, factor in _MIXING:
        keys = (keys ^ (keys >> np.uint64(shift))) * factor  # modulo 2^64
    return (keys ^ (keys >> np.uint64(31))).view(np.int64)
