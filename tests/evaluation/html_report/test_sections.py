"""The sections of a page, each from its record."""

import pytest
from html_sections import record, rows, section

import tagkit
from tagkit.evaluation.analysis.analysis import analyse
from tagkit.evaluation.analysis.power_law import Point, fit
from tagkit.evaluation.html_report.sections import SetsSection
from tagkit.evaluation.scores.conformal import report_sets
from tagkit.text.records import Sentence


def test_systems_have_their_interval_their_difference_and_p() -> None:
    root = section("systems", record("systems"))
    table = rows(root, "Systems")
    assert table[1][0].startswith("(1) <script>")
    assert table[1][3:] == [""] * 3
    assert table[2][:3] == ["(2) better", "1.0000", "1.0000 to 1.0000"]
    assert table[2][3].startswith("+")
    assert len(list(root.all("circle"))) == 2
    runs = rows(root, "Runs with several seeds")
    assert runs[1][1:5] == ["2", "0.0000", "0.0000", "0.0000"]
    assert runs[2][1:5] == ["1", "1.0000", "1.0000", "-"]
    assert rows(root, "Scores by type")[0][:4] == ["F1 by type", "(1)", "(2)", "change"]


@pytest.mark.parametrize("anchor", ["measures", "slices"])
def test_scores_have_a_bar_that_says_the_same(anchor: str) -> None:
    root = section(anchor, record(anchor))
    for row in root.all("tr"):
        numbers = [each.text for each in row.all("td", "number")]
        for bar in row.all("svg", "small"):
            width = float(list(bar.all("rect"))[1].attributes["width"])
            assert width == pytest.approx(100 * float(numbers[2]), abs=0.01)


WORDS = ("Ada", "Byron", "left", "New", "York", "for", "Rome")
GOLD = [
    Sentence(WORDS, ("B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "B-LOC"), lines=range(4, 11))
]
FOUND = [Sentence(WORDS, ("B-PER", "I-PER", "O", "B-LOC", "O", "O", "O"))]


def test_errors_have_their_count_their_cost_and_examples_with_both_sides() -> None:
    report = tagkit.evaluate(GOLD, FOUND)
    root = section("errors", analyse(report, ["errors"]).errors)
    kinds = rows(root, "Kinds of error")
    assert kinds[0] == ["kind", "errors", "F1 if mended"]
    assert kinds[1] == ["boundarythe right type on overlapping words", "1", "+40.00"]
    assert rows(root, "Types with most errors")[1:] == [["LOC", "2"]]
    assert rows(root, "Confusion of types") == [
        ["gold \\ predicted", "LOC", "(none)"], ["LOC", "–", "1"], ["(none)", "·", "–"],
    ]  # fmt: skip
    assert [each.text for each in root.all("h3")] == ["Examples: boundary", "Examples: missed"]
    first, second = root.all("div", "example")
    assert [each.text for each in first.all("p")] == [
        "line 7", "Ada Byron left New YorkLOC for Rome", "Ada Byron left NewLOC York for Rome",
    ]  # fmt: skip
    assert [each.text for each in second.all("mark")] == ["RomeLOC"]


def test_without_an_error_there_is_one_table_alone() -> None:
    root = section("errors", analyse(tagkit.evaluate(GOLD, GOLD), ["errors"]).errors)
    assert len(list(root.all("table"))) == 1
    assert "No error was found." in root.text


def test_a_long_sentence_is_shown_around_the_error() -> None:
    words = tuple(f"w{number}" for number in range(100))
    gold = [Sentence(words, ("O",) * 50 + ("B-X",) + ("O",) * 49)]
    report = tagkit.evaluate(gold, [Sentence(words, ("O",) * 100)])
    root = section("errors", analyse(report, ["errors"]).errors)
    (gold_side, _) = root.all("p", "drawn")
    assert gold_side.text.startswith("… w36 ")
    assert gold_side.text.endswith(" w64 …")
    (mark,) = root.all("mark")
    assert mark.text == "w50X"


def test_doubts_are_listed_with_both_sides_and_cut() -> None:
    root = section("doubts", record("doubts"))
    examples = list(root.all("div", "example"))
    assert len(examples) == 50
    assert "and 10 more" in root.text
    place = next(examples[0].all("p", "place"))
    assert place.text == "1. line 7: 2 of 3 models contradict, score 0.91"
    assert [each.text.split()[-1] for each in examples[0].all("bdi")] == ["0.01", "0.98"]


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
