"""Charts: values are where their axes say."""

import pytest
from html_pages import parsed

from tagkit.html.chart import Axis, Chart, round_ticks, share_bar

CHART = Chart(
    Axis(0, 10, [(0, "0"), (10, "ten")], "x"), Axis(0, 1, [(0.5, "half")], "y"), 176, 162
)  # an area of 100 by 100, from (58, 14) to (158, 114)


def test_values_are_placed_in_proportion() -> None:
    assert CHART.place((0, 0)) == (58, 114)
    assert CHART.place((10, 1)) == (158, 14)
    assert CHART.place((2.5, 0.75)) == (83, 39)


def test_equal_ratios_have_equal_lengths_on_a_logarithmic_axis() -> None:
    axis = Axis(100, 10_000, [], "n", log=True)
    assert [axis.part(n) for n in (100, 1000, 10_000)] == pytest.approx([0, 0.5, 1])


def test_a_bar_stands_on_the_axis() -> None:
    (bar,) = parsed(CHART.bar(0, 5, 0.5, class_="bar")).all("rect")
    size = {name: float(bar.attributes[name]) for name in ("x", "y", "width", "height")}
    assert size == {"x": 59, "y": 64, "width": 48, "height": 50}


def test_a_chart_is_an_image_with_a_name_and_its_ticks() -> None:
    root = parsed(CHART.svg("A <chart>", CHART.line([(0, 0), (10, 1)], class_="curve")))
    (svg,) = root.all("svg")
    assert svg.attributes["role"] == "img"
    assert svg.attributes["aria-label"] == "A <chart>"
    assert [each.text for each in root.all("text")] == ["half", "0", "ten", "x", "y"]
    (curve,) = root.all("polyline")
    assert curve.attributes["points"] == "58,114 158,14"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (81.3, 96.2, [85, 90, 95]),
        (89.99, 90.4, [90, 90.1, 90.2, 90.3, 90.4]),
        (0, 3e-12, [0, 1e-12, 2e-12, 3e-12]),
        (7, 7, [7]),
    ],
)
def test_ticks_are_round_values(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high, 5) == ticks


def test_ticks_of_whole_numbers_are_not_between_them() -> None:
    assert round_ticks(1, 3, 6, least=1) == [1, 2, 3]


def test_an_axis_has_space_at_both_ends() -> None:
    axis = Axis(10, 20, [], "n", space=0.05)
    assert [axis.part(n) for n in (10, 15, 20)] == pytest.approx([0.05, 0.5, 0.95])
    assert Axis(7, 7, [], "n", space=0.05).part(7) == 0.5


def test_a_small_bar_never_leaves_its_track() -> None:
    widths = [list(parsed(share_bar(s)).all("rect"))[1].attributes["width"] for s in (-1, 0.25, 7)]
    assert [float(width) for width in widths] == [0, 25, 100]
