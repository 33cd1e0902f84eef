"""Whether lines of as many words are sentences of a text, and not rows of words with their tags.

A column file without a blank line between sentences has the shape of such a text. What its lines
end with distinguishes the two, where there is enough of it.
"""

from collections.abc import Sequence

_SENTENCE_ENDS = ".?!"
# The tags of a sentence this long repeat each other, in the finest of usual tag sets as well.
_ENOUGH_LINES = 30


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
