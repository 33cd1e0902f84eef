"""A text with its spans, or tokens with their tags, as HTML.

Spans may be nested, and they may cross each other: elements may not, so that a span is cut where
the one around it ends, and goes on behind it.
"""

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from tagkit.html.colours import Palette
from tagkit.html.elements import Child, element, escaped, joined, scrolling

BARE = "_"  # a label without a name
_LEAST_SHOWN = 0.01  # share of attention


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled stretch of a text.

    Attributes:
        start: offset of its first character.
        end: offset after its last one.
        label: its type; empty for one without a name.
        probability: of the label, 0 to 1; None where it is not known.
        is_cut: whether it goes on after `end`.
    """

    start: int
    end: int
    label: str
    probability: float | None = None
    is_cut: bool = False

    @property
    def caption(self) -> str:
        """What stands behind it: its label, and the probability of that."""
        return _with_probability(self.label, self.probability) + "…" * self.is_cut


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """A word with its tags.

    Attributes:
        word: its text.
        tags: of one or several columns, each with its probability or None.
    """

    word: str
    tags: tuple[tuple[str, float | None], ...]


def draw_text(text: str, marks: Iterable[Mark], palette: Palette) -> Markup:
    """A text with its marks, each with its label; without the marks' labels it is the text."""
    return paragraph(Markup("".join(_pieces(text, marks, palette))))


def draw_tokens(tokens: Iterable[DrawnToken], palette: Palette) -> Markup:
    """Words, each above its tags."""
    return paragraph(joined(part for token in tokens for part in (_token(token, palette), " ")))


def draw_classes(classes: Iterable[tuple[str, float | None]], palette: Palette) -> Markup:
    """The classes of a text, each with its probability or None."""
    found = (_tag(label, probability, palette) for label, probability in classes)
    return element("p", joined(part for each in found for part in (each, " ")), class_="classes")


def draw_alignment(
    symbols: Iterable[str], units: Iterable[str], shares: Iterable[Iterable[float]]
) -> Markup:
    """A heat map: a row for each unit of a string, a column for each symbol of its source."""
    heads = [element("th", each.strip() or "_", scope="col") for each in symbols]
    rows = [element("tr", element("td"), *heads)]
    for unit, weights in zip(units, shares, strict=True):
        cells = [
            element("td", f"{100 * each:.0f}", class_=f"heat-{min(math.ceil(3 * each), 3)}")
            if each >= _LEAST_SHOWN
            else element("td")
            for each in weights
        ]
        rows.append(element("tr", element("th", unit.strip() or "_", scope="row"), *cells))
    caption = "what each unit looked at, in percent"
    return scrolling(caption, element("table", element("caption", caption), *rows))


def draw_legend(counts: Iterable[tuple[str, int]], palette: Palette) -> Markup:
    """Labels in their colours, each with a number."""
    items = (
        element("li", element("bdi", f"{label} {count:,}", class_=f"tag {palette.class_of(label)}"))
        for label, count in counts
    )
    return element("ul", *items, class_="legend")


def paragraph(*children: Child) -> Markup:
    """A text of any language, in whatever direction that is written."""
    return element("p", *children, class_="drawn", dir="auto", lang="")


def _pieces(text: str, marks: Iterable[Mark], palette: Palette) -> Iterator[str]:
    waiting = [(mark.start, -mark.end, number, mark) for number, mark in enumerate(marks)]
    heapq.heapify(waiting)
    added = len(waiting)
    around: list[Mark] = []  # those that are open, the innermost last
    done = 0
    while waiting or around:
        if around and (not waiting or around[-1].end <= waiting[0][0]):
            mark = around.pop()
            yield escaped(text[done : mark.end])
            done = max(done, mark.end)
            yield element("bdi", mark.caption, class_="name")
            yield "</mark>"
            continue
        mark = heapq.heappop(waiting)[-1]
        if around and mark.end > around[-1].end:
            end = around[-1].end
            rest = replace(mark, start=end)
            heapq.heappush(waiting, (end, -mark.end, added, rest))
            added += 1
            mark = replace(mark, end=end, is_cut=True)
        yield escaped(text[done : mark.start])
        done = max(done, mark.start)
        yield f'<mark class="{palette.class_of(mark.label)}">'
        around.append(mark)
    yield escaped(text[done:])


def _token(token: DrawnToken, palette: Palette) -> Markup:
    tags = (_tag(tag, probability, palette) for tag, probability in token.tags)
    return element("span", element("span", token.word, class_="word"), *tags, class_="token")


def _tag(label: str, probability: float | None, palette: Palette) -> Markup:
    shown = _with_probability(label, probability)
    return element("bdi", shown, class_=f"tag {palette.class_of(label)}")


def _with_probability(label: str, probability: float | None) -> str:
    return (label or BARE) + ("" if probability is None else f" {probability:.2f}")
