"""Analyses of a report: what it is asked for, of labels for which it has a meaning."""

from pathlib import Path

import pytest
from flat_spans import flat
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

import tagkit
from tagkit import DataError, Document
from tagkit.config import DataConfig
from tagkit.evaluation.analysis.analysis import (
    ANALYSES,
    MEASURES,
    analyse,
    match,
    pairs,
    possible,
    read_training,
    surface_score,
)
from tagkit.evaluation.analysis.slices import WordAccuracy
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.class_report import with_judged
from tagkit.evaluation.reports.column_report import (
    ColumnsReport,
    make_lemma_report,
    make_tag_column_report,
)
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.outcomes import span_outcomes, token_outcomes
from tagkit.evaluation.scores.scores import count_spans
from tagkit.evaluation.scores.spans import Aligned, align
from tagkit.text.records import Sentence
from tagkit.text.schemes import SpanTuple, span_tuples

WORDS = ("Ada", "saw", "New", "York")
GOLD = Sentence(WORDS, ("B-PER", "O", "B-LOC", "I-LOC"))
FOUND = Sentence(WORDS, ("B-PER", "O", "B-LOC", "O"))
PLAIN = Sentence(("a", "cat"), ("DT", "NN"))


def test_only_what_was_asked_for_is_there() -> None:
    report = tagkit.evaluate([GOLD], [FOUND])
    assert isinstance(report, TagReport)
    judged = span_outcomes([[(0, 1, "PER")]], [[((0, 1, "PER"), 0.5)]])
    report = with_judged(report, {"tags": judged})
    for name in ANALYSES:
        found = analyse(report, [name])
        assert [each for each in ANALYSES if getattr(found, each) is not None] == [name]
        assert list(found.to_dict()) == [name]
    assert possible(report) == list(ANALYSES)


def test_values_of_a_sentence_counted_by_hand() -> None:
    found = tagkit.analyse([GOLD], [FOUND])
    assert found.measures is not None
    assert found.measures.spans.micro["strict"].f1 == 0.5
    assert found.measures.spans.micro["partial"].f1 == 0.75
    assert found.measures.spans.micro["ent_type"].f1 == 1
    assert found.measures.surface.f1 == 0.5
    assert found.errors is not None
    assert found.errors.kinds["boundary"].gain == 0.5
    example = found.errors.kinds["boundary"].examples[0]
    assert (example.gold, example.predicted, example.line) == (
        ((2, 4, "LOC"),), ((2, 3, "LOC"),), 1,
    )  # fmt: skip
    assert found.to_dict()["interval"] == {
        "measure": "F1", "score": 0.5, "low": 0.5, "high": 0.5, "level": 0.95,
    }  # fmt: skip
    assert found.to_dict()["slices"]["span_length"]["2"]["f1"] == 0


def test_the_strict_mode_counts_well_formed_spans_alone() -> None:
    gold = Sentence(("a", "b", "c"), ("O", "B-X", "I-X"))
    odd = Sentence(("a", "b", "c"), ("O", "I-X", "I-X"))
    lenient, strict = (tagkit.analyse([gold], [odd], strict=mode) for mode in (False, True))
    assert lenient.errors is not None
    assert lenient.errors.errors == 0
    assert strict.errors is not None
    assert strict.errors.kinds["missed"].count == 1


def test_tags_without_a_label_are_called_as_in_the_report() -> None:
    gold, odd = Sentence(("a", "b"), ("B", "O")), Sentence(("a", "b"), ("O", "B"))
    found = tagkit.analyse([gold], [odd]).errors
    assert found is not None
    assert list(found.types) == list(tagkit.evaluate([gold], [odd]).to_dict()["types"]) == ["_"]


def test_the_training_corpus_tells_seen_spans_and_known_words(tmp_path: Path) -> None:
    train = tmp_path / "train.conll"
    train.write_text("Ada\tB-PER\nin\tO\n\nYork\tB-LOC\n", encoding="utf-8")
    found = tagkit.analyse([GOLD], [FOUND], train=train).to_dict()["slices"]
    assert found["seen"]["seen with this label"]["support"] == 1
    assert found["seen"]["seen in part"]["support"] == 1
    assert "seen in part" not in found["frequency"]
    train.write_text("a\tDT\ndog\tNN\n", encoding="utf-8")
    wrong = Sentence(PLAIN.words, ("DT", "VB"))
    plain = tagkit.analyse([PLAIN], [wrong], train=train)
    assert plain.slices == WordAccuracy(known=1, unknown=0, known_tokens=1, unknown_tokens=1)
    assert list(plain.to_dict()) == ["slices", "interval"]
    with refuses(DataError, "train.conll"):
        tagkit.analyse([GOLD], [FOUND], train=train)


def test_analyses_without_a_meaning_are_refused() -> None:
    for name in ("measures", "errors"):
        with refuses(DataError, "gold", name, "spans"):
            tagkit.analyse([PLAIN], [PLAIN], analyses=[name])
    with refuses(DataError, "gold", "slices", "train"):
        tagkit.analyse([PLAIN], [PLAIN], analyses=["slices"])
    text = Document("To Rome.", labels=("travel",))
    for name in ("measures", "errors", "slices"):
        kind = "tags" if name == "slices" else "spans"
        with refuses(DataError, "classes of texts", name, kind):
            tagkit.analyse([text], [text], analyses=[name])
    assert list(tagkit.analyse([text], [text]).to_dict()) == ["interval"]
    with refuses(DataError, "analyses: ", "measures, errors, slices"):
        tagkit.analyse([GOLD], [GOLD], analyses=["mistakes"])


