"""Curves and audits that other commands have written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import all_parts

from tagkit.errors import DataError
from tagkit.evaluation.analysis.doubts import Audit
from tagkit.evaluation.analysis.learning_curve import LearningCurve
from tagkit.evaluation.html_report.stored_records import read_audit, read_curve


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
    with pytest.raises(
        DataError, match=r"x.json: expected the learning-curve.json of tagkit learn"
    ):
        read_curve(path)
    with pytest.raises(
        DataError, match=r"x.json: expected the JSON that tagkit audit prints, found "
    ):
        read_audit(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.json: cannot be read: No such file or directory"):
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
        with pytest.raises(DataError, match=r"found something else"):
            read_audit(path)
    points = [{"sentences": 10**at, "seed": 1, "score": 0.5} for at in (1, 2, 400)]
    path.write_text(json.dumps({"measure": "F1", "points": points}), encoding="utf-8")
    with pytest.raises(DataError, match=r"found something else"):
        read_curve(path)
