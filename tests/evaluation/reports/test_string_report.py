"""Scores of strings by hand."""

import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.reports.string_report import PARTS, edit_distance, string_report
from tagkit.text.units import CharacterUnits, WordUnits


def test_the_nearest_reference_counts() -> None:
    gold = [("abc", "abd"), ("xyz",), ("",)]
    report = string_report(gold, ["abd", "xz", "q"], CharacterUnits())
    assert (report.headline, report.measure) == (pytest.approx(1 / 3), "exact match")
    assert report.parts() == {
        "exact_match": pytest.approx(1 / 3), "edit_distance": pytest.approx(2 / 3),
        "unit_error_rate": pytest.approx(2 / 6), "character_error_rate": pytest.approx(2 / 6),
    }  # fmt: skip
    assert report.to_dict().items() >= {"kind": "strings", "pairs": 3, "exact": 1}.items()


def test_words_have_an_error_rate_of_their_own_and_scores_of_translation() -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    gold = [("the cat sat on the mat", "a cat was on the mat"), ("a dog slept here today",)]
    found = ["the cat sat on a mat", "a dog slept here"]
    report = string_report(gold, found, WordUnits("blanks"))
    parts = report.parts()
    assert parts["unit_error_rate"] == pytest.approx(2 / 11)
    references = [["the cat sat on the mat", "a dog slept here today"], [gold[0][1], None]]
    assert parts["bleu"] == pytest.approx(sacrebleu.corpus_bleu(found, references).score / 100)
    assert parts["chrf"] == pytest.approx(sacrebleu.corpus_chrf(found, references).score / 100)
    assert {*PARTS} <= {*parts}


def test_without_sacrebleu_they_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    assert "bleu" not in string_report([("a b",)], ["a b"], WordUnits("blanks")).parts()


SHORT = st.text(alphabet="abc", max_size=6)


@cache
def by_definition(left: str, right: str) -> int:
    """Jurafsky and Martin: the least of a deletion, an insertion and a substitution."""
    if not left or not right:
        return len(left) + len(right)
    return min(
        by_definition(left[1:], right) + 1,
        by_definition(left, right[1:]) + 1,
        by_definition(left[1:], right[1:]) + (left[0] != right[0]),
    )


@given(SHORT, SHORT)
def test_it_is_the_least_of_all_ways(left: str, right: str) -> None:
    assert edit_distance(left, right) == by_definition(left, right)
    assert edit_distance(right, left) == edit_distance(tuple(left), list(right))


def test_the_textbooks_example_has_its_number() -> None:
    # "intention" and "execution", with substitutions of cost 1
    assert edit_distance("intention", "execution") == 5
