"""Analyses as people read them."""

import tagkit
from tagkit import Sentence
from tagkit.evaluation.analysis.analysis import analyse
from tagkit.evaluation.analysis.analysis_text import analysis_lines
from tagkit.evaluation.reports.report_text import report_lines

WORDS = ("Yesterday", "in", "the", "north", "of", "New", "York", "City", "it", "rained", "a", "lot")
GOLD = Sentence(WORDS, ("O",) * 5 + ("B-LOC", "I-LOC", "I-LOC") + ("O",) * 4)
FOUND = Sentence(WORDS, ("O",) * 5 + ("B-LOC", "I-LOC", "O") + ("O",) * 4)


def lines(*names: str, width: int | None = None) -> list[str]:
    return list(analysis_lines(analyse(tagkit.evaluate([GOLD], [FOUND]), names), width))


def test_an_interval_is_one_line() -> None:
    assert lines("interval") == ["", "F1 0.0000, 95 % interval 0.0000 to 0.0000"]


def test_measures_have_a_row_each() -> None:
    assert lines("measures") == [
        "",
        "measure   precision  recall      f1  correct  wrong  partial  missed  spurious",
        "strict       0.0000  0.0000  0.0000        0      1        0       0         0",
        "exact        0.0000  0.0000  0.0000        0      1        0       0         0",
        "partial      0.5000  0.5000  0.5000        0      0        1       0         0",
        "ent_type     1.0000  1.0000  1.0000        1      0        0       0         0",
        "surface      0.0000  0.0000  0.0000",
        "surface: 1 distinct gold form with its type",
    ]


def test_errors_are_shown_with_the_words_around_them() -> None:
    found = lines("errors")
    assert "boundary                1       +100.00" in found
    assert "kind of error      errors  F1 if mended" in found
    assert found[-4:] == [
        "boundary",
        "  gold:1",
        "    gold       in the north of [LOC New York City] it rained a lot",
        "    predicted  in the north of [LOC New York] City it rained a lot",
    ]


def test_a_narrow_terminal_shows_fewer_words_around_an_error() -> None:
    assert lines("errors", width=50)[-2:] == [
        "    gold       of [LOC New York City] it",
        "    predicted  of [LOC New York] City it",
    ]


def test_words_and_labels_are_shown_safely() -> None:
    evil = Sentence(("a\x1b[2J", "<script>"), ("B-\x1bX", "O"))
    none = Sentence(evil.words, ("O", "O"))
    shown = "\n".join(analysis_lines(tagkit.analyse([evil], [none])))
    assert "\x1b" not in shown
    assert "[\\x1bX a\\x1b[2J] <script>" in shown


def test_slices_have_a_table_for_each_division() -> None:
    assert lines("slices")[:6] == [
        "",
        "tokens of the span  precision  recall      f1  support",
        "2                      0.0000  0.0000  0.0000        0",
        "3                      0.0000  0.0000  0.0000        1",
        "",
        "tokens of the sentence  precision  recall      f1  support",
    ]


def test_tables_that_would_be_empty_are_left_out_and_what_zeros_mean_is_said() -> None:
    nothing = Sentence(("a", "b"), ("O", "O"))
    report = tagkit.evaluate([nothing], [nothing], scheme="iob2")
    assert [*report_lines(report)][-2:] == [
        "IOB2 spans, conlleval-compatible; token accuracy 1.0000 of 2 tokens",
        "there is no span, neither gold nor predicted: the scores of 0 mean nothing",
    ]
    assert [*analysis_lines(analyse(report, ["slices"]))] == []
    report = tagkit.evaluate([nothing], [Sentence(("a", "b"), ("B-X", "O"))], scheme="iob2")
    assert [*report_lines(report)][-1] == (
        "there is no gold span: the scores are 0 whatever is predicted"
    )
    assert "1                      0.0000  0.0000  0.0000        0" in [
        *analysis_lines(analyse(report, ["slices"]))
    ]
    report = tagkit.evaluate([GOLD], [FOUND])
    assert not any("there is no" in line for line in report_lines(report))
