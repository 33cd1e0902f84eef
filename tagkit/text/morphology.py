"""Lemmas as edit scripts, and FEATS taken apart: values of treebanks that can be classified.

An edit script is the lemma of a form as an edit of the form. A script says what is taken off both
ends of the form in lower case, what is put there instead, and which characters of the result are
upper case:

    "went"   -> "go"     =go                 no character in common: the lemma itself
    "tried"  -> "try"    L0;0;3;0;y          lower case; 0 characters off the front, 3 off the end,
                                             and of "y" 0 go to the front and the others to the end
    "Oslo's" -> "Oslo"   U0L1;0;2;0;         upper case from 0 on, lower case from 1 on

Lemmatisation as classification of edit scripts is due to Chrupala (2008). This is the form of
UDPipe (Straka 2018, section 3.3, "lemmatization"): what the two words share is their longest common
substring, the casing is a script of its own, and a lemma that shares nothing is given whole. A
place is counted from the end where it is in the second half, so that words of other lengths share a
script.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise

_WHOLE = "="
_UPPER, _LOWER = "U", "L"
_RUN = re.compile(r"([UL])(-?[0-9]{1,4})")
_SCRIPT = re.compile(r"((?:[UL]-?[0-9]{1,4})+);([0-9]{1,4});([0-9]{1,4});([0-9]{1,4});", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Edit:
    """A script, taken apart.

    Attributes:
        whole: the lemma itself; None for an edit.
        casing: places from which on characters are upper case, or lower case.
        front: characters that are taken off the front.
        end: likewise off the end.
        prefix: what is put at the front.
        suffix: likewise at the end.
    """

    whole: str | None
    casing: tuple[tuple[bool, int], ...] = ()
    front: int = 0
    end: int = 0
    prefix: str = ""
    suffix: str = ""


def edit_script(form: str, lemma: str) -> str:
    """The script that makes the lemma of the form."""
    small_form, small_lemma = form.lower(), lemma.lower()
    match = SequenceMatcher(None, small_form, small_lemma, autojunk=False).find_longest_match()
    if match.size:
        prefix = small_lemma[: match.b]
        suffix = small_lemma[match.b + match.size :]
        end = len(small_form) - match.a - match.size
        script = f"{_casing(lemma)};{match.a};{end};{len(prefix)};{prefix}{suffix}"
        # Changing the case of some characters changes their number, or cannot be undone.
        if is_script(script) and apply_script(script, form) == lemma:
            return script
    return _WHOLE + lemma


def apply_script(script: str, form: str) -> str | None:
    """The lemma that a script makes of a form; None where the form is too short for it.

    Raises:
        ValueError: it is no script.
    """
    edit = _parsed(script)
    if edit.whole is not None:
        return edit.whole
    small = form.lower()
    # At least one character of the form is kept, as in every word that a script comes from.
    if edit.front + edit.end >= len(small):
        return None
    kept = small[edit.front : len(small) - edit.end]
    return _with_casing(f"{edit.prefix}{kept}{edit.suffix}", edit.casing)


def is_script(text: str) -> bool:
    """Whether it is a script of `edit_script`."""
    return text.startswith(_WHOLE) or _SCRIPT.match(text) is not None


@cache  # a treebank has some thousand scripts, each of them for many words
def _parsed(script: str) -> _Edit:
    if script.startswith(_WHOLE):
        return _Edit(script.removeprefix(_WHOLE))
    found = _SCRIPT.match(script)
    if found is None:
        raise ValueError(f"expected an edit script, found {script!r}")
    casing, front, end, size = found.groups()
    text = script[found.end() :]
    runs = tuple((case == _UPPER, int(place)) for case, place in _RUN.findall(casing))
    return _Edit(None, runs, int(front), int(end), text[: int(size)], text[int(size) :])


def _casing(lemma: str) -> str:
    """Where runs of upper and of other characters begin: U0L1 for "Oslo", L0 for "go"."""
    runs: list[str] = []
    before = None
    for place, char in enumerate(lemma):
        is_upper = char.lower() != char
        if is_upper is not before:
            at = place if place <= len(lemma) // 2 else place - len(lemma)
            runs.append(f"{_UPPER if is_upper else _LOWER}{at}")
        before = is_upper
    return "".join(runs)


def _with_casing(text: str, casing: tuple[tuple[bool, int], ...]) -> str:
    """A text in lower case with its runs of upper case."""
    if casing == ((False, 0),):  # most lemmas
        return text
    size = len(text)
    # Places of a longer lemma may be beyond this one.
    starts = [min(size, place) if place >= 0 else max(0, size + place) for _, place in casing]
    # Places counted from both ends may cross in a shorter lemma: no character belongs to two runs.
    starts = list(accumulate(starts, max))
    parts = [text[: starts[0]]]
    for (is_upper, _), begin, end in zip(casing, starts, [*starts[1:], size], strict=True):
        part = text[begin : max(begin, end)]
        parts.append(part.upper() if is_upper else part)
    return "".join(parts)


# FEATS of Universal Dependencies, "Case=Nom|Number=Sing", taken apart and put together.
#
# A value is attributes between bars, or "_" for none (universaldependencies.org/format.html). The
# value of an attribute may be a list ("PronType=Int,Rel"), which is one value here. What has no
# sign of equality, as in older treebanks ("nom|sg"), is an attribute whose value is empty.

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
