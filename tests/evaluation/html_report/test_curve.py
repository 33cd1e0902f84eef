"""A learning curve on a page."""

from html_sections import record, rows, section

from tagkit.evaluation.analysis.power_law import Point, fit


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
