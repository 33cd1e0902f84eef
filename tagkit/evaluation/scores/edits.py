"""How far a string is from another one: the least number of units inserted, deleted or replaced.

Levenshtein 1966; Jurafsky and Martin, section on minimum edit distance.
"""

from collections.abc import Hashable, Sequence


def edit_distance(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """The least number of insertions, deletions and substitutions between two sequences."""
    if len(left) < len(right):
        left, right = right, left
    # What both begin or end with costs nothing: most predictions are nearly right.
    start, shortest = 0, len(right)
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    row = list(range(len(right) + 1))
    for number, one in enumerate(left, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(right, 1):
            changed = before + (one != other)
            before = row[place]
            row[place] = min(changed, before + 1, row[place - 1] + 1)
    return row[-1]
