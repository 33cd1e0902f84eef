"""Column files whose first column counts the words of a sentence, and so is none of words.

GermEval 2014 and Universal NER begin a line with 1, 2, 3; WebAnno and INCEpTION with 1-1, 1-2. Read
as words, the numbers of a corpus can be learnt, and scored, and mean nothing.
"""

import re
from collections.abc import Iterable
from itertools import islice

from tagkit.text.records import Sentence

LOOKED_AT = 200  # sentences
_FEWEST, _SHARE = 3, 0.9  # of those with two words or more
_NUMBER = re.compile(r"(?:[0-9]{1,6}-)?([0-9]{1,6})")


def are_counted(sentences: Iterable[Sentence]) -> bool:
    """Whether the words of nearly all sentences are numbers that count up by one, from 0 or 1."""
    several = [each.words for each in islice(sentences, LOOKED_AT) if len(each.words) > 1]
    counted = sum(map(_count_up, several))
    return counted >= _FEWEST and counted >= _SHARE * len(several)


def _count_up(words: tuple[str, ...]) -> bool:
    found = [_NUMBER.fullmatch(word) for word in words]
    if not all(found):
        return False
    numbers = [int(each[1]) for each in found if each]
    return numbers[0] in (0, 1) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]
