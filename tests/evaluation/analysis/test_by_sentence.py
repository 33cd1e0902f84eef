"""Decisions by sentence add up to the report's headline."""

import pytest
from hypothesis import given
from random_tags import gold_and_predicted
from says import refuses

from tagkit.errors import DataError
from tagkit.evaluation.analysis.by_sentence import parts_of, sentence_counts
from tagkit.evaluation.reports.class_report import make_class_report
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.tag_report import make_tag_report, with_sentences
from tagkit.text.records import Sentence


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("scheme", ["iob2", "iobes", "labels"])
@given(both=gold_and_predicted())
def test_the_sum_over_sentences_is_the_headline(
    both: tuple[list[list[str]], list[list[str]]], scheme: str, strict: bool
) -> None:
    gold, predicted = both
    if not gold:
        return
    report = make_tag_report(gold, predicted, scheme, strict=strict)
    words = [Sentence(("w",) * len(tags)) for tags in gold]
    counts = sentence_counts(with_sentences(report, words, "gold"))
    assert len(counts) == len(gold)
    assert counts.f1 == pytest.approx(report.headline)


def test_a_text_with_one_class_is_right_or_wrong_and_one_with_several_counts_each() -> None:
    one = make_class_report([("a",), ("a",)], [("a",), ()], several=False)
    counts = sentence_counts(one)
    assert (counts.correct.tolist(), counts.gold.tolist()) == ([1, 0], [1, 1])
    assert counts.f1 == one.headline == 0.5
    several = make_class_report([("a", "b"), ("a",)], [("b",), ("a", "c")], several=True)
    assert sentence_counts(several).f1 == pytest.approx(several.headline)


def test_a_report_on_several_columns_has_no_single_headline_to_analyse() -> None:
    with refuses(DataError, "predicts"):
        parts_of(ColumnsReport(()))
