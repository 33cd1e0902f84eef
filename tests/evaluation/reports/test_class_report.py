"""Reports of classes, against scikit-learn and by hand."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.reports.class_report import JointReport, make_class_report, whole_accuracy
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.evaluation.scores.scores import Score

NAMES = "abc"
ONE = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30)
SETS = st.lists(
    st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))),
    min_size=1,
    max_size=30,
)


def same(ours: Score, theirs: tuple[float, ...]) -> None:
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(theirs[:3])


@given(ONE)
def test_scores_of_one_class_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    gold, found = [a for a, _ in pairs], [b for _, b in pairs]
    report = make_class_report([(a,) for a in gold], [(b,) for b in found], several=False)
    assert report.accuracy == report.headline == pytest.approx(accuracy_score(gold, found))
    assert report.measure == "accuracy"
    labels = sorted({*gold, *found})
    assert list(report.types) == labels
    for average in ("micro", "macro", "weighted"):
        expected = precision_recall_fscore_support(
            gold, found, average=average, labels=labels, zero_division=0
        )
        same(getattr(report, average), expected)
    each = precision_recall_fscore_support(gold, found, labels=labels, zero_division=0)
    for number, label in enumerate(labels):
        same(report.types[label], [row[number] for row in each])
        assert report.types[label].support == each[3][number]


@given(SETS)
def test_scores_of_several_classes_are_those_of_scikit_learn(
    pairs: list[tuple[set[str], set[str]]],
) -> None:
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    def rows(side: int) -> list[list[int]]:
        return [[int(name in pair[side]) for name in NAMES] for pair in pairs]

    report = make_class_report(
        [sorted(a) for a, _ in pairs], [sorted(b) for _, b in pairs], several=True
    )
    assert report.accuracy == pytest.approx(accuracy_score(rows(0), rows(1)))
    expected = precision_recall_fscore_support(rows(0), rows(1), average="micro", zero_division=0)
    same(report.micro, expected)
    assert report.headline == report.micro.f1
    assert report.measure == "F1"
    assert report.confusion == {}
    assert report.confused() == []


def test_the_matrix_counts_gold_by_predicted_and_the_most_confused_come_first() -> None:
    gold = [("a",)] * 5 + [("b",)] * 3 + [("c",)]
    found = [("a",), ("b",), ("b",), ("c",), (), ("b",), ("a",), ("a",), ("c",)]
    report = make_class_report(gold, found, several=False, known={"a", "b"})
    assert report.confusion == {
        "a": {"a": 1, "b": 2, "c": 1, "": 1}, "b": {"b": 1, "a": 2}, "c": {"c": 1},
    }  # fmt: skip
    assert report.confused() == [("a", "b", 2), ("b", "a", 2), ("a", "", 1), ("a", "c", 1)]
    assert report.unknown == {"c": 1}
    assert json.loads(json.dumps(report.to_dict()))["confusion"] == report.confusion
    assert list(report.to_dict()) == [
        "kind", "measure", "headline", "texts", "several", "accuracy", "micro", "macro", "weighted",
        "types", "confusion", "unknown",
    ]  # fmt: skip


def test_a_whole_text_is_right_where_its_spans_and_its_class_are() -> None:
    gold = [("B-X", "O"), ("O",), ("B-X", "I-X"), ("O",)]
    found = [("B-X", "O"), ("O",), ("B-X", "O"), ("O",)]
    labels = [("a",), ("a",), ("a",), ("b", "c")]
    answers = [("a",), ("b",), ("a",), ("c", "b")]
    assert whole_accuracy(gold, found, labels, answers, plain=False) == 2 / 4
    # I-X after O is a span of its own to conlleval, but another plain label.
    assert whole_accuracy([("B-X",)], [("I-X",)], [("a",)], [("a",)], plain=False) == 1
    assert whole_accuracy([("B-X",)], [("I-X",)], [("a",)], [("a",)], plain=True) == 0
    tags = make_tag_report(gold, found, "iob2")
    classes = make_class_report(labels, answers, several=True)
    both = JointReport(tags, classes, 0.5)
    assert both.headline == pytest.approx((tags.micro.f1 + classes.micro.f1) / 2)
    assert both.measure == "mean"
    assert list(both.parts()) == [
        "accuracy", "precision", "recall", "f1", "macro_f1",
        "class_accuracy", "class_precision", "class_recall", "class_f1", "class_macro_f1",
    ]  # fmt: skip
    assert both.parts()["class_f1"] == classes.micro.f1
    assert list(both.to_dict()) == ["kind", "measure", "headline", "tags", "classes", "whole"]
    assert both.to_dict()["whole"] == 0.5
    assert both.to_dict()["classes"] == classes.to_dict()
