"""Elements of HTML and SVG, whose texts are escaped unless they are `Markup` already."""

import re
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup, escape

from tagkit.wording import visible

Child = Markup | str | int | None
_LINE_END = re.compile("(\n|\t)")


def escaped(text: str) -> Markup:
    r"""A text as HTML; `Markup` stays as it is.

    Line ends and tabs stay. Other control characters, which HTML forbids, and marks of the
    direction of text, which would reverse what follows, are shown as `\x1b`.
    """
    if isinstance(text, Markup):
        return text
    if not text.isprintable() or not text.isascii():
        lines = _LINE_END.split(text.replace("\r\n", "\n"))
        text = "".join(part if part in ("\n", "\t") else visible(part) for part in lines)
    return escape(text)


def element(name: str, *children: Child, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: of the element.
        children: texts and elements; None is left out.
        attributes: by name, without a `_` at the end (class_) and with "-" for any other; one
            that is None is left out.
    """
    inner = "".join(escaped(_text(child)) for child in children if child is not None)
    return Markup(f"<{name}{_attributes(attributes)}>{inner}</{name}>")


def joined(parts: Iterable[Child]) -> Markup:
    """Elements and texts, one after the other."""
    return Markup("".join(escaped(_text(part)) for part in parts if part is not None))


def _text(child: Markup | str | int) -> str:
    return child if isinstance(child, str) else f"{child:,}"


def _attributes(attributes: dict[str, str | float | None]) -> str:
    found = []
    for name, value in attributes.items():
        if value is not None:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            name = name.rstrip("_").replace("_", "-")
            found.append(f' {name}="{escaped(shown)}"')
    return "".join(found)


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Child]], *, names: int = 1
) -> Markup:
    """A table that scrolls by itself where it is wider than the page.

    Args:
        caption: above it.
        heads: of the columns; empty over drawings that say the same as the number before them.
        rows: their cells, as many as heads.
        names: how many columns at the left hold names, each the head of its row; the others hold
            numbers.
    """
    head = joined(
        element("th", text, scope="col", class_=None if number < names else "number")
        if text
        else element("td", class_="drawing")
        for number, text in enumerate(heads)
    )
    body = joined(element("tr", *_cells(heads, row, names)) for row in rows)
    return scrolling(
        caption,
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", head)),
            element("tbody", body),
        ),
    )


def _cells(heads: Sequence[str], row: Sequence[Child], names: int) -> Iterator[Markup]:
    for number, (head, cell) in enumerate(zip(heads, row, strict=True)):
        if number < names:
            yield element("th", cell, scope="row")
        else:
            yield element("td", cell, class_="number" if head else "drawing")


def scrolling(name: str, *children: Child) -> Markup:
    """A part that may be wider than the page; with a keyboard it is scrolled when it has focus."""
    return element(
        "div", *children, class_="scroll", role="region", aria_label=name, tabindex="0"
    )  # fmt: skip


def share(value: float) -> str:
    """0.9342 as people read it in reports."""
    return f"{value:.4f}"


def percent(value: float) -> str:
    """A share as a percentage with two decimals, without the sign."""
    return f"{100 * value:.2f}"
