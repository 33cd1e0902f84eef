"""What each section says of its record."""

import pytest
from hostile import all_parts
from html_pages import Element, parsed

import tagkit
from tagkit.evaluation.analysis import analyse
from tagkit.evaluation.html_report.page import SECTIONS
from tagkit.html.colours import Palette
from tagkit.text.records import Sentence

WORDS = ("Ada", "Byron", "left", "New", "York", "for", "Rome")
GOLD = [
    Sentence(WORDS, ("B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "B-LOC"), lines=range(4, 11))
]
FOUND = [Sentence(WORDS, ("B-PER", "I-PER", "O", "B-LOC", "O", "O", "O"))]


def section(anchor: str, record: object) -> Element:
    (row,) = [each for each in SECTIONS if each.anchor == anchor]
    drawn = row.draw(record, Palette())
    assert drawn is not None
    return parsed(drawn)


def record(anchor: str) -> object:
    (row,) = [each for each in SECTIONS if each.anchor == anchor]
    return next(part.record for part in all_parts() if isinstance(part.record, row.of))


def rows(root: Element, caption: str) -> list[list[str]]:
    (table,) = [each for each in root.all("table") if next(each.all("caption")).text == caption]
    return [
        [
            each.text
            for each in row.all()
            if each.name in ("th", "td") and "drawing" not in each.classes
        ]
        for row in table.all("tr")
    ]


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


def test_systems_have_their_interval_their_difference_and_p() -> None:
    root = section("systems", record("systems"))
    table = rows(root, "Systems")
    assert table[1][0].startswith("(1) <script>")
    assert table[1][3:] == ["–", "–", "–"]
    assert table[2][:3] == ["(2) better", "100.00", "100.00 to 100.00"]
    assert table[2][3].startswith("+")
    assert len(list(root.all("circle"))) == 2


def test_calibration_has_a_bar_and_a_point_for_each_bin_that_has_predictions() -> None:
    root = section("calibration", record("calibration"))
    assert len(list(root.all("rect", "bar"))) == len(list(root.all("circle"))) == 9
    assert rows(root, "By confidence")[9] == ["0.90 to 1.00", "9", "95.00", "75.00", "-20.00"]
    thresholds = rows(root, "If only spans from a probability on were kept")
    assert thresholds[2] == ["0.5", "40", "0.9000", "0.6000", "0.7200"]
    cards = [each.text for each in root.all("dd")]
    assert cards[0] == "5.00expected calibration error; 0 is best"


def test_a_learning_curve_has_its_points_its_law_and_its_forecasts() -> None:
    root = section("learning-curve", record("learning-curve"))
    assert len(list(root.all("circle", "dot"))) == 4
    assert len(list(root.all("circle", "dot-2"))) == 2
    assert [each[0] for each in rows(root, "Measured")[1:]] == ["500", "1,000", "2,000", "4,000"]
    ahead = rows(root, "With more data of this kind")
    assert [each[0] for each in ahead[1:]] == ["8,000", "16,000"]


def test_doubts_are_listed_with_both_sides_and_cut() -> None:
    root = section("doubts", record("doubts"))
    examples = list(root.all("div", "example"))
    assert len(examples) == 50
    assert "and 10 more" in root.text
    place = next(examples[0].all("p", "place"))
    assert place.text == "1. line 7: 2 of 3 models contradict, score 0.91"
    assert [each.text.split()[-1] for each in examples[0].all("bdi")] == ["0.01", "0.98"]


@pytest.mark.parametrize("anchor", ["measures", "slices"])
def test_scores_have_a_bar_that_says_the_same(anchor: str) -> None:
    root = section(anchor, record(anchor))
    for row in root.all("tr"):
        numbers = [each.text for each in row.all("td", "number")]
        for bar in row.all("svg", "small"):
            width = float(list(bar.all("rect"))[1].attributes["width"])
            assert width == pytest.approx(100 * float(numbers[2]), abs=0.01)
