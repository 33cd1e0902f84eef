"""The page of a report: from records to the text of one file, which needs no network.

What each record looks like is in one table: a new analysis is a file and a row. A record without a
row, or a section without a record, is left out. What other commands write as JSON and a report
shows beside its own, curves and audits, is read here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup
from pydantic import TypeAdapter

from tagkit import __version__
from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError
from tagkit.evaluation.analysis.analysis import ANALYSES, Analysis, Measures, analyse, possible
from tagkit.evaluation.analysis.by_sentence import parts_of
from tagkit.evaluation.analysis.error_kinds import ErrorReport
from tagkit.evaluation.analysis.label_errors import Audit
from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.evaluation.analysis.slices import Slices, WordAccuracy
from tagkit.evaluation.compare.systems import Systems
from tagkit.evaluation.html_report.sections import (
    Scored,
    SetsSection,
    draw_calibration,
    draw_columns,
    draw_confusion,
    draw_doubts,
    draw_errors,
    draw_learning_curve,
    draw_measures,
    draw_scores,
    draw_sets,
    draw_slices,
    draw_systems,
    draw_words,
)
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.evaluation.scores.calibration import Calibration
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined
from tagkit.html.page import page_end, page_head
from tagkit.text.json_text import from_json
from tagkit.wording import reason

_Record = TypeVar("_Record")
_MAX_SENTENCES = 10**12  # sentences of a corpus: far more than there are


@dataclass(frozen=True, slots=True)
class Part:
    """A record, and what it is on: "tags", or the name of a column; empty where that is clear."""

    name: str
    record: object


@dataclass(frozen=True, slots=True)
class PageSection:
    """How one kind of record is drawn.

    Attributes:
        title: the section's heading.
        anchor: its id in the page.
        of: the class of the record.
        draw: the record -> a fragment; None where there is nothing to show.
    """

    title: str
    anchor: str
    of: type
    draw: Callable[[Any, Palette], Markup | None]


# In the order of the page.
SECTIONS = (
    PageSection("Columns", "columns", ColumnsReport, draw_columns),
    PageSection("Scores", "scores", Scored, draw_scores),
    PageSection("Systems side by side", "systems", Systems, draw_systems),
    PageSection("What is taken for what", "confusion", Scored, draw_confusion),
    PageSection("What goes wrong", "errors", ErrorReport, draw_errors),
    PageSection("Other measures", "measures", Measures, draw_measures),
    PageSection("For which spans it works", "slices", Slices, draw_slices),
    PageSection("Known and unknown words", "words", WordAccuracy, draw_words),
    PageSection("How sure it is", "calibration", Calibration, draw_calibration),
    PageSection("Sets of answers", "sets", SetsSection, draw_sets),
    PageSection("Would more data help?", "learning-curve", LearningCurve, draw_learning_curve),
    PageSection("Labels in doubt", "doubts", Audit, draw_doubts),
)


def report_parts(report: Report, analysis: Analysis | None) -> list[Part]:
    """The records of a report and of its analyses.

    Raises:
        DataError: the report is of a kind of its own.
    """
    if isinstance(report, ColumnsReport):
        columns = [Part(each.name, Scored(each.tags, None)) for each in report.columns if each.tags]
        found = [Part("", report), *columns]
    else:
        intervals = (analysis.interval if analysis is not None else None) or {}
        found = [
            Part(name, Scored(each, intervals.get(name))) for name, each in parts_of(report).items()
        ]
    for name in ANALYSES if analysis is not None else ():
        record = getattr(analysis, name)
        # Of a report on tags and classes, or on several columns, there may be one of each.
        records = record if isinstance(record, Mapping) else {"": record}
        found += [Part(part, each) for part, each in records.items()]
    return found


def whole_analysis(report: Report, train: Split | None) -> Analysis:
    """All analyses that have a meaning for a report.

    Raises:
        DataError: the report is of a kind of its own.
    """
    return analyse(report, possible(report, train), train)


def report_page(title: str, about: str, parts: Sequence[Part]) -> str:
    """A page with a section for each record that has one.

    Args:
        title: what is reported on.
        about: a sentence below it; empty for none.
        parts: the records.
    """
    # Labels in their order, so that those of a report have the same colours on every page.
    scored = [part.record for part in parts if isinstance(part.record, Scored)]
    palette = Palette()
    for label in chain.from_iterable(each.report.types for each in scored):
        palette.class_of(label)
    sections = list(draw_sections(parts, palette))
    links = joined(
        element("li", element("a", heading, href=f"#{anchor}")) for anchor, heading, _ in sections
    )
    header = element(
        "header",
        element("h1", title),
        element("p", about, class_="quiet") if about else None,
        element("nav", element("ul", links), aria_label="Sections"),
    )
    body = joined(
        element("section", element("h2", heading, id=f"{anchor}-title"), drawn, id=anchor,
                aria_labelledby=f"{anchor}-title")
        for anchor, heading, drawn in sections
    )  # fmt: skip
    made = element("footer", element("p", f"Written by tagkit {__version__}."))
    return str(joined([page_head(title), header, element("main", body), made, page_end()]))


def draw_sections(parts: Iterable[Part], palette: Palette) -> Iterator[tuple[str, str, Markup]]:
    """Anchor, heading and content of each section that there is something for."""
    found = list(parts)
    for section in SECTIONS:
        number = 0
        for part in found:
            drawn = None
            if isinstance(part.record, section.of):
                drawn = section.draw(part.record, palette)
            if drawn is not None:
                number += 1
                anchor = section.anchor if number == 1 else f"{section.anchor}-{number}"
                title = section.title + (f": {label_cell(part.name)}" if part.name else "")
                yield anchor, title, drawn


def read_curve(path: Path) -> LearningCurve:
    """The points of learning-curve.json, and what follows from them.

    Raises:
        DataError: it cannot be read, or is no learning curve.
    """
    expected = "the learning-curve.json of tagkit learning-curve"
    stored = _read_json(path, expected, _StoredCurve, _is_curve)
    # Law and forecasts follow from the points: they are never other than those of this version.
    return fit(stored.measure, stored.points, stored.unit)


def read_audit(path: Path) -> Audit:
    """The JSON that `tagkit audit` printed; without the sentences of the corpus.

    Raises:
        DataError: it cannot be read, or is no audit.
    """
    return _read_json(path, "the JSON that tagkit audit prints", Audit, _is_audit)


def _read_json(
    path: Path, expected: str, kind: type[_Record], fits: Callable[[_Record], bool]
) -> _Record:
    try:
        record = TypeAdapter(kind).validate_python(from_json(path.read_bytes()))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}") from None
    except ValueError:  # also pydantic's, whose text names classes
        record = None
    if record is None or not fits(record):
        raise DataError(f"{path}: expected {expected}, found something else")
    return record


@dataclass(frozen=True, slots=True)
class _StoredCurve:
    """What is read of a learning-curve.json."""

    measure: str
    points: tuple[Point, ...]
    unit: str


def _is_curve(curve: _StoredCurve) -> bool:
    return all(
        0 < each.sentences <= _MAX_SENTENCES and 0 <= each.score <= 1 for each in curve.points
    )


def _is_audit(audit: Audit) -> bool:
    for doubt in audit.doubts:
        spans = (*doubt.gold, *doubt.predicted)
        shares = doubt.gold_probability, doubt.predicted_probability
        if not spans or not all(0 <= share <= 1 for share in shares):
            return False
        if not all(0 <= start < end <= len(doubt.words) for start, end, _ in spans):
            return False
    return True
