"""A learning curve as a picture."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tagkit.evaluation.analysis.power_law import LearningCurve, Point, fit
from tagkit.evaluation.html_report.curve import curve_picture

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
