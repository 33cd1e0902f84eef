"""Areas under ROC and under precision and recall: as scikit-learn has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from tagkit.evaluation.scores.areas import (
    Areas,
    class_areas,
    precision_recall_area,
    roc_area,
)
from tagkit.text.records import LabelScore

# Few distinct probabilities, so that many are equal.
PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.booleans()), min_size=2)


@given(PAIRS.filter(lambda pairs: len({right for _, right in pairs}) == 2))
def test_areas_are_those_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    probabilities, correct = map(np.array, zip(*pairs, strict=True))
    assert roc_area(probabilities, correct) == pytest.approx(roc_auc_score(correct, probabilities))
    expected = average_precision_score(correct, probabilities)
    assert precision_recall_area(probabilities, correct) == pytest.approx(expected)


def scores(**of: float) -> list[LabelScore]:
    return [LabelScore(label, p) for label, p in of.items()]


def test_each_class_is_judged_against_the_others_and_one_without_two_sides_is_left_out() -> None:
    gold = [("a",), ("b",), ("a",), ("b", "c")]
    given = [scores(a=0.9, b=0.1, x=0), scores(a=0.6, b=0.4, x=0),
             scores(b=0.5, a=0.5, x=0), scores(a=0.1, b=0.9, x=0)]  # fmt: skip
    found = class_areas(gold, given)
    assert found is not None
    # Of a: 0.9 and 0.5 against 0.6 and 0.1; three of four pairs are in order.
    assert found.types["a"] == Areas(0.75, (1 / 1 + 2 / 3) / 2)
    assert {*found.types} == {"a", "b"}  # x is of no text, and c has no probability
    assert found.macro.roc == pytest.approx((0.75 + 0.75) / 2)
    assert class_areas(gold, [*given[:3], []]) is None
    assert class_areas([("a",)] * 4, given) is None
    assert class_areas([], []) is None
