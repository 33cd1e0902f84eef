"""seqeval as the reference: it agrees with our scorer, and catches one that is broken."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from says import refuses
from seqeval.metrics import classification_report

from tagkit.errors import DataError
from tagkit.evaluation.reports import tag_report
from tagkit.evaluation.reports.class_report import JointReport, make_class_report
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.reports.tag_report import make_tag_report, name_of_bare
from tagkit.evaluation.reports.verify import seqeval_table, verify_report
from tagkit.evaluation.scores import spans
from tagkit.evaluation.scores.scores import Score
from tagkit.text.schemes import IO, SPAN_SCHEMES, SpanTuple, span_tuples

# Labels that seqeval confuses: none, its own name for that, and hyphens at either end.
ODD = ["", "_", "__", "X", "-X", "X-", "-", "-_-"]
# Every prefix, so that in each scheme some are foreign to it.
odd_tags = st.just("O") | st.builds(
    lambda prefix, label: f"{prefix}-{label}" if label else prefix,
    st.sampled_from("BIESLUM"),
    st.sampled_from(ODD),
)
odd_corpora = st.lists(
    st.lists(st.tuples(odd_tags, odd_tags), min_size=1, max_size=7), min_size=0, max_size=4
)
Pairs = list[list[tuple[str, str]]]
GOLD = [["B-LOC", "I-LOC", "O", "B-PER"], ["I-PER", "O"]]
FOUND = [["B-LOC", "I-LOC", "O", "B-LOC"], ["I-PER", "B-PER"]]


@pytest.mark.parametrize("scheme", [*SPAN_SCHEMES, IO])
@given(pairs=odd_corpora)
@example(pairs=[[("B", "B-_")]])
@example(pairs=[[("B-_", "B-_"), ("B", "B-_")]])
@example(pairs=[[("B--X", "B-X")]])
@example(pairs=[[("I-X", "I-X"), ("B-X", "B-X"), ("B-_", "B-_")]])
def test_our_scorer_has_the_numbers_of_seqeval(scheme: str, pairs: Pairs) -> None:
    gold, predicted = ([[pair[side] for pair in row] for row in pairs] for side in (0, 1))
    for strict in (False, True):
        report = make_tag_report(gold, predicted, scheme, strict=strict)
        theirs = seqeval_table(gold, predicted, scheme, strict=strict)
        bare = name_of_bare(theirs.types)
        assert report.types.keys() == {label or bare for label in theirs.types}
        for label, score in theirs.types.items():
            same(report.types[label or bare], score)
        for average in ("micro", "macro", "weighted"):
            same(getattr(report, average), getattr(theirs, average))


def same(ours: Score, theirs: Score) -> None:
    assert (ours.precision, ours.recall, ours.f1) == pytest.approx(
        (theirs.precision, theirs.recall, theirs.f1), abs=1e-12
    )
    assert ours.support == theirs.support


@pytest.mark.parametrize("strict", [False, True])
def test_agreement_is_said_in_one_line(strict: bool) -> None:
    found = verify_report(make_tag_report(GOLD, FOUND, "iob2", strict=strict), "gold")
    assert found.lines() == ["verified: seqeval's numbers agree (conlleval mode and strict mode)"]


def test_tags_that_seqeval_reads_otherwise_are_named() -> None:
    gold = [["B", "I", "O", "B-X-", "B-_", "U-X", "B-X"]]
    found = verify_report(make_tag_report(gold, gold, "iob2"), "gold")
    assert found.respelled == ("B", "B-X-", "B-_", "I", "U-X")
    assert found.lines()[1].endswith(": B, B-X-, B-_, I, U-X")


def test_a_scorer_that_finds_no_span_at_all_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagkit.text.schemes.span_tuples", lambda tags: [])
    monkeypatch.setattr(tag_report, "span_tuples", lambda tags: [])
    lines = verify_report(make_tag_report(GOLD, FOUND, "iob2"), "gold").lines()
    assert "conlleval mode, PER: support none, seqeval has 2" in lines


def lose_last(tags: Sequence[str]) -> list[SpanTuple]:
    return span_tuples(tags)[:-1]


def test_a_scorer_that_loses_spans_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_report, "span_tuples", lose_last)
    found = verify_report(make_tag_report(GOLD, FOUND, "iob2"), "gold")
    lines = found.lines()
    assert lines[0] == f"not verified: seqeval disagrees on {len(lines) - 1} numbers"
    assert "conlleval mode, LOC: precision 1, seqeval has 0.5" in lines
    assert "conlleval mode, PER: support 0, seqeval has 2" in lines
    assert "conlleval mode, micro avg: f1 0.6666666667, seqeval has 0.5714285714" in lines
    assert not any(line.startswith("strict") for line in lines)  # that mode is not broken


def test_types_that_one_of_the_two_lacks_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_report, "span_tuples", lambda tags: [(0, 1, "ORG")])
    lines = verify_report(make_tag_report(GOLD, FOUND, "iob2"), "gold").lines()
    assert lines[1:4] == [
        "conlleval mode, LOC: support none, seqeval has 1",
        "conlleval mode, ORG: support 2, seqeval has none",
        "conlleval mode, PER: support none, seqeval has 2",
    ]


def test_a_broken_strict_mode_is_caught_under_a_report_of_the_other_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As in conlleval, an I behind O begins a span: just what strict mode must not count.
    monkeypatch.setitem(spans._FINDERS, "iob2", spans._FINDERS["iob1"])
    found = verify_report(make_tag_report(GOLD, FOUND, "iob2"), "gold")
    assert found.disagreements
    assert {str(each).partition(",")[0] for each in found.disagreements} == {"strict mode"}


def test_a_wrong_mean_and_a_wrong_accuracy_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagkit.evaluation.scores.scores._mean", lambda *_: Score(0.5, 0.5, 0.5, 1))
    monkeypatch.setattr(tag_report, "token_accuracy", lambda *_: 0.25)
    found = verify_report(make_tag_report(GOLD, GOLD, "iob2"), "gold")
    lines = found.lines()
    assert "conlleval mode, macro avg: f1 0.5, seqeval has 1" in lines
    assert "strict mode, weighted avg: support 1, seqeval has 2" in lines
    assert "conlleval mode, all tokens: accuracy 0.25, seqeval has 1" in lines
    assert not any("micro" in line for line in lines)


CLASSES = make_class_report([("a",)], [("b",)], several=False)


def test_what_seqeval_cannot_score_is_refused() -> None:
    plain = make_tag_report([["NN"]], [["VB"]], "labels")
    for report, found in (
        (CLASSES, "classes of texts"),
        (plain, "plain labels"),
        (JointReport(plain, CLASSES, 0.0), "plain labels"),
    ):
        with refuses(DataError, "gold.txt: ", found):
            verify_report(report, "gold.txt")


def test_of_tags_and_classes_the_tags_are_verified_and_the_rest_is_said() -> None:
    report = JointReport(make_tag_report(GOLD, FOUND, "iob2"), CLASSES, 0.0)
    assert verify_report(report, "gold").lines() == [
        "verified: seqeval's numbers agree (conlleval mode and strict mode)",
        "seqeval scores no classes of texts: theirs are not verified",
    ]


@pytest.mark.slow
def test_a_real_corpus_with_many_errors_is_verified(corpora: Path) -> None:
    lines = (corpora / "conll2003" / "eng.testb").read_text("utf-8").splitlines()
    blocks = "\n".join(lines[:20_000]).split("\n\n")
    gold = [[line.split()[-1] for line in block.split("\n") if line] for block in blocks]
    gold = [tags for tags in gold if tags]
    # Every seventh tag is that of its left neighbour.
    predicted = [
        [tags[max(0, i - 1)] if i % 7 == 0 else tag for i, tag in enumerate(tags)] for tags in gold
    ]
    found = verify_report(make_tag_report(gold, predicted, "iob1"), "gold")
    assert found.disagreements == ()
    assert json.dumps(make_tag_report(gold, predicted, "iob1").to_dict())


def test_a_report_has_the_rows_and_columns_of_seqeval() -> None:
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"]]
    predicted = [["B-PER", "I-PER", "O", "O"], ["B-ORG", "O"]]
    ours = report_lines(make_tag_report(gold, predicted, "iob2"))
    theirs = classification_report(gold, predicted, digits=4, zero_division=0)
    rows = [line.split() for line in theirs.replace("f1-score", "f1").splitlines() if line]
    assert [line.split() for line in ours if line][: len(rows)] == rows
