"""Annotation lines of brat: their parts, and how their offsets count.

Tools count in several ways. One that fits every line of a file, as the copies of the spans' texts
show, is that of the file.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Place = Callable[[int], int | None]  # an offset -> a place in the text; None where there is none


@dataclass(frozen=True, slots=True)
class Mark:
    """A T line ("text-bound annotation"): a label, stretches of the text, and a copy of these.

    Attributes:
        line: its number, from 1.
        name: T1, T2 and so on.
        label: of the span.
        pieces: start and end of each stretch; several where the annotation is discontinuous.
        repeated: the text at these places; may be empty, as some tools leave it out.
    """

    line: int
    name: str
    label: str
    pieces: tuple[tuple[int, int], ...]
    repeated: str


def mark_of(line: str, number: int) -> Mark:
    """A T line.

    Raises:
        ValueError: it is none.
    """
    name, middle, *repeated = line.split("\t", 2)  # the copy may hold tabs itself
    label, _, offsets = middle.partition(" ")
    pieces = tuple(_pair(pair) for pair in offsets.split(";"))  # "0 5;16 23" is discontinuous
    ordered = all(a[1] <= b[0] for a, b in pairwise(pieces))
    if not name.startswith("T") or not label or not ordered:
        raise ValueError
    return Mark(number, name, label, pieces, repeated[0] if repeated else "")


def _pair(text: str) -> tuple[int, int]:
    first, second = text.split()
    # isdecimal, as int() also takes signs and underscores.
    if not (first.isdecimal() and second.isdecimal() and int(first) < int(second)):
        raise ValueError
    return int(first), int(second)


def counting(text: str, has_mark: bool, marks: Sequence[Mark]) -> Place:
    """How a file's offsets become places in its text: the first way that fits every mark.

    A way of counting is that of a whole file, so one that fits some marks alone is no evidence.

    Args:
        text: of the file, line ends as they are, without a byte order mark.
        has_mark: whether the file begins with one.
        marks: all of its annotations.
    """
    ways = list(_ways(text, has_mark))
    return next((way for way in ways if all(fits(text, mark, way) for mark in marks)), ways[0])


def _ways(text: str, has_mark: bool) -> Iterator[Place]:
    numbers = [[*range(len(text) + 1)]]
    if "\r\n" in text:
        # Tools that read in text mode count \r\n as one. Its place is that of the \r: a span that
        # ends with a line then does not take the \r in.
        starts = [at for at in numbers[0] if text[max(at - 1, 0) : at + 1] != "\r\n"]
        numbers.append(starts)
    if any(char > "\uffff" for char in text):
        # Tools in JavaScript count units of UTF-16, of which such a character has two. What begins
        # within one has no place.
        units: list[int] = []
        for at, char in enumerate(text):
            units += [at, -1] if char > "\uffff" else [at]
        numbers.append([*units, len(text)])
    for places in numbers:
        yield _way(places, 0)
        if has_mark:  # some count the byte order mark too
            yield _way(places, 1)


def _way(places: Sequence[int], begin: int) -> Place:
    """The places of offsets from `begin` on; -1 for an offset that has none."""

    def place(at: int) -> int | None:
        inside = 0 <= at - begin < len(places) and places[at - begin] >= 0
        return places[at - begin] if inside else None

    return place


def fits(text: str, mark: Mark, place: Place) -> bool:
    """Whether the text at a mark's places is the one that it repeats, apart from line ends.

    White space is normalised: brat writes a blank for a line end inside a span, and between the
    stretches of a discontinuous one.
    """
    found = []
    for start, end in mark.pieces:
        begin, behind = place(start), place(end)
        if begin is None or behind is None:
            return False
        found.append(text[begin:behind])
    return not mark.repeated or " ".join(mark.repeated.split()) == " ".join(" ".join(found).split())
