"""Labels in doubt on a page."""

from html_sections import record, section


def test_doubts_are_listed_with_both_sides_and_cut() -> None:
    root = section("doubts", record("doubts"))
    examples = list(root.all("div", "example"))
    assert len(examples) == 50
    assert "and 10 more" in root.text
    place = next(examples[0].all("p", "place"))
    assert place.text == "1. line 7: 2 of 3 models contradict, score 0.91"
    assert [each.text.split()[-1] for each in examples[0].all("bdi")] == ["0.01", "0.98"]
