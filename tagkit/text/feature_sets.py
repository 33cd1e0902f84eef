"""FEATS of Universal Dependencies, "Case=Nom|Number=Sing", taken apart and put together.

A value is attributes between bars, or "_" for none (universaldependencies.org/format.html). The
value of an attribute may be a list ("PronType=Int,Rel"), which is one value here. What has no sign
of equality, as in older treebanks ("nom|sg"), is an attribute whose value is empty.
"""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import pairwise

NO_FEATURES = "_"
_BAR, _SIGN = "|", "="


def attributes_of(text: str) -> dict[str, str]:
    """The value of each attribute, in the order of the text.

    A value keeps its sign, "=Nom", so that "Case" and "Case=" are told apart; of an attribute that
    is there several times the values follow each other as they stand: "A=1|A=2" has the value
    "=1|A=2".
    """
    found: dict[str, str] = {}
    for pair in text.split(_BAR) if text != NO_FEATURES else ():
        name, sign, value = pair.partition(_SIGN)
        value = sign + value
        found[name] = f"{found[name]}{_BAR}{pair}" if name in found else value
    return found


def features_of(attributes: Mapping[str, str], order: Iterable[str]) -> str:
    """The text of attributes, in a given order; "_" of none.

    Args:
        attributes: values as `attributes_of` gives them.
        order: names of all attributes that there can be.
    """
    pairs = [f"{name}{attributes[name]}" for name in order if name in attributes]
    return _BAR.join(pairs) or NO_FEATURES


def order_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All attributes of a treebank, in the order in which its values have them.

    Attributes that no value has side by side, and those whose order varies, are sorted as UD wants
    it, by name without regard to case.
    """
    before: dict[str, set[str]] = {}
    for text in dict.fromkeys(texts):
        names = list(attributes_of(text))
        for name in names:
            before.setdefault(name, set())
        for first, second in pairwise(names):
            before[second].add(first)
    try:
        return _sorted(before)
    except CycleError:
        return tuple(sorted(before, key=_by_name))


def _sorted(before: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Names after all those that are before them, and otherwise by name.

    Raises:
        CycleError: there is no such order.
    """
    sorter = TopologicalSorter(before)
    sorter.prepare()
    # Of all that may come next, the first by name: the order follows from the texts alone.
    ready = [(_by_name(name), name) for name in sorter.get_ready()]
    heapify(ready)
    found = []
    while ready:
        _, name = heappop(ready)
        found.append(name)
        sorter.done(name)
        for following in sorter.get_ready():
            heappush(ready, (_by_name(following), following))
    return tuple(found)


def _by_name(name: str) -> tuple[str, str]:
    return name.lower(), name
