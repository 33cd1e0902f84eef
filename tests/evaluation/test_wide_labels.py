"""Labels of wide characters, and of combining ones, leave the columns of tables where they are."""

import pytest

from tagkit.evaluation.class_report import make_class_report
from tagkit.evaluation.confusion_text import confusion_lines
from tagkit.evaluation.report_text import report_lines
from tagkit.evaluation.text_table import table
from tagkit.wording import cells, padded, shortened

WIDE, EMOJI, COMBINING = "体育 新闻", "😀 joy", "cafe\u0301"
LABELS = (WIDE, EMOJI, COMBINING, "sport")
GOLD = [(label,) for label in LABELS for _ in range(3)]
FOUND = [*GOLD[1:], GOLD[0]]


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
