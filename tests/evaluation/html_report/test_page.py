"""The page of a report: every section of the table, well-formed, escaped and of bounded size."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hostile import LABEL, SCRIPT, all_parts
from html_pages import Element, parsed
from says import refuses

import tagkit
from tagkit.errors import DataError
from tagkit.evaluation.analysis.label_errors import Audit
from tagkit.evaluation.analysis.power_law import LearningCurve
from tagkit.evaluation.html_report.page import (
    SECTIONS,
    Part,
    read_audit,
    read_curve,
    report_page,
    report_parts,
    whole_analysis,
)
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.text.records import Sentence


@pytest.fixture(scope="module")
def root() -> Element:
    return parsed(page(all_parts(), f"Report on {SCRIPT}"))


def page(parts: list[Part], title: str = "Report") -> str:
    return report_page(title, "", parts).removeprefix("<!DOCTYPE html>\n")


def titles(found: Element) -> list[str]:
    return [each.text for each in found.all("h2")]


def test_each_record_has_its_section_and_a_link_to_it(root: Element) -> None:
    assert titles(root) == [
        "Scores", "Systems side by side", "What goes wrong", "Other measures",
        "For which spans it works", "How sure it is", "Sets of answers", "Would more data help?",
        "Labels in doubt",
    ]  # fmt: skip
    anchors = [each.attributes["id"] for each in root.all("section")]
    assert [each.attributes["href"] for each in root.all("a")] == [f"#{each}" for each in anchors]
    ids = [each.attributes["id"] for each in root.all() if "id" in each.attributes]
    assert len(ids) == len({*ids})


def test_headings_follow_each_other_in_order(root: Element) -> None:
    levels = [int(each.name[1]) for each in root.all() if re.fullmatch("h[1-6]", each.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_each_table_has_a_caption_and_each_row_a_head(root: Element) -> None:
    tables = list(root.all("table"))
    assert len(tables) > 10
    for table in tables:
        (caption,) = table.all("caption")
        assert caption.text
        rows = list(table.all("tr"))
        assert all(each.attributes["scope"] for each in table.all("th"))
        assert all(next(row.all()).name == "th" for row in rows), caption.text
        assert (
            len({sum(1 for each in row.children if isinstance(each, Element)) for row in rows}) == 1
        )


def test_nothing_of_a_corpus_becomes_an_element(root: Element) -> None:
    assert {each.name for each in root.all()} <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "nav", "ul",
        "li", "a", "main", "section", "div", "p", "dl", "dt", "dd", "small", "table", "caption",
        "thead", "tbody", "tr", "th", "td", "svg", "rect", "line", "text", "path", "circle",
        "polyline", "figure", "figcaption", "mark", "bdi", "span", "footer",
    }  # fmt: skip
    assert f"Report on {SCRIPT}" in root.text
    assert LABEL in root.text
    assert not any("style" in each.attributes for each in root.all())


def test_a_section_without_a_record_and_a_record_without_a_section_are_left_out() -> None:
    assert titles(parsed(page([Part("", "no record")]))) == []


def test_tags_and_classes_have_a_section_each() -> None:
    gold = [Sentence(("a", "b"), ("B-X", "O"), labels=("yes",))] * 3
    found = [Sentence(("a", "b"), ("B-Y", "O"), labels=(label,)) for label in ("yes", "no", "no")]
    report = tagkit.evaluate(gold, found)
    drawn = parsed(page(report_parts(report, whole_analysis(report, None))))
    assert titles(drawn)[:3] == [
        "Scores: tags",
        "Scores: classes",
        "What is taken for what: classes",
    ]
    anchors = [each.attributes["id"] for each in drawn.all("section")]
    assert anchors[:2] == ["scores", "scores-2"]
    cells = [each.text for each in drawn.all("td", "heat-3")]
    assert "2" in cells  # texts of "yes" that were taken for "no"


def test_without_a_span_no_table_is_empty_and_the_page_says_what_zeros_mean() -> None:
    nothing = Sentence(("a", "b"), ("O", "O"))
    report = tagkit.evaluate([nothing], [nothing], scheme="iob2")
    drawn = parsed(page(report_parts(report, whole_analysis(report, None))))
    assert titles(drawn) == ["Scores", "What goes wrong", "Other measures"]
    assert all(next(table.all("tbody")).text for table in drawn.all("table"))
    assert "There is no span, neither gold nor predicted: the scores of 0 mean " in drawn.text


def test_plain_labels_have_a_confusion_matrix_whose_diagonal_is_what_is_right() -> None:
    gold = [Sentence(("a", "b", "c", "d"), ("X", "X", "Y", "Z"))]
    found = [Sentence(("a", "b", "c", "d"), ("X", "Y", "Y", "X"))]
    report = tagkit.evaluate(gold, found, scheme="labels")
    drawn = parsed(page(report_parts(report, whole_analysis(report, None))))
    assert titles(drawn) == ["Scores", "What is taken for what"]
    (matrix,) = drawn.all("table", "matrix")
    rows = [[each.text for each in row.all("td")] for row in matrix.all("tr")][1:]
    assert rows == [["1", "1", "·"], ["·", "1", "·"], ["1", "·", "–"]]


def test_many_labels_are_listed_by_pairs_and_tables_are_cut() -> None:
    labels = [f"L{number:03}" for number in range(120)]
    gold = [Sentence(("w",) * 120, tuple(labels))]
    found = [Sentence(("w",) * 120, (*labels[1:], labels[0]))]
    report = tagkit.evaluate(gold, found, scheme="labels")
    drawn = parsed(page(report_parts(report, whole_analysis(report, None))))
    assert not list(drawn.all("table", "matrix"))
    assert max(len(list(table.all("tr"))) for table in drawn.all("table")) == 41
    assert "and 80 more, which the report as JSON has" in drawn.text


def test_a_page_on_many_sentences_is_small() -> None:
    words = tuple(f"word{number}" for number in range(30))
    gold = [Sentence(words, ("B-PER",) + ("O",) * 29)] * 3000
    found = [Sentence(words, ("B-LOC",) + ("O",) * 29)] * 3000
    report = tagkit.evaluate(gold, found)
    assert len(page(report_parts(report, whole_analysis(report, None)))) < 50_000


def test_a_report_on_several_columns_has_a_section_on_all_and_one_on_each_with_tags() -> None:
    tags = tagkit.evaluate([Sentence(("a",), ("X",))], [Sentence(("a",), ("Y",))], scheme="labels")
    from tagkit.evaluation.reports.column_report import Accuracy, ColumnReport

    each = ColumnReport("UPOS", "tokens", 1, 0.0, Accuracy(0.0, 1), Accuracy(0.0, 0), tags)  # type: ignore[arg-type]
    report = ColumnsReport((each,))
    drawn = parsed(page(report_parts(report, whole_analysis(report, None))))
    assert titles(drawn) == ["Columns", "Scores: UPOS", "What is taken for what: UPOS"]


def test_the_table_has_an_anchor_for_each_title() -> None:
    assert len({section.title for section in SECTIONS}) == len(SECTIONS)
    assert all(re.fullmatch("[a-z-]+", section.anchor) for section in SECTIONS)


def of(kind: type) -> LearningCurve | Audit:
    return next(part.record for part in all_parts() if isinstance(part.record, kind))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "read"), [(LearningCurve, read_curve), (Audit, read_audit)], ids=["curve", "audit"]
)
def test_what_was_written_comes_back(tmp_path: Path, kind: type, read) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "record.json"
    path.write_text(json.dumps(of(kind).to_dict()), encoding="utf-8")
    assert read(path) == of(kind)


def test_a_curve_of_texts_is_one_of_texts(tmp_path: Path) -> None:
    curve = of(LearningCurve)
    assert isinstance(curve, LearningCurve)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(replace(curve, unit="text").to_dict()), encoding="utf-8")
    assert read_curve(path).unit == "text"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"points": [], "measure": 1', '{"points": 3}']
)
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    with refuses(DataError, "x.json: ", "learning-curve.json"):
        read_curve(path)
    with refuses(DataError, "x.json: ", "tagkit audit"):
        read_audit(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses(DataError, "none.json: "):
        read_curve(tmp_path / "none.json")


def test_values_out_of_range_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    audit = of(Audit)
    assert isinstance(audit, Audit)
    doubt = audit.doubts[0]
    for broken in (
        replace(doubt, gold=((3, 9, "X"),)),
        replace(doubt, gold=(), predicted=()),
        replace(doubt, gold_probability=1.5),
    ):
        path.write_text(json.dumps(replace(audit, doubts=(broken,)).to_dict()), encoding="utf-8")
        with refuses(DataError, "x.json: "):
            read_audit(path)
    points = [{"sentences": 10**at, "seed": 1, "score": 0.5} for at in (1, 2, 400)]
    path.write_text(json.dumps({"measure": "F1", "points": points}), encoding="utf-8")
    with refuses(DataError, "x.json: "):
        read_curve(path)
