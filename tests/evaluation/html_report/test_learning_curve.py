"""A learning curve on a page."""

from html_sections import record, rows, section


def test_a_learning_curve_has_its_points_its_law_and_its_forecasts() -> None:
    root = section("learning-curve", record("learning-curve"))
    assert len(list(root.all("circle", "dot"))) == 4
    assert len(list(root.all("circle", "dot-2"))) == 2
    assert [each[0] for each in rows(root, "Measured")[1:]] == ["500", "1,000", "2,000", "4,000"]
    ahead = rows(root, "With more data of this kind")
    assert [each[0] for each in ahead[1:]] == ["8,000", "16,000"]
