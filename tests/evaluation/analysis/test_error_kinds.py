"""Every error is of one kind, and mending all of them gives an F1 of 1."""

import pytest
from flat_spans import flat
from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.analysis.error_kinds import (
    KINDS,
    NOTHING,
    Example,
    error_report,
    find_errors,
)
from tagkit.evaluation.scores.spans import Aligned, overlap, overlapping
from tagkit.text.schemes import SpanTuple

WORDS = tuple(f"w{number}" for number in range(40))


def sentence(gold: list[SpanTuple], predicted: list[SpanTuple]) -> Aligned:
    return Aligned(WORDS, tuple(gold), tuple(predicted))


def kinds(gold: list[SpanTuple], predicted: list[SpanTuple]) -> list[str]:
    return [error.kind for error in find_errors(sentence(gold, predicted))]


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(0, 2, "A")], [(0, 2, "A")], []),
        ([(0, 2, "A")], [(0, 3, "A")], ["boundary"]),
        ([(0, 3, "A")], [(1, 2, "A")], ["boundary"]),
        ([(0, 2, "A")], [(0, 2, "B")], ["type"]),
        ([(0, 2, "A")], [(1, 3, "B")], ["boundary and type"]),
        ([(0, 2, "A")], [], ["missed"]),
        ([], [(0, 2, "A")], ["spurious"]),
        ([(0, 2, "A")], [(2, 3, "A")], ["missed", "spurious"]),
        ([(0, 3, "A")], [(0, 1, "A"), (2, 3, "A")], ["split"]),
        ([(0, 3, "A")], [(0, 1, "B"), (1, 2, "A"), (2, 3, "B")], ["split"]),
        ([(0, 1, "A"), (2, 3, "B")], [(0, 3, "A")], ["merged"]),
        # A chain, cut where only one token is shared: between the second and the third.
        ([(0, 3, "A"), (5, 9, "A")], [(1, 6, "A"), (6, 9, "A")], ["boundary", "boundary"]),
        ([(0, 2, "A"), (2, 6, "A")], [(0, 3, "A"), (3, 4, "B"), (4, 6, "A")],
         ["boundary", "split"]),
        ([(0, 1, "A"), (4, 6, "A")], [(0, 1, "A"), (4, 5, "A"), (8, 9, "B")],
         ["boundary", "spurious"]),
    ],
)  # fmt: skip
def test_an_error_is_of_the_kind_that_a_person_would_say(
    gold: list[SpanTuple], predicted: list[SpanTuple], expected: list[str]
) -> None:
    assert kinds(gold, predicted) == expected


def mended(corpus: list[Aligned], kind: str) -> list[Aligned]:
    """The corpus with the gold spans in place of the predicted ones of all errors of a kind."""
    found = []
    for each in corpus:
        predicted = {*each.predicted}
        for error in find_errors(each):
            if error.kind == kind:
                predicted = predicted - {*error.predicted} | {*error.gold}
        found.append(Aligned(each.words, each.gold, tuple(sorted(predicted))))
    return found


def f1(corpus: list[Aligned]) -> float:
    right = sum(len({*each.gold} & {*each.predicted}) for each in corpus)
    return 2 * right / max(1, sum(len(each.gold) + len(each.predicted) for each in corpus))


sides = st.lists(st.tuples(flat(), flat()), max_size=4)


@given(sides)
def test_every_wrong_span_is_in_one_error_and_no_right_one_is(
    pairs: list[tuple[list[SpanTuple], list[SpanTuple]]],
) -> None:
    for gold, predicted in pairs:
        errors = list(find_errors(sentence(gold, predicted)))
        right = {*gold} & {*predicted}
        assert sorted(s for e in errors for s in e.gold) == sorted({*gold} - right)
        assert sorted(s for e in errors for s in e.predicted) == sorted({*predicted} - right)
        for error in errors:
            sizes = len(error.gold), len(error.predicted)
            assert {"missed": sizes == (1, 0), "spurious": sizes == (0, 1),
                    "split": sizes[0] == 1 < sizes[1], "merged": sizes[1] == 1 < sizes[0],
                    }.get(error.kind, sizes == (1, 1))  # fmt: skip
            assert all(overlap(a, b) for a in error.gold for b in error.predicted)
            if error.kind in ("missed", "spurious"):
                others = predicted if error.gold else gold
                assert not any(overlap(s, o) for s in error.gold + error.predicted for o in others)


