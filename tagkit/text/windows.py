"""Long sentences: cut into windows that overlap, and the predictions for these joined again.

Windows are as long as is allowed, and the last one reaches to the sentence's end. Two neighbours
share a quarter of a window, 64 words at most; the last two may share nearly all. Joining cuts each
overlap once, at the place nearest its middle that divides no span of either window, and not
before the cut on its left: words before that seam are the left window's, words after it the right
one's, so that a word has context on both sides wherever there is some. Where every place divides a
span, the seam is in the middle, and a span goes to the window in whose share it begins. A
probability is that of the window that the tag or span comes from.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from tagkit.text.records import Prediction, Sentence, Span, TagColumn
from tagkit.text.schemes import from_spans, has_spans, span_tuples

# Words that two windows share, at most. Half of it is context for the last word before a seam: more
# than an LSTM makes use of for a tag.
_OVERLAP = 64

Window = tuple[int, int]


def windows(length: int, size: int) -> list[Window]:
    """Start and end of each window of a sentence of `length` words; one where `size` is enough."""
    if length <= size:
        return [(0, length)]
    step = size - min(_OVERLAP, size // 4)
    starts = [*range(0, length - size, step), length - size]
    return [(start, start + size) for start in starts]


def cut(sentence: Sentence, window: Window) -> Sentence:
    """The words of a window with their tags, features and numbers."""
    part = slice(*window)
    whole = window == (0, len(sentence))
    return Sentence(
        words=sentence.words[part],
        tags=None if sentence.tags is None else sentence.tags[part],
        features=tuple(column[part] for column in sentence.features),
        labels=sentence.labels,
        columns=tuple(TagColumn(column.name, column.values[part]) for column in sentence.columns),
        vectors=tuple(column[part] for column in sentence.vectors),
        # Windows overlap, so that one of them does not continue the other.
        document=sentence.document if whole else None,
    )


def windows_between_spans(tags: Sequence[str], size: int) -> list[Window]:
    """Windows to learn from: none begins or ends inside a span that has room in one.

    A window that would is made shorter, at the cost of its overlap. Spans that are
    longer than the overlap are cut.
    """
    # Half a span would teach the model a wrong end of one.
    planned = windows(len(tags), size)
    if len(planned) == 1:
        return planned
    inside = {at for start, end, _ in span_tuples(tags) for at in range(start + 1, end)}
    moved = [(_outside(a, inside, 1), _outside(b, inside, -1)) for a, b in planned]
    # Still no word may be left out, and no window be empty; else the plain windows are better.
    whole = all(a < b for a, b in moved) and all(b >= c for (_, b), (c, _) in pairwise(moved))
    return moved if whole else planned


def _outside(at: int, inside: set[int], step: int) -> int:
    while at in inside:
        at += step
    return at


def join(
    words: tuple[str, ...], parts: Sequence[tuple[int, Prediction]], scheme: str
) -> Prediction:
    """One prediction for a sentence from those of its windows.

    Args:
        words: of the whole sentence.
        parts: start and prediction of each window, in order.
        scheme: of the tags; `PLAIN` for plain labels.
    """
    seams = [0]
    for left, right in pairwise(parts):
        seams.append(_seam(left, right, seams[-1]))
    seams.append(len(words))
    tags: list[str] = []
    probabilities: list[float] = []
    spans: list[Span] = []
    for (start, part), (begin, end) in zip(parts, pairwise(seams), strict=True):
        # A span of an earlier window may reach into this one's share.
        known = len(probabilities)
        tags += part.tags[begin - start : end - start]
        probabilities += (part.probabilities or ())[max(begin, known) - start : end - start]
        for span in part.spans:
            placed = replace(span, start=span.start + start, end=span.end + start)
            free = not spans or spans[-1].end <= placed.start
            if begin <= placed.start < end and free:
                spans.append(placed)  # also where it reaches beyond the share
                probabilities += (part.probabilities or ())[end - start : span.end]
    # Tags of two windows side by side may be illegal; those made from the joined spans are not.
    if has_spans(scheme):
        tags = list(from_spans(spans, len(words), scheme))
    return Prediction(words, tuple(tags), tuple(spans), tuple(probabilities) or None)


def _seam(left: tuple[int, Prediction], right: tuple[int, Prediction], least: int) -> int:
    """Where what two windows share is cut: near its middle, and inside no span if possible.

    Args:
        left: start and prediction of a window.
        right: of the next one.
        least: the seam before this one, which is not to its right.
    """
    begin, end = right[0], left[0] + len(left[1].words)
    middle = max(least, (begin + end) // 2)
    inside = {
        start + at
        for start, part in (left, right)
        for span in part.spans
        for at in range(span.start + 1, span.end)
    }
    free = [at for at in range(max(least, begin), end + 1) if at not in inside]
    return min(free, key=lambda at: (abs(at - middle), at), default=middle)


def divides_any(spans: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """A function that says whether a cut at a place would divide a span.

    Args:
        spans: start and end of each; they may overlap, and stand in any order.
    """
    ordered = sorted(spans)
    starts = [start for start, _ in ordered]
    # Running maximum: of spans that overlap, the last one need not reach furthest.
    ends = list(accumulate((end for _, end in ordered), max))

    def divides(at: int) -> bool:
        before = bisect_left(starts, at)  # spans that begin left of the cut
        return before > 0 and ends[before - 1] > at

    return divides
