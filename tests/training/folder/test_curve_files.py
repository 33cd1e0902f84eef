"""The files of a learning curve."""

import json
from pathlib import Path

import pytest

from tagkit.errors import CheckpointError
from tagkit.evaluation.analysis.power_law import Point, fit
from tagkit.training.folder.curve_files import (
    CURVE,
    SIZE_RUN,
    MeasuredPoints,
    read_measured,
    size_folder,
    write_measured,
)
from tagkit.training.folder.run_files import SUBRUN

POINTS = (Point(10, 1, 0.25), Point(20, 2**64 - 1, 0.5), Point(40, 1, 0.625))
MEASURED = MeasuredPoints(
    {"task": "tag", "data.tag_column": None, "train.lr": 0.1},
    "F1",
    "text",
    POINTS,
    (10, 20, 40, 80),
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    write_measured(tmp_path, MEASURED)
    assert read_measured(tmp_path) == MEASURED
    assert json.loads((tmp_path / CURVE).read_text())["law"] is None
    curve = fit("F1", POINTS, "text")
    write_measured(tmp_path, MEASURED, curve)
    assert read_measured(tmp_path) == MEASURED
    record = json.loads((tmp_path / CURVE).read_text())
    assert record["law"] == curve.law.to_dict()
    assert record["forecasts"] == [each.to_dict() for each in curve.forecasts]
    assert record["remarks"] == []
    flat = fit("F1", [Point(size, 1, 0.96) for size in (10, 20, 40)], "text")
    write_measured(tmp_path, MEASURED, flat)
    (remark,) = json.loads((tmp_path / CURVE).read_text())["remarks"]
    assert remark.startswith("more data of this kind would bring little: ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "is damaged ('format_version')"),
        ("[1]", "is damaged ("),
        ('{"format_version": 1, "run": {}, "measure": "F1", "unit": "text", "points": [{}]}',
         "is damaged ('sentences')"),
        ('{"format_version": 1, "run": {}, "measure": "F1", "unit": "text", "points": '
         '[{"sentences": 5, "seed": 1, "score": 1.5}]}', "is damaged (a point is out of range)"),
        ('{"format_version": 2, "tagkit": "9.0"}',
         "made by tagkit 9.0"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_a_sentence(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / CURVE).write_text(content)
    with pytest.raises(CheckpointError) as raised:
        read_measured(tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / CURVE}: {problem}")


def test_the_folder_of_a_training_is_a_run_of_its_own() -> None:
    assert size_folder(1000, 3) == "size-1000-seed-3"
    assert SIZE_RUN.fullmatch(size_folder(1000, 3))
    assert SUBRUN.fullmatch(size_folder(1000, 3))
    assert not SUBRUN.fullmatch("size-1000")