@given(sides)
def test_the_gain_of_a_kind_is_the_f1_of_the_corpus_with_its_errors_mended(
    pairs: list[tuple[list[SpanTuple], list[SpanTuple]]],
) -> None:
    corpus = [sentence(*each) for each in pairs]
    report = error_report(corpus)
    assert sum(report.kinds[kind].count for kind in KINDS) == report.errors
    for kind in KINDS:
        assert report.kinds[kind].gain == pytest.approx(f1(mended(corpus, kind)) - f1(corpus))
    whole = corpus
    for kind in KINDS:
        whole = mended(whole, kind)
    assert all(each.gold == each.predicted for each in whole)


def test_a_report_has_types_confusion_and_the_first_examples() -> None:
    corpus = [
        sentence([(0, 1, "A"), (2, 3, "B")], [(0, 1, "B")]),
        sentence([(0, 1, "A"), (4, 6, "A")], [(0, 1, "B"), (4, 5, "A"), (7, 8, "C")]),
        sentence([(0, 1, "A")], [(0, 1, "C")]),
    ]
    report = error_report(corpus, examples=2)
    assert report.types == {"A": 4, "B": 1, "C": 1}
    assert report.confusion == [("A", "B", 2), (NOTHING, "C", 1), ("A", "C", 1), ("B", NOTHING, 1)]
    assert (report.errors, report.kinds["type"].count) == (6, 3)
    assert report.kinds["type"].examples == tuple(
        Example(((0, 1, "A"),), ((0, 1, "B"),), tuple(corpus[0].words), 0, number)
        for number in (0, 1)
    )
    assert report.to_dict()["kinds"]["boundary"]["count"] == 1


def test_an_example_names_the_line_where_its_first_span_begins() -> None:
    words = ("In", "New", "York", "City")
    found = error_report([Aligned(words, [(2, 4, "A")], [(1, 3, "A")], [5, 6, 8, 9])])
    assert found.kinds["boundary"].examples[0].line == 6


@given(flat(), flat())
def test_overlapping_spans_are_those_of_all_pairs(
    gold: list[SpanTuple], predicted: list[SpanTuple]
) -> None:
    pairs = [(i, j) for i in range(len(gold)) for j in range(len(predicted))]
    expected = [(i, j) for i, j in pairs if overlap(gold[i], predicted[j])]
    assert list(overlapping(gold, predicted)) == expected


@given(flat(), flat())
def test_a_chain_is_cut_at_the_weakest_link_until_none_joins_two_groups(
    gold: list[SpanTuple], predicted: list[SpanTuple]
) -> None:
    right = {*gold} & {*predicted}
    ours, theirs = ([span for span in side if span not in right] for side in (gold, predicted))
    edges = {
        (one, other): overlap(one, other) for one in ours for other in theirs if overlap(one, other)
    }
    while True:  # one by one, looking at all of them each time
        inner = [
            (shared, one, other)
            for (one, other), shared in edges.items()
            if sum(each[0] == one for each in edges) > 1
            and sum(each[1] == other for each in edges) > 1
        ]
        if not inner:
            break
        _, one, other = min(inner)
        del edges[one, other]
    found = find_errors(sentence(gold, predicted))
    links = {(one, other) for error in found for one in error.gold for other in error.predicted}
    assert links == {*edges}


def test_errors_of_a_long_sentence_are_found_without_comparing_all_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def counted(one: SpanTuple, other: SpanTuple) -> int:
        nonlocal compared
        compared += 1
        return overlap(one, other)

    monkeypatch.setattr("tagkit.evaluation.analysis.error_kinds.overlap", counted)
    # A chain: each span overlaps the end of one and the beginning of the next.
    gold = tuple((4 * n, 4 * n + 4, "A") for n in range(5_000))
    predicted = tuple((4 * n + 2, 4 * n + 6, "A") for n in range(5_000))
    assert sum(1 for _ in find_errors(Aligned((), gold, predicted))) == 5_000
    assert compared < 10_000
