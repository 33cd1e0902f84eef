"""Well-formed spans: those that strict mode counts.

`text.schemes.span_tuples` finds a span wherever conlleval finds one. Here a span counts only if its
scheme allows every step of it. The rules are those of seqeval's strict mode (`seqeval.scheme`),
in one pass over the tags; tests/evaluation/scores/test_spans.py holds the two equal.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from tagkit.text.schemes import OUTSIDE, PREFIXES, SpanTuple, own_inside, split_tag

Tag = tuple[str, str]  # prefix and label
_OUTSIDE: Tag = (OUTSIDE, "")


def well_formed_spans(tags: Sequence[str], scheme: str) -> list[SpanTuple]:
    """Spans of a sentence that are well-formed in one of the span schemes.

    A prefix that the scheme does not have is in no span; but M and I, which mean the same, stand
    for each other, as one side may have been written by a model that knows the other.
    """
    return _FINDERS[scheme]([_read(tag, scheme) for tag in tags])


@lru_cache(maxsize=65_536)  # a corpus has few tags, each of them many times
def _read(tag: str, scheme: str) -> Tag:
    prefix, label = split_tag(own_inside(tag, scheme))
    return (prefix, label) if prefix in PREFIXES[scheme] else _OUTSIDE


def _of_iob2(tags: Sequence[Tag]) -> list[SpanTuple]:
    """B and every following I of the same label; an I elsewhere is in no span."""
    found: list[SpanTuple] = []
    start: int | None = None
    label = ""
    for index, (prefix, this_label) in enumerate((*tags, _OUTSIDE)):  # the O ends the last span
        if start is not None and not (prefix == "I" and this_label == label):
            found.append((start, index, label))
            start = None
        if prefix == "B":
            start, label = index, this_label
    return found


def _of_iob1(tags: Sequence[Tag]) -> list[SpanTuple]:
    """I and every following I of the same label; B begins a span only after one of its label."""
    found: list[SpanTuple] = []
    start: int | None = None
    before = _OUTSIDE
    for index, tag in enumerate((*tags, _OUTSIDE)):
        prefix, label = tag
        touches = before[0] != OUTSIDE and before[1] == label
        if start is not None and not (prefix == "I" and touches):
            # A span of B alone is not closed by a B of another label: that B is ill-formed, and
            # seqeval has no end pattern for the pair.
            if not (before[0] == prefix == "B" and not touches):
                found.append((start, index, before[1]))
            start = None
        if start is None and (prefix == "I" or (prefix == "B" and touches)):
            start = index
        before = tag
    return found


def _of_closed(inside: str, last: str, single: str) -> Callable[[Sequence[Tag]], list[SpanTuple]]:
    """For IOBES, BILOU and BMES, whose spans say where they end.

    Args:
        inside: prefix of a token between the first and the last one.
        last: prefix of the last token of several.
        single: prefix of a token that is a span by itself.
    """

    def spans(tags: Sequence[Tag]) -> list[SpanTuple]:
        found: list[SpanTuple] = []
        start: int | None = None
        open_label = ""
        for index, (prefix, label) in enumerate(tags):
            if prefix == single:
                found.append((index, index + 1, label))
            if prefix == last and start is not None and label == open_label:
                found.append((start, index + 1, label))
            if prefix == "B":
                start, open_label = index, label
            elif prefix != inside or label != open_label:
                start = None  # what was open has no end: it does not count
        return found

    return spans


_FINDERS: dict[str, Callable[[Sequence[Tag]], list[SpanTuple]]] = {
    "iob1": _of_iob1,
    "iob2": _of_iob2,
    "iobes": _of_closed("I", "E", "S"),
    "bilou": _of_closed("I", "L", "U"),
    "bmes": _of_closed("M", "E", "S"),
    "io": _of_iob1,  # in which no B stands between two spans
}
