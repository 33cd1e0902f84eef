"""Prefixes, suffixes and shapes of words: features of words that training never saw.

By these, taggers without networks recognise unknown words (Ratnaparkhi 1996; Jurafsky
and Martin, "Sequence Labeling for Parts of Speech and Named Entities", section on features for CRF
taggers). The network over the characters can learn them, but not from a few hundred sentences.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

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
