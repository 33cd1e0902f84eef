"""The reliability diagram of a page, and the tables beside it."""

from html_sections import record, rows, section


def test_calibration_has_a_bar_and_a_point_for_each_bin_that_has_predictions() -> None:
    root = section("calibration", record("calibration"))
    assert len(list(root.all("rect", "bar"))) == len(list(root.all("circle"))) == 9
    assert rows(root, "By confidence")[9] == ["0.90 to 1.00", "9", "95.00", "75.00", "-20.00"]
    thresholds = rows(root, "If only spans from a probability on were kept")
    assert thresholds[2] == ["0.5", "40", "0.9000", "0.6000", "0.7200"]
    cards = [each.text for each in root.all("dd")]
    assert cards[0] == "5.00expected calibration error; 0 is best"
