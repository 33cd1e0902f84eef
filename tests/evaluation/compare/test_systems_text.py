"""Systems side by side as people read them."""

import tagkit
from tagkit import Sentence
from tagkit.evaluation.compare.systems_text import systems_lines

WORDS = ("in", "New", "York")
GOLD = Sentence(WORDS, ("O", "B-LOC", "I-LOC"))
FOUND = Sentence(WORDS, ("O", "B-LOC", "O"))


def lines(gold: list[Sentence], **preds: object) -> list[str]:
    return list(systems_lines(tagkit.compare(gold, preds), [*preds]))


def test_two_systems_have_their_types_in_one_table() -> None:
    assert lines([GOLD], a=[FOUND], b=[GOLD]) == [
        "system      F1     95 % interval   change       95 % interval      p",
        "a       0.0000  0.0000 to 0.0000",
        "b       1.0000  1.0000 to 1.0000  +1.0000  +1.0000 to +1.0000  1.000",
        "change: from the first system; p: of a paired randomisation test",
        "",
        "F1 by type     (1)     (2)   change       95 % interval      p  Holm p",
        "LOC         0.0000  1.0000  +1.0000  +1.0000 to +1.0000  1.000   1.000",
        "(1) a",
        "(2) b",
        "Holm p: adjusted for 1 comparison",
    ]


def test_without_a_gold_span_the_scores_of_0_are_explained() -> None:
    nothing = Sentence(WORDS, ("O", "O", "O"))
    remark = "there is no gold span: all scores are 0, and a difference of 0 says nothing"
    systems = tagkit.compare([nothing], {"a": [nothing], "b": [GOLD]}, scheme="iob2")
    assert [*systems_lines(systems, ["a", "b"])][4] == remark
    assert remark not in lines([GOLD], a=[nothing], b=[nothing])


def test_more_systems_have_a_table_of_changes_each() -> None:
    shown = lines([GOLD], a=[FOUND], b=[GOLD], c=[FOUND])
    assert "Holm p: adjusted for 2 comparisons" in shown
    head = "  change       95 % interval      p  Holm p"
    assert f"(2) from (1) {head}" in shown
    assert f"(3) from (1) {head}" in shown


def test_tags_and_classes_have_tables_of_both() -> None:
    gold = [Sentence(WORDS, ("O", "B-LOC", "I-LOC"), labels=("go",))]
    shown = lines(gold, a=gold, b=gold)
    assert shown[:2] == ["tags", ""]
    assert shown[shown.index("classes") - 1 : shown.index("classes") + 2] == ["", "classes", ""]
