"""Scores from labels equal conlleval's."""

from collections import Counter
from random import Random

import conlleval
import pytest
from hypothesis import given
from random_tags import TAGS, gold_and_predicted
from says import refuses
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities

from tagkit.evaluation.scores.scores import Labels, count_spans, count_tokens, token_accuracy
from tagkit.text.schemes import span_tuples


def span_f1(gold: Labels, predicted: Labels) -> float:
    return count_spans(gold, predicted, span_tuples).table().micro.f1


@given(gold_and_predicted())
def test_f1_and_accuracy_are_those_of_conlleval(
    both: tuple[list[list[str]], list[list[str]]],
) -> None:
    gold, predicted = both
    counts = conlleval.count(gold, predicted)
    _, _, f1 = counts.scores(*(counts.gold | counts.guessed))
    assert span_f1(gold, predicted) == pytest.approx(f1, abs=1e-12)
    assert token_accuracy(gold, predicted) == (
        counts.correct_tags / counts.tokens if counts.tokens else 0.0
    )


@pytest.mark.slow
def test_10_000_random_corpora_have_the_scores_of_conlleval() -> None:
    rng = Random(17)
    for _ in range(10_000):
        gold = [rng.choices(TAGS, k=rng.randint(1, 8)) for _ in range(rng.randint(1, 3))]
        changed = rng.choice((0.1, 0.3, 1))
        predicted = [
            [rng.choice(TAGS) if rng.random() < changed else tag for tag in tags] for tags in gold
        ]
        counts = conlleval.count(gold, predicted)
        found = count_spans(gold, predicted, span_tuples)
        assert found.correct.total() == counts.correct.total(), (gold, predicted)
        assert found.gold == +counts.gold, (gold, predicted)
        assert found.predicted == +counts.guessed, (gold, predicted)
        assert token_accuracy(gold, predicted) == counts.correct_tags / counts.tokens


@pytest.mark.slow
def test_10_000_random_corpora_have_the_scores_of_seqeval() -> None:
    rng = Random(18)
    known = [tag for tag in TAGS if tag == "O" or tag[2:]]  # seqeval calls a bare prefix "_"
    for _ in range(10_000):
        gold = [rng.choices(known, k=rng.randint(1, 8)) for _ in range(rng.randint(1, 3))]
        changed = rng.choice((0.1, 0.3, 1))
        predicted = [
            [rng.choice(known) if rng.random() < changed else tag for tag in tags] for tags in gold
        ]
        counts = count_spans(gold, predicted, span_tuples)
        for side, found in ((gold, counts.gold), (predicted, counts.predicted)):
            spans = [span[0] for tags in side for span in get_entities(tags)]
            assert found == Counter(spans), (gold, predicted)
        expected = f1_score(gold, predicted, zero_division=0)
        assert span_f1(gold, predicted) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("gold", "predicted", "correct", "wanted", "found"),
    [
        ("B-X I-X O", "I-X I-X O", 1, 1, 1),  # I behind O begins a span, here the same one
        ("B-X I-X I-X", "B-X I-Y I-Y", 0, 1, 2),  # the type changes inside
        ("B-X I-X O B-X", "B-X I-X I-X B-X", 1, 2, 2),
        ("B-X B-X", "B-X I-X", 0, 2, 1),
        ("B-X I-X", "S-X E-X", 0, 1, 2),  # S closes in a file of IOB2
        ("B-X I-X", "B-X E-X", 1, 1, 1),  # E closes too, where the gold one ends
        ("B-X I-X I-X", "B-X E-X I-X", 0, 1, 2),
        ("O O", "O O", 0, 0, 0),
        ("O O", "B-X O", 0, 0, 1),
        ("B-X O", "O O", 0, 1, 0),
    ],
)
def test_odd_sequences_count_as_conlleval_counts_them(
    gold: str, predicted: str, correct: int, wanted: int, found: int
) -> None:
    counts = conlleval.count([gold.split()], [predicted.split()])
    totals = (counts.correct.total(), counts.gold.total(), counts.guessed.total())
    assert totals == (correct, wanted, found)
    f1 = 2 * correct / (wanted + found) if correct else 0.0
    assert span_f1([gold.split()], [predicted.split()]) == f1


def test_a_span_ends_with_its_sentence() -> None:
    assert span_f1([["B-X"], ["I-X"]], [["B-X"], ["B-X"]]) == 1.0
    assert span_f1([["B-X", "I-X"]], [["B-X", "I-X"]]) == 1.0


@given(gold_and_predicted())
def test_swapping_gold_and_predicted_changes_neither_score(
    both: tuple[list[list[str]], list[list[str]]],
) -> None:
    gold, predicted = both
    assert span_f1(gold, predicted) == span_f1(predicted, gold)
    assert token_accuracy(gold, predicted) == token_accuracy(predicted, gold)


def test_accuracy_is_the_share_of_right_tags() -> None:
    assert token_accuracy([["NN", "VB"], ["NN", "X"]], [["NN", "NN"], ["NN", "X"]]) == 0.75
    assert token_accuracy([], []) == 0.0


def test_sequences_of_other_lengths_are_no_pairs() -> None:
    for measure in (token_accuracy, span_f1):
        with refuses(ValueError):
            measure([["O"]], [["O"], ["O"]])
    with refuses(ValueError):
        token_accuracy([["O", "O"]], [["O"]])
    with refuses(ValueError):
        count_tokens([["O", "O"], ["O"]], [["O"], ["O", "O"]])


def test_equal_counts_give_equal_f1_to_the_last_bit() -> None:
    # 60 of 200 and 60 of 100: the same sum of gold and predicted, in other proportions.
    def f1(found: int, wanted: int) -> float:
        pairs = [("O", "B-X")] * (found - 60) + [("B-X", "O")] * (wanted - 60)
        gold, predicted = zip(*pairs, *[("B-X", "B-X")] * 60, strict=True)
        return span_f1([[tag] for tag in gold], [[tag] for tag in predicted])

    assert f1(200, 100) == f1(100, 200) == f1(187, 113) == 0.4


def test_sentences_that_are_right_throughout_count_like_the_others() -> None:
    # Lists and tuples never compare equal, so the second comparison takes the long way.
    gold = [("B-X", "I-X", "O", "B-Y"), ("O",), ("B-X",)]
    predicted = [("B-X", "I-X", "O", "B-Y"), ("O",), ("B-Y",)]
    short, long = (
        count_spans(side, predicted, span_tuples) for side in (gold, [list(tags) for tags in gold])
    )
    assert short == long
    assert (short.correct.total(), short.gold.total()) == (2, 3)
    as_lists = [list(tags) for tags in gold]
    assert token_accuracy(gold, predicted) == token_accuracy(as_lists, predicted) == 5 / 6
