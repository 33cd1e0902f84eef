"""The reliability diagram of a page, and the tables beside it."""

from html_sections import record, rows, section

from tagkit.evaluation.html_report.calibration import SetsSection
from tagkit.evaluation.scores.conformal import report_sets


def test_calibration_has_a_bar_and_a_point_for_each_bin_that_has_predictions() -> None:
    root = section("calibration", record("calibration"))
    assert len(list(root.all("rect", "bar"))) == len(list(root.all("circle"))) == 9
    assert rows(root, "By confidence")[9] == ["0.90 to 1.00", "9", "95.00", "75.00", "-20.00"]
    thresholds = rows(root, "If only spans from a probability on were kept")
    assert thresholds[2] == ["0.5", "40", "0.9000", "0.6000", "0.7200"]
    cards = [each.text for each in root.all("dd")]
    assert cards[0] == "5.00expected calibration error; 0 is best"


def test_sets_of_tags_have_their_coverage_and_their_sizes() -> None:
    root = section("sets", record("sets"))
    assert [each.text for each in root.all("dt")] == [
        "hold the gold tags, %", "sets", "mean size", "have one tagging alone, %",
        "reached the limit of 100 taggings, %",
    ]  # fmt: skip
    assert [each.text for each in root.all("dd")] == [
        "75.00of 90 asked for; standard error 21.65", "4one of each sentence",
        "26.25median 2, 90th percentile 100", "50.00right in 50.00 %", "25.00",
    ]  # fmt: skip


def test_sets_of_classes_say_how_many_hold_all() -> None:
    report = report_sets(0.99, [6, 6, 6, 5], [True] * 4, 6, 3)
    root = section("sets", SetsSection("classes", report))
    heads, values = ([each.text for each in root.all(name)] for name in ("dt", "dd"))
    assert (heads[-1], values[-1]) == ("hold all 6 classes, %", "75.00")
    assert values[3] == "0.00"  # and nothing of how many of none are right
