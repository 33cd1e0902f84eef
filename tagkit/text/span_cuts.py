"""Which cuts of a text would divide a span."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import accumulate


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
