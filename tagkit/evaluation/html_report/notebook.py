"""What a notebook shows of a record: what a page has of it, with the style of pages.

Texts with their labels, reports, and what else has a section of its own: comparisons, audits and
learning curves. `_repr_html_` of these classes asks here (`text.json_text.notebook_html`).
"""

from typing import cast

from markupsafe import Markup

from tagkit.corpus.formats.lines.html import draw_item
from tagkit.errors import DataError
from tagkit.evaluation.html_report.page import SECTIONS, Part, draw_sections, report_parts
from tagkit.evaluation.reports.report import Report, ShownReport
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined
from tagkit.html.page import fragment
from tagkit.text.records import Document, Sentence, StringAnswer, TaggedText


def html_of(record: object) -> str | None:
    """A record as HTML; None of one that no page has."""
    palette = Palette()
    drawn: Markup
    if isinstance(record, Sentence | Document | TaggedText | StringAnswer):
        drawn = draw_item(record, palette)
    elif isinstance(record, ShownReport):
        try:
            drawn = _drawn(report_parts(cast(Report, record), None), palette)
        except DataError:  # of a language model, or of a kind of its own
            drawn = element("pre", str(record))
    else:
        drawn = _drawn([Part("", record)], palette)
    return str(fragment(drawn)) if drawn else None


def _drawn(parts: list[Part], palette: Palette) -> Markup:
    found = [part for part in parts if isinstance(part.record, tuple(each.of for each in SECTIONS))]
    return joined(drawn for _, _, drawn in draw_sections(found, palette))