def test_tags_and_classes_have_an_interval_each() -> None:
    def text(label: str, tag: str) -> Sentence:
        return Sentence(("Rome",), (tag,), labels=(label,))

    gold, found = [text("a", "B-X")] * 2, [text("a", "B-X"), text("b", "B-X")]
    both = tagkit.analyse(gold, found)
    assert both.interval is not None
    assert {part: (each.measure, each.score) for part, each in both.interval.items()} == {
        "tags": ("F1", 1), "classes": ("accuracy", 0.5),
    }  # fmt: skip
    assert both.errors is not None
    assert both.errors.errors == 0
    assert list(both.to_dict()["interval"]) == ["tags", "classes"]


def test_a_report_that_was_counted_while_files_were_read_keeps_nothing_to_analyse(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.conll"
    file.write_text("Ada\tB-PER\n", encoding="utf-8")
    report = compare_files(str(file), str(file), DataConfig(), None, False)
    with refuses(DataError, "report"):
        analyse(report, ["errors"])
    assert tagkit.analyse(file, file).name == str(file)
    assert read_training(str(file), DataConfig(), print).tokens == 1


def test_spans_of_characters_are_shown_by_their_pieces_and_the_line_of_their_record(
    tmp_path: Path,
) -> None:
    gold, pred = tmp_path / "gold.conll", tmp_path / "pred.jsonl"
    gold.write_text("x\tO\n\nNew\tB-LOC\nYork\tI-LOC\n", encoding="utf-8")
    pred.write_text(
        '{"text": "x", "spans": []}\n'
        '{"text": "New York", "spans": [{"start": 0, "end": 3, "label": "LOC"}]}\n',
        encoding="utf-8",
    )
    found = tagkit.analyse(gold, pred).errors
    assert found is not None
    (example,) = found.kinds["boundary"].examples
    assert (example.words, example.line, example.predicted) == (
        ("New", "York"), 3, ((0, 1, "LOC"),),
    )  # fmt: skip


def test_several_columns_have_a_calibration_each_and_nothing_else() -> None:
    lemmas = make_lemma_report("LEMMA", [("a", "b")], [("a", "b")], [("a", "x")], set())
    tags = make_tag_column_report(
        "UPOS", "labels", [("a", "b")], [("X", "Y")], [("X", "Y")], set(), ("X", "Y"), strict=False
    )
    report = ColumnsReport((tags, lemmas))
    assert possible(report) == []
    judged = {
        "UPOS": token_outcomes([("X", "Y")], [("X", "Y")], [(0.9, 0.7)]),
        "LEMMA": token_outcomes([("a", "b")], [("a", "x")], [(0.8, 0.6)]),
    }
    report = with_judged(report, judged)
    assert possible(report) == ["calibration"]
    found = analyse(report, ["calibration"]).to_dict()
    assert list(found) == ["calibration"]
    # Probabilities of 0.9 and 0.7, both right; of 0.8, right, and 0.6, wrong.
    assert found["calibration"]["UPOS"]["brier"] == pytest.approx((0.01 + 0.09) / 2)
    assert found["calibration"]["LEMMA"]["brier"] == pytest.approx((0.04 + 0.36) / 2)
    assert "calibration" not in report.to_dict()
    with refuses(DataError, "predicts"):
        analyse(report, ["errors", "calibration"])
    with refuses(DataError, "probabilities"):
        analyse(ColumnsReport((tags,)), ["calibration"])


LETTERS = tuple("abcdefghijkl")


def sentence(gold: list[SpanTuple], predicted: list[SpanTuple]) -> Aligned:
    return Aligned(LETTERS, tuple(gold), tuple(predicted))


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
    gold: list[SpanTuple] = [(0, 2, "A"), (2, 6, "A")]
    assert pairs(gold, [(1, 5, "A")]) == [((0, 2, "A"), None), ((2, 6, "A"), (1, 5, "A"))]
    # One span is partner of one: a long prediction finds one of two gold spans, not both.
    assert (
        match([sentence([(0, 1, "A"), (2, 3, "A")], [(0, 3, "A")])]).micro["ent_type"].recall == 0.5
    )


@given(st.lists(st.tuples(flat(), flat()), max_size=4))
def test_counts_add_up_and_strict_is_the_usual_f1(
    sides: list[tuple[list[SpanTuple], list[SpanTuple]]],
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
    gold: list[SpanTuple], predicted: list[SpanTuple]
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
    gold: list[SpanTuple] = [(0, 1, "LOC"), (4, 5, "LOC")]
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
    first, second = align(sentences, gold, predicted, span_tuples)
    spans = ((0, 2, "X"),), ((0, 1, "X"), (2, 3, "X"))
    assert first == Aligned(("a", "b", "c"), *spans, range(1, 4))
    assert (first.text((0, 2, "X")), first.line_of(2), second.line_of(0)) == ("a b", 3, 0)
    counts = count_spans(gold, predicted, span_tuples).table().micro
    assert match([first, second]).micro["strict"].f1 == counts.f1
