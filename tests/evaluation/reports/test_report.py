"""Headlines of reports that were written to metadata.json, by this version and by earlier ones."""

from typing import Any

import pytest

from tagkit.evaluation.reports.class_report import JointReport, make_class_report
from tagkit.evaluation.reports.report import Report, StoredHeadline, stored_headlines
from tagkit.evaluation.reports.tag_report import make_tag_report

SPANS = make_tag_report([["B-X", "B-X", "O"]], [["B-X", "O", "O"]], "iob2")
TOKENS = make_tag_report([["NN", "VB"]], [["NN", "NN"]], "labels")
CLASS = make_class_report([("a",), ("b",)], [("a",), ("a",)], several=False)
CLASSES = make_class_report([("a", "b")], [("a",)], several=True)
REPORTS: list[tuple[Report, list[tuple[str, float, str]]]] = [
    (SPANS, [("F1", 2 / 3, "conlleval-compatible")]),
    (TOKENS, [("accuracy", 0.5, "per token")]),
    (CLASS, [("accuracy", 0.5, "classes")]),
    (CLASSES, [("F1", 2 / 3, "classes")]),
    (
        JointReport(SPANS, CLASS, 0.0),
        [("F1", 2 / 3, "conlleval-compatible"), ("accuracy", 0.5, "classes")],
    ),
]


def without_kinds(table: dict[str, Any]) -> dict[str, Any]:
    """A report as it was before reports had a kind."""
    return {
        key: without_kinds(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if key not in ("kind", "measure", "headline")
    }


@pytest.mark.parametrize(("report", "expected"), REPORTS)
def test_a_stored_report_has_the_headline_of_the_report(
    report: Report, expected: list[tuple[str, float, str]]
) -> None:
    table = report.to_dict()
    assert "kind" in table
    for each in (table, without_kinds(table)):
        assert list(stored_headlines(each)) == [StoredHeadline(*row) for row in expected]
    if len(expected) == 1:
        assert (report.measure, report.headline) == expected[0][:2]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({}, []),
        ({"kind": "joint"}, []),
        ({"kind": "class", "accuracy": 0.5, "whole": 1}, [("accuracy", 0.5, "classes")]),
        ({"kind": "joint", "tags": 7, "classes": None}, [("F1", None, "classes")]),
        ({"kind": ["spans"], "scheme": 3, "micro": 4}, [("F1", None, None)]),
        ({"kind": "counts", "measure": "exact", "headline": 0.5}, [("exact", 0.5, "counts")]),
        ({"headline": [], "measure": 3}, [("3", [], None)]),
        ({"kind": "sonnets", "several": False, "accuracy": "x"}, [("accuracy", "x", "classes")]),
    ],
)
def test_a_report_that_somebody_has_edited_is_read_without_an_error(
    table: dict[str, Any], expected: list[tuple[str, Any, Any]]
) -> None:
    found = list(stored_headlines(table)) if table else []
    assert found == [StoredHeadline(*row) for row in expected]
