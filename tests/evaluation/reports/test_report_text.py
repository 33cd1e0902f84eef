"""Tables aligned also where labels have wide or combining characters; sets in words."""

import pytest

from tagkit.evaluation.reports.class_report import make_class_report
from tagkit.evaluation.reports.report_text import confusion_lines, report_lines, set_lines, table
from tagkit.evaluation.scores.conformal import report_sets
from tagkit.wording import cells, padded, shortened

WIDE, EMOJI, COMBINING = "体育 新闻", "😀 joy", "cafe\u0301"
LABELS = (WIDE, EMOJI, COMBINING, "sport")
GOLD = [(label,) for label in LABELS for _ in range(3)]
FOUND = [*GOLD[1:], GOLD[0]]


def test_long_names_are_shortened_and_never_to_the_same() -> None:
    names = [f"{kind}_date.{what}_relative" for kind in ("depart", "arrive") for what in ("a", "b")]
    rows = [(name, "0.5000") for name in names]
    lines = [*table("label", ["f1"], rows, 26)]
    assert len({line.split()[0] for line in lines}) == 6  # at 18 characters they would be three
    assert lines == [
        "label                   f1",
        "depart_date.a_relative", "                    0.5000",
        "depart_date.b_relative", "                    0.5000",
        "arrive_date.a_relative", "                    0.5000",
        "arrive_date.b_relative", "                    0.5000",
    ]  # fmt: skip
    # Where nothing is the same, the room is kept.
    assert [*table("label", ["f1"], rows[::2], 26)][1] == "depart_dat...ative  0.5000"
    assert [*table("label", ["f1"], [("short", "1.0000")], 26)][1] == "short  1.0000"


def test_names_that_differ_in_the_middle_keep_a_table_at_its_width() -> None:
    figures = ("0.3443", "0.0935", "-0.2508", "-0.3540 to -0.1496", "<0.001", "0.007")
    heads = ("(1)", "(2)", "change", "95 % interval", "p", "Holm p")
    features = "Definite=Def|Degree=Pos|{}|Number=Sing|PronType=Art"
    names = ["LOC", *(features.format(f"Gender={gender}") for gender in ("Fem", "Neut"))]
    assert [*table("F1 by type", heads, [(name, *figures) for name in names], 80)] == [
        "F1 by type              (1)     (2)   change       95 % interval       p  Holm p",
        "LOC                  0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
        names[1],
        "                     0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
        names[2],
        "                     0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
    ]
    # Longer than a line, they are shortened as far as they differ.
    long = [f"{'a' * 50}{middle}{'b' * 20}" for middle in ("x", "y")]
    lines = [*table("label", ["f1"], [(name, "1.0000") for name in long], 40)]
    assert lines[1::2] == [f"{'a' * 42}...{middle}{'b' * 20}" for middle in ("x", "y")]
    assert lines[2::2] == [f"{'1.0000':>40}"] * 2


def ends(lines: list[str]) -> set[int]:
    """Cells of the lines that end with a number."""
    return {cells(line) for line in lines if line and line[-1].isdigit()}


def test_a_report_is_aligned_on_a_terminal() -> None:
    lines = [*report_lines(make_class_report(GOLD, FOUND, several=False))]
    rows = [line for line in lines if line.startswith((*LABELS, "micro"))]
    assert len(rows) >= 4
    assert len(ends(rows)) == 1


@pytest.mark.parametrize("width", [80, 44])  # with names, and with numbers above the columns
def test_a_confusion_matrix_is_aligned_on_a_terminal(width: int) -> None:
    lines = [*confusion_lines(make_class_report(GOLD, FOUND, several=False), width)]
    rows = [line for line in lines if any(label in line for label in LABELS)]
    assert len(rows) >= 4
    assert len(ends(rows)) == 1
    assert all(cells(line) <= width for line in lines)


def test_a_table_is_aligned_on_a_terminal() -> None:
    lines = [*table("type", [WIDE, "f1"], [(label, "0.5000", "1.0000") for label in LABELS], 60)]
    assert len({cells(line) for line in lines}) == 1


def test_cells_are_padded_and_shortened_by_what_a_terminal_shows() -> None:
    assert padded(WIDE, 11) == f"{WIDE}  "
    assert padded(COMBINING, 6, right=True) == f"  {COMBINING}"
    assert shortened("体" * 20, 12) == "体体体...体"
    assert cells(shortened("体" * 20, 12)) <= 12
    assert shortened(COMBINING * 2, 8) == COMBINING * 2


def test_sets_that_reached_the_limit_are_named_where_there_are_some() -> None:
    some = report_sets(0.9, [1, 3, 3, 3], [True, True, True, False], 3, 3)
    none = report_sets(0.9, [1, 2], [True, True], 3, 0)
    assert [*set_lines({"tags": some, "classes": none})] == [
        "",
        "sets of tags at coverage 0.9: 0.7500 of 4 sets hold the gold tags, one of each sentence; "
        "standard error 0.2165",
        "size: median 3, mean 2.50, 90th percentile 3; 0.7500 of sets reached the limit of 3 "
        "taggings",
        "0.2500 of sets have one tagging alone, which is right in 1.0000 of them",
        "",
        "sets of classes at coverage 0.9: 1.0000 of 2 sets hold the gold classes, one of each "
        "text; standard error 0.0000",
        "size: median 1.5, mean 1.50, 90th percentile 2; no set holds all 3 classes",
        "0.5000 of sets have one class alone, which is right in 1.0000 of them",
    ]


def test_sets_of_all_classes_are_counted() -> None:
    report = report_sets(0.99, [6, 6, 6, 5], [True, True, True, True], 6, 3)
    assert [*set_lines({"classes": report})][2] == (
        "size: median 6, mean 5.75, 90th percentile 6; 0.7500 of sets hold all 6 classes"
    )
