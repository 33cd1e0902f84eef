"""F1 by slice: each span in one slice of a division, and the slices add up to the whole."""

from flat_spans import flat
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.analysis.slices import SEEN, SeenSpans, slice_scores, word_accuracy
from tagkit.evaluation.scores.spans import Aligned
from tagkit.text.schemes import SpanTuple


def seen(*spans: tuple[str, str]) -> SeenSpans:
    found = SeenSpans()
    for text, label in spans:
        words = text.split()
        found.add(["the", *words], [(1, 1 + len(words), label)])
    return found


WORDS = "New York and Rome met Mr New Smith in Bonn".split()
TRAIN = seen(("New York", "LOC"), ("Rome", "ORG"), ("Mr Smith", "PER"), ("Rome", "ORG"))


def test_a_span_is_seen_with_its_label_with_another_in_part_or_not() -> None:
    sentence = Aligned(WORDS, [], [])
    expected = {(0, 2, "LOC"): 0, (0, 2, "ORG"): 1, (3, 4, "LOC"): 1, (5, 8, "PER"): 2,
                (9, 10, "LOC"): 3, (2, 3, "LOC"): 3}  # fmt: skip
    assert {span: SEEN.index(TRAIN.slice_of(sentence, span)) for span in expected} == expected


def test_scores_of_slices_by_hand() -> None:
    gold: list[SpanTuple] = [(0, 2, "LOC"), (3, 4, "LOC"), (5, 8, "PER"), (9, 10, "LOC")]
    predicted: list[SpanTuple] = [(0, 2, "LOC"), (3, 4, "ORG"), (7, 8, "PER"), (9, 10, "LOC")]
    found = slice_scores([Aligned(WORDS, gold, predicted)], TRAIN)
    assert found.seen is not None
    # "Rome" as LOC is seen with another label; predicted as ORG, it is seen with this label.
    assert {name: (s.precision, s.recall, s.support) for name, s in found.seen.items()} == {
        SEEN[0]: (1 / 2, 1.0, 1), SEEN[1]: (0.0, 0.0, 1), SEEN[2]: (0.0, 0.0, 1),
        SEEN[3]: (1.0, 1.0, 1),
    }  # fmt: skip
    assert {name: score.support for name, score in found.span_length.items()} == {
        "1": 2, "2": 1, "3": 1,
    }  # fmt: skip
    assert {*found.sentence_length} == {"1 to 10"}
    assert found.frequency is not None
    assert {name: score.support for name, score in found.frequency.items()} == {"1 to 9": 4}


def test_a_type_that_training_does_not_have_is_a_slice_by_itself() -> None:
    found = slice_scores([Aligned(WORDS, [(0, 1, "NEW")], [])], seen(*[("x", "A")] * 10))
    assert found.frequency is not None
    assert {*found.frequency} == {"0"}


def test_without_a_training_corpus_there_are_lengths_alone() -> None:
    found = slice_scores([Aligned(WORDS * 5, [(0, 4, "A")], [(0, 4, "A")])], None)
    assert (found.seen, found.frequency) == (None, None)
    assert {*found.span_length} == {"4 or more"}
    assert {*found.sentence_length} == {"41 or more"}
    assert found.to_dict()["span_length"]["4 or more"]["f1"] == 1


@given(st.lists(st.tuples(flat(), flat()), max_size=4), st.lists(flat(), max_size=2))
def test_the_slices_of_a_division_hold_each_span_once(
    sides: list[tuple[list[SpanTuple], list[SpanTuple]]], train: list[list[SpanTuple]]
) -> None:
    words = [f"w{number % 7}" for number in range(40)]
    found = SeenSpans()
    for spans in train:
        found.add(words, spans)
    corpus = [Aligned(words, *each) for each in sides]
    slices = slice_scores(corpus, found)
    gold = sum(len(one) for one, _ in sides)
    right = sum(len({*one} & {*other}) for one, other in sides)
    for division in (slices.seen, slices.frequency, slices.span_length, slices.sentence_length):
        assert division is not None
        assert sum(score.support for score in division.values()) == gold
        assert round(sum(score.recall * score.support for score in division.values())) == right


def test_the_accuracy_of_known_and_of_unknown_words() -> None:
    found = word_accuracy(
        [("a", "b", "c"), ("a", "d")], [("X", "X", "Y"), ("X", "Y")],
        [("X", "Y", "Y"), ("X", "X")], {"a", "b"},
    )  # fmt: skip
    assert found.to_dict() == {
        "known": 2 / 3,
        "unknown": 1 / 2,
        "known_tokens": 3,
        "unknown_tokens": 2,
    }
