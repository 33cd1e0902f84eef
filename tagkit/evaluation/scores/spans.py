"""Spans that are scored: well-formed ones, which strict mode counts, and those of both sides.

`text.schemes.span_tuples` finds a span wherever conlleval finds one. Here a span counts only if its
scheme allows every step of it. The rules are those of seqeval's strict mode (`seqeval.scheme`),
in one pass over the tags; tests/evaluation/scores/test_spans.py holds the two equal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tagkit.evaluation.scores.scores import Labels
from tagkit.text.records import Sentence
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


@dataclass(frozen=True, slots=True)
class Aligned:
    """A sentence with its gold and its predicted spans.

    Attributes:
        words: its tokens.
        gold: (start, end, label) of each gold span, in order, none overlapping another.
        predicted: the same of predicted spans.
        lines: number of each token's line in the gold file, from 1; empty where not known.
    """

    words: Sequence[str]
    gold: Sequence[SpanTuple]
    predicted: Sequence[SpanTuple]
    lines: Sequence[int] = ()

    def text(self, span: SpanTuple) -> str:
        """The words of a span, with blanks between them."""
        return " ".join(self.words[span[0] : span[1]])

    def line_of(self, token: int) -> int:
        """The line of a token in the gold file, from 1; 0 where it is not known."""
        return self.lines[token] if self.lines else 0


def align(
    sentences: Iterable[Sentence],
    gold: Labels,
    predicted: Labels,
    spans_of: Callable[[Sequence[str]], list[SpanTuple]],
) -> Iterator[Aligned]:
    """The spans of gold and predicted tags.

    Args:
        sentences: with words and lines.
        gold: the gold tags of each.
        predicted: the predicted tags.
        spans_of: finds the spans of a sentence's tags, as conlleval does or in strict mode.
    """
    for sentence, ours, theirs in zip(sentences, gold, predicted, strict=True):
        found = tuple(spans_of(ours))
        # Most sentences of a good tagger are right: their spans are found once.
        others = found if theirs == ours else tuple(spans_of(theirs))
        yield Aligned(sentence.words, found, others, sentence.lines)


def overlap(one: SpanTuple, other: SpanTuple) -> int:
    """How many tokens two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def overlapping(
    gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]
) -> Iterator[tuple[int, int]]:
    """The places of the gold and the predicted span of each pair that shares a token, in order.

    Spans of one side are in order and do not overlap, so that each side is gone through once.
    """
    first = 0  # predicted spans before it end before this gold span, and so before later ones
    for i, ours in enumerate(gold):
        while first < len(predicted) and predicted[first][1] <= ours[0]:
            first += 1
        for j in range(first, len(predicted)):
            if predicted[j][0] >= ours[1]:
                break
            yield i, j
