"""A learning curve on a page, and as a picture."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from html_sections import record, rows, section

from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.evaluation.html_report.curve import curve_picture


def test_a_learning_curve_has_its_points_its_law_and_its_forecasts() -> None:
    root = section("learning-curve", record("learning-curve"))
    assert len(list(root.all("circle", "dot"))) == 4
    assert len(list(root.all("circle", "dot-2"))) == 2
    assert [each[0] for each in rows(root, "Measured")[1:]] == ["500", "1,000", "2,000", "4,000"]
    ahead = rows(root, "With more data of this kind")
    assert [each[0] for each in ahead[1:]] == ["8,000", "16,000"]


def test_a_page_has_the_warnings_that_the_terminal_shows() -> None:
    points = [Point(size, 1, score) for size, score in ((10, 0.5), (20, 0.6), (40, 0.55))]
    root = section("learning-curve", fit("F1", points, "sentence"))
    assert [each.text for each in root.all("p")][-1] == (
        "Warning: a smaller part of the corpus scores more than all that was tried, so that chance "
        "outweighs size: more seeds (train.seeds=1,2,3) would tell"
    )


def test_sizes_are_counted_in_what_the_task_has() -> None:
    points = [Point(size, 1, score) for size, score in ((10, 0.5), (20, 0.6), (40, 0.7))]
    for unit in ("sentence", "text"):
        root = section("learning-curve", fit("F1", points, unit))
        assert rows(root, "Measured")[0][0] == f"{unit}s"
        assert rows(root, "With more data of this kind")[0][0] == f"{unit}s"
        assert f"training {unit}s" in root.text


def test_a_dev_without_errors_has_no_law_and_no_forecast() -> None:
    points = [Point(size, 1, 1.0) for size in (10, 20, 40)]
    root = section("learning-curve", fit("F1", points, "sentence"))
    assert [next(each.all("caption")).text for each in root.all("table")] == ["Measured"]
    assert "Warning: dev finds no error at any size, so that" in root.text
    assert "score(n)" not in root.text
    assert not list(root.all("circle", "dot-2"))


SVG = "{http://www.w3.org/2000/svg}"
POINTS = [Point(size, seed, score + seed / 1000) for size, score in
          ((100, 0.5), (200, 0.6), (400, 0.7), (800, 0.76)) for seed in (1, 2)]  # fmt: skip


def drawn(curve: LearningCurve) -> ElementTree.Element:
    return ElementTree.fromstring(curve_picture(curve).encode())


def test_every_point_and_forecast_has_a_place_by_its_size_and_score() -> None:
    curve = fit("F1", POINTS, "sentence")
    dots = drawn(curve).findall(f".//{SVG}circle")
    titles = [dot.findtext(f"{SVG}title") or "" for dot in dots]
    twice = curve.forecasts[0]
    assert titles[0] == (
        f"forecast with 1,600 sentences: {100 * twice.score:.2f} ({100 * twice.low:.2f} to "
        f"{100 * twice.high:.2f} at 90 %)"
    )
    assert titles[2:4] == ["100 sentences, seed 1: 50.10", "100 sentences, seed 2: 50.20"]
    assert len(dots) == 2 + len(POINTS)
    across = {title.split(",")[0]: float(dot.attrib["cx"])
              for title, dot in zip(titles[2:], dots[2:], strict=True)}  # fmt: skip
    places = [across[f"{size} sentences"] for size in (100, 200, 400, 800)]
    steps = [after - before for before, after in pairwise(places)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.11)  # each size is twice the one before
    heights = [float(dot.attrib["cy"]) for dot in dots[2:]]
    assert heights == sorted(heights, reverse=True)  # SVG counts from the top
    assert all(0 < float(dot.attrib[key]) < 600 for dot in dots for key in ("cx", "cy"))


def test_the_law_goes_through_its_forecasts() -> None:
    curve = fit("acc.", POINTS, unit="text")
    root = drawn(curve)
    measured, ahead, *whiskers = root.findall(f".//{SVG}polyline")
    assert len(whiskers) == 2
    assert measured.attrib["points"].split()[-1] == ahead.attrib["points"].split()[0]
    last = root.findall(f".//{SVG}circle")[1]
    assert ahead.attrib["points"].split()[-1] == f"{last.attrib['cx']},{last.attrib['cy']}"
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "training texts" in texts
    assert "dev acc. by size of the training corpus" in texts
    assert {"100", "3,200"} <= {*texts}


def test_labels_of_sizes_do_not_touch() -> None:
    points = [Point(size, 1, 0.5 + size / 1e5) for size in (10_000, 10_100, 10_200, 10_300)]
    texts = [
        (float(element.attrib["x"]), element.text or "")
        for element in drawn(fit("F1", points, "sentence")).iter(f"{SVG}text")
        if re.fullmatch(r"[\d,]{5,}", element.text or "")
    ]
    assert [text for _, text in texts] == ["10,300", "20,600", "41,200"]
