"""Whether lines of as many words are texts, and not rows of words with their tags.

A column file without a blank line between sentences has the shape of such a text, and short texts
with a blank line between some of them have that of a column file. What the lines end with
distinguishes the two, where there is enough of it.
"""

from collections.abc import Sequence

import regex

_SENTENCE_ENDS = ".?!"
# The tags of a sentence this long repeat each other, in the finest of usual tag sets as well.
_ENOUGH_LINES = 30
# Punctuation behind a word. "Mr." is one as well, but few words of a text are.
_ENDS = frozenset(".?!,;:…।。！？，；：")
# Of the scripts without blanks between words, more than a word: nine of ten Chinese and Japanese
# words have four letters at most. Of the others marks count too, as there are many.
_SEVERAL_WORDS = regex.compile(
    r"[。！？，；：]\w|[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー]{5}"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{13}"
)


def looks_like_prose(lines: Sequence[str]) -> bool:
    """Whether the last words of these lines are no tags.

    Nine of ten end as a sentence does; or most are in lower case, and more than half of them are
    different. In doubt they are tags.
    """
    last = [words[-1] for line in lines if (words := line.split())]
    ends = sum(word[-1] in _SENTENCE_ENDS for word in last)
    if len(last) > 1 and 10 * ends >= 9 * len(last):
        return True
    lower = sum(word.islower() for word in last)
    return len(last) >= _ENOUGH_LINES and 2 * len(set(last)) > len(last) and 2 * lower > len(last)


def are_words(cells: Sequence[str]) -> bool:
    """Whether lines without blanks are words, but for a few, and not texts."""
    ended = sum(cell[-1:] in _ENDS and any(map(str.isalnum, cell)) for cell in cells)
    several = sum(_SEVERAL_WORDS.search(cell) is not None for cell in cells)
    # Of a few tokens, abbreviations and initials may be a good part.
    return 10 * several <= len(cells) >= 3 * ended


def are_tagged(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column behind the first holds tags: at most every second one is new.

    Tags repeat each other more than the words do. In doubt there are none.
    """
    kinds = [len({*column}) for column in zip(*rows, strict=True)]
    return any(1 < of_tags < max(kinds) and 2 * of_tags <= len(rows) for of_tags in kinds[1:])
