"""Strict, exact, partial and type scores, by hand and by laws."""

import pytest
from flat_spans import flat
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.scores.aligned import Aligned, align
from tagkit.evaluation.scores.matching import MEASURES, match, pairs, surface_score
from tagkit.evaluation.scores.scores import count_spans
from tagkit.text.records import Sentence
from tagkit.text.schemes import Stretch, stretches

WORDS = tuple("abcdefghijkl")


def sentence(gold: list[Stretch], predicted: list[Stretch]) -> Aligned:
    return Aligned(WORDS, tuple(gold), tuple(predicted))


# The table of the task's guidelines: gold "drug" with what systems may answer, and the outcome by
# strict, exact, partial and type.
GUIDELINES = {
    "the same": ([(2, 4, "drug")], [(2, 4, "drug")], "correct correct correct correct"),
    "another type": ([(2, 4, "drug")], [(2, 4, "brand")], "incorrect correct correct incorrect"),
    "other boundaries": ([(2, 4, "drug")], [(1, 4, "drug")], "incorrect incorrect partial correct"),
    "both": ([(2, 4, "drug")], [(3, 5, "brand")], "incorrect incorrect partial incorrect"),
    "nothing": ([(2, 4, "drug")], [], "missed missed missed missed"),
    "too much": ([], [(2, 4, "drug")], "spurious spurious spurious spurious"),
    "side by side": ([(2, 4, "drug")], [(4, 5, "drug")], "missed+spurious " * 4),
    "one token inside": ([(2, 5, "drug")], [(3, 4, "drug")], "incorrect incorrect partial correct"),
}


@pytest.mark.parametrize("case", GUIDELINES)
def test_each_answer_of_the_guidelines_counts_as_they_say(case: str) -> None:
    gold, predicted, expected = GUIDELINES[case]
    found = match([sentence(gold, predicted)]).micro
    for name, outcomes in zip(MEASURES, expected.split(), strict=True):
        counts = found[name].to_dict()
        ones = {key for key in ("correct", "incorrect", "partial", "missed", "spurious")
                if counts[key]}  # fmt: skip
        assert ones == set(outcomes.split("+")), name


def test_scores_of_a_page_by_hand() -> None:
    # Right; a boundary; a type; missed; spurious: of 4 gold and 4 predicted spans.
    found = match(
        [
            sentence(
                [(0, 1, "A"), (2, 4, "A"), (5, 6, "B")],
                [(0, 1, "A"), (2, 3, "A"), (5, 6, "A")],
            ),
            sentence([(0, 2, "B")], []),
            sentence([], [(1, 2, "B")]),
        ]
    )  # fmt: skip
    assert {name: found.micro[name].f1 for name in MEASURES} == {
        "strict": 1 / 4, "exact": 2 / 4, "partial": 2.5 / 4, "ent_type": 2 / 4,
    }  # fmt: skip
    exact = found.types["B"]["exact"]
    assert (exact.correct, exact.missed, exact.spurious) == (1, 1, 1)
    assert found.types["A"]["partial"].recall == 1.5 / 2


def test_of_several_that_overlap_those_with_most_tokens_in_common_are_a_pair() -> None:
    gold: list[Stretch] = [(0, 2, "A"), (2, 6, "A")]
    assert pairs(gold, [(1, 5, "A")]) == [((0, 2, "A"), None), ((2, 6, "A"), (1, 5, "A"))]
    # One span is partner of one: a long prediction finds one of two gold spans, not both.
    assert (
        match([sentence([(0, 1, "A"), (2, 3, "A")], [(0, 3, "A")])]).micro["ent_type"].recall == 0.5
    )


@given(st.lists(st.tuples(flat(), flat()), max_size=4))
def test_counts_add_up_and_strict_is_the_usual_f1(
    sides: list[tuple[list[Stretch], list[Stretch]]],
) -> None:
    found = match([sentence(*each) for each in sides]).micro
    gold, predicted = (sum(len(each[side]) for each in sides) for side in (0, 1))
    for name in MEASURES:
        each = found[name]
        paired = each.correct + each.incorrect + each.partial
        assert (paired + each.missed, paired + each.spurious) == (gold, predicted)
    right = sum(len({*one} & {*other}) for one, other in sides)
    assert found["strict"].correct == right
    assert found["strict"].f1 <= min(found[name].f1 for name in MEASURES)
    assert found["exact"].f1 <= found["partial"].f1


@given(flat(), flat())
def test_every_span_is_in_one_pair_and_pairs_overlap(
    gold: list[Stretch], predicted: list[Stretch]
) -> None:
    found = pairs(gold, predicted)
    assert sorted(one for one, _ in found if one) == sorted(gold)
    assert sorted(other for _, other in found if other) == sorted(predicted)
    for one, other in found:
        assert one is None or other is None or max(one[0], other[0]) < min(one[1], other[1])
        assert one != other or one in gold
    assert {*gold} & {*predicted} <= {one for one, other in found if one == other and one}


def test_a_surface_form_counts_once() -> None:
    words = ("Rome", "and", "rome", "and", "Rome")
    gold: list[Stretch] = [(0, 1, "LOC"), (4, 5, "LOC")]
    found = surface_score(
        [
            Aligned(words, gold, [(0, 1, "LOC"), (2, 3, "LOC")]),
            Aligned(words, [(0, 1, "PER")], [(0, 1, "LOC")]),
        ]
    )
    assert (found.precision, found.recall, found.f1, found.support) == (1 / 2, 1 / 2, 1 / 2, 2)


def test_spans_are_aligned_as_conlleval_finds_them() -> None:
    gold, predicted = [("B-X", "I-X", "O"), ("O",)], [("B-X", "O", "I-X"), ("O",)]
    sentences = [Sentence(("a", "b", "c"), lines=range(1, 4)), Sentence(("d",))]
    first, second = align(sentences, gold, predicted, stretches)
    spans = ((0, 2, "X"),), ((0, 1, "X"), (2, 3, "X"))
    assert first == Aligned(("a", "b", "c"), *spans, range(1, 4))
    assert (first.text((0, 2, "X")), first.line_of(2), second.line_of(0)) == ("a b", 3, 0)
    counts = count_spans(gold, predicted, stretches).table().micro
    assert match([first, second]).micro["strict"].f1 == counts.f1
