"""Analyses of a report: what it is asked for, of labels for which it has a meaning."""

from pathlib import Path

import pytest

import tagkit
from tagkit import DataError, Document, Sentence
from tagkit.config import DataConfig
from tagkit.evaluation.analysis.analysis import ANALYSES, analyse, possible, read_training
from tagkit.evaluation.analysis.slices import WordAccuracy
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.class_report import with_judged
from tagkit.evaluation.reports.column_report import (
    ColumnsReport,
    make_lemma_report,
    make_tag_column_report,
)
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.judged import judge_spans, judge_tokens

WORDS = ("Ada", "saw", "New", "York")
GOLD = Sentence(WORDS, ("B-PER", "O", "B-LOC", "I-LOC"))
FOUND = Sentence(WORDS, ("B-PER", "O", "B-LOC", "O"))
PLAIN = Sentence(("a", "cat"), ("DT", "NN"))


def test_only_what_was_asked_for_is_there() -> None:
    report = tagkit.evaluate([GOLD], [FOUND])
    assert isinstance(report, TagReport)
    judged = judge_spans([[(0, 1, "PER")]], [[((0, 1, "PER"), 0.5)]])
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
    with pytest.raises(
        DataError, match=r"train.conll: expected tags of spans as in gold, found pl"
    ):
        tagkit.analyse([GOLD], [FOUND], train=train)


def test_analyses_without_a_meaning_are_refused() -> None:
    for name in ("measures", "errors"):
        with pytest.raises(DataError, match=f"^gold: holds plain labels: {name} is for spans$"):
            tagkit.analyse([PLAIN], [PLAIN], analyses=[name])
    expected = r"^gold: holds plain labels: slices of these needs train, the training corpus$"
    with pytest.raises(DataError, match=expected):
        tagkit.analyse([PLAIN], [PLAIN], analyses=["slices"])
    text = Document("To Rome.", labels=("travel",))
    for name in ("measures", "errors", "slices"):
        kind = "tags" if name == "slices" else "spans"
        expected = f"^the corpus holds classes of texts: {name} is for {kind}$"
        with pytest.raises(DataError, match=expected):
            tagkit.analyse([text], [text], analyses=[name])
    assert list(tagkit.analyse([text], [text]).to_dict()) == ["interval"]
    with pytest.raises(
        DataError, match=r"^analyses: expected some of measures, errors, slices, int"
    ):
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
    with pytest.raises(DataError, match=r"^expected a report that keeps its tags: this one was"):
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
        "UPOS": judge_tokens([("X", "Y")], [("X", "Y")], [(0.9, 0.7)]),
        "LEMMA": judge_tokens([("a", "b")], [("a", "x")], [(0.8, 0.6)]),
    }
    report = with_judged(report, judged)
    assert possible(report) == ["calibration"]
    found = analyse(report, ["calibration"]).to_dict()
    assert list(found) == ["calibration"]
    # Probabilities of 0.9 and 0.7, both right; of 0.8, right, and 0.6, wrong.
    assert found["calibration"]["UPOS"]["brier"] == pytest.approx((0.01 + 0.09) / 2)
    assert found["calibration"]["LEMMA"]["brier"] == pytest.approx((0.04 + 0.36) / 2)
    assert "calibration" not in report.to_dict()
    with pytest.raises(DataError, match=r"^this model predicts several tag columns: "):
        analyse(report, ["errors", "calibration"])
    with pytest.raises(DataError, match=r"^there are no probabilities to look at: "):
        analyse(ColumnsReport((tags,)), ["calibration"])
