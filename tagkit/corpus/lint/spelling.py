"""Labels that may be one label, spelt in two ways; and which spelling was meant."""

import re
from collections import Counter
from itertools import combinations

_SHORT = 5  # letters; shorter labels differ in one as a rule (NN, NNS)
_RARE = 3  # examples that a slip of the pen may have
_RARER = 4  # times as frequent must the other be
_MAX_LABELS = 1000  # labels; more are no set of labels, and their pairs too many to look at
# Between digits a sign tells labels apart: 1.1 is not 11.
_SIGNS = re.compile(r"(?<![0-9])[-_. ]+|[-_. ]+(?![0-9])")


def variants(counts: Counter[str], *, plain: bool) -> list[tuple[str, str]]:
    """Pairs of labels that look like one, the more frequent first.

    They differ in case or punctuation alone, or, unless they are `plain` ones such as parts of
    speech, in one letter where the rarer has at most three examples or one in a hundred.
    """
    # Labels by what is left of them without case and punctuation: B-PER and b_per share a form.
    by_form: dict[str, list[str]] = {}
    for label, _ in counts.most_common():
        by_form.setdefault(_form(label), []).append(label)
    pairs = [(group[0], other) for form, group in by_form.items() if form for other in group[1:]]
    first_of = [group[0] for form, group in by_form.items() if len(form) >= _SHORT]
    # One letter apart is how parts of speech are made: NN and NNS, VBD and VBN.
    if plain or len(first_of) > _MAX_LABELS:
        return pairs
    for often, rare in combinations(first_of, 2):  # most_common() had them in this order
        if (
            counts[rare] <= max(_RARE, counts[often] // 100)
            and _RARER * counts[rare] <= counts[often]
            and _one_letter_apart(_form(often), _form(rare))
        ):
            pairs.append((often, rare))
    return pairs


def _form(label: str) -> str:
    return _SIGNS.sub("", label.casefold())


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether one letter was changed, left out or put in; digits tell labels apart on purpose."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    start = next((i for i, char in enumerate(one) if char != other[i]), len(one))
    rest = one[start + 1 :] if len(one) == len(other) else one[start:]
    changed = other[start : start + 1] + (one[start : start + 1] if len(one) == len(other) else "")
    return rest == other[start + 1 :] and not any(char.isdigit() for char in changed)
