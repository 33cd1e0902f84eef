"""Kinds of error on a page: counts, costs, and examples with both sides."""

from html_sections import record, rows, section

import tagkit
from tagkit.evaluation.analysis.analysis import analyse
from tagkit.text.records import Sentence

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
