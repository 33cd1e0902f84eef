"""One section of a report's page, as its elements."""

from hostile import all_parts
from html_pages import Element, parsed

from tagkit.evaluation.html_report.page import SECTIONS
from tagkit.html.colours import Palette


def section(anchor: str, record: object) -> Element:
    (row,) = [each for each in SECTIONS if each.anchor == anchor]
    drawn = row.draw(record, Palette())
    assert drawn is not None
    return parsed(drawn)


def record(anchor: str) -> object:
    (row,) = [each for each in SECTIONS if each.anchor == anchor]
    return next(part.record for part in all_parts() if isinstance(part.record, row.of))


def rows(root: Element, caption: str) -> list[list[str]]:
    (table,) = [each for each in root.all("table") if next(each.all("caption")).text == caption]
    return [
        [
            each.text
            for each in row.all()
            if each.name in ("th", "td") and "drawing" not in each.classes
        ]
        for row in table.all("tr")
    ]
