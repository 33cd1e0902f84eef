"""Predicted tags beside gold ones, from two files or one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from says import Says, refuses
from tag_files import compare, data, write

import tagkit
from tagkit.corpus.files import write as write_records
from tagkit.errors import DataError, FormatError, TagkitError
from tagkit.evaluation.compare.compare import characters_of_both, compare_files
from tagkit.evaluation.reports.class_report import ClassReport, JointReport
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report
from tagkit.evaluation.scores.calibration import Calibration
from tagkit.evaluation.scores.pairing import Labelled
from tagkit.evaluation.scores.scores import Score
from tagkit.inference.score.evaluate import evaluate
from tagkit.text.records import Document, LabelScore, Prediction, Sentence, Span, TextSpan
from tagkit.text.schemes import SpanTuple

GOLD = "EU NNP B-ORG\nis VBZ O\n\nNew NNP B-LOC\nYork NNP I-LOC\n"
PREDICTED = "EU\tB-ORG\nis\tO\n\n\nNew\tB-LOC\nYork\tB-LOC"
TAGS = ([["B-ORG", "O"], ["B-LOC", "I-LOC"]], [["B-ORG", "O"], ["B-LOC", "B-LOC"]])


@pytest.mark.parametrize("strict", [False, True])
def test_two_files_need_the_same_tokens_only(tmp_path: Path, strict: bool) -> None:
    gold, predicted = write(tmp_path, "gold", GOLD), write(tmp_path, "pred", PREDICTED)
    report = compare(gold, predicted, strict=strict)
    assert report == make_tag_report(*TAGS, "iob2", strict=strict)
    assert report.micro == Score(1 / 3, 0.5, 0.4, 2)


def test_one_file_has_gold_tags_in_the_last_column_but_one(tmp_path: Path) -> None:
    text = "EU NNP B-ORG B-ORG\nis VBZ O O\n\nNew NNP B-LOC B-LOC\nYork NNP I-LOC B-LOC\n"
    both = write(tmp_path, "both", text)
    assert compare(both, None) == make_tag_report(*TAGS, "iob2")
    assert compare(both, None, "data.tag_column=3", column=2) == make_tag_report(
        *TAGS[::-1], "iob2"
    )


def test_a_probability_behind_the_predicted_tags_is_no_tag(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", GOLD)
    text = "EU B-ORG 0.9876\nis O 1.0000\n\nNew B-LOC 0.5000\nYork B-LOC 0.1234\n"
    predicted = write(tmp_path, "pred", text)
    assert compare(gold, predicted) == make_tag_report(*TAGS, "iob2")
    # Named columns are taken as they are.
    labels = compare(gold, predicted, "data.tag_column=1", "data.scheme=labels", column=2)
    assert labels.accuracy == 0
    both = "EU B-ORG B-ORG 0.9876\nis O O 1.0000\n\nNew B-LOC B-LOC 0.5000\nYork I-LOC B-LOC 0.1\n"
    report = compare(write(tmp_path, "both", both), None)
    assert report == make_tag_report(*TAGS, "iob2")


@pytest.mark.parametrize("text", ["i am here .\nyou are there .\n", "hello there.\nhow now!\n"])
@pytest.mark.parametrize("alone", [True, False], ids=["one file", "two files"])
def test_raw_text_is_refused_rather_than_scored_by_its_last_words(
    tmp_path: Path, text: str, alone: bool
) -> None:
    path = write(tmp_path, "x.txt", text)
    with refuses(DataError, "data.format=columns"):
        compare(path, None if alone else path)
    # Whoever names the format or the column knows what the lines are.
    named = compare(path, path, "data.format=columns")
    assert named == compare(path, path, "data.tag_column=-1")


def test_a_column_file_that_may_be_text_is_said_to_be_read_as_columns(tmp_path: Path) -> None:
    both, notes = write(tmp_path, "x", "the DT DT\ncat NN NN\n"), list[str]()
    compare_files(both, None, data(), None, False, notes.append)
    assert [note.split(",")[0] for note in notes] == [f"{both}: read as columns"]


def test_tags_of_spans_are_plain_labels_where_the_user_says_so(tmp_path: Path) -> None:
    gold, predicted = write(tmp_path, "gold", GOLD), write(tmp_path, "pred", PREDICTED)
    report = compare(gold, predicted, "data.scheme=labels")
    assert (report.mode, report.accuracy) == ("per token", 0.75)
    assert report.types["B-LOC"] == Score(0.5, 1.0, 2 / 3, 1)


# X over the first two words, X over the third, Y over the fifth.
SAME_SPANS = {
    "iob1": "I-X I-X B-X O I-Y O",
    "iob2": "B-X I-X B-X O B-Y O",
    "iobes": "B-X E-X S-X O S-Y O",
    "bilou": "B-X L-X U-X O U-Y O",
}


@pytest.mark.parametrize("theirs", SAME_SPANS)
@pytest.mark.parametrize("ours", SAME_SPANS)
def test_the_accuracy_of_tokens_is_that_in_the_scheme_of_gold(
    tmp_path: Path, ours: str, theirs: str
) -> None:
    gold, found = SAME_SPANS[ours].split(), SAME_SPANS[theirs].split()
    words = "abcdef"

    def scored(predicted: list[str]) -> tuple[float, float]:
        path = write(tmp_path, "pred", "".join(map("{} {}\n".format, words, predicted)))
        report = compare(write(tmp_path, "gold", "".join(map("{} {}\n".format, words, gold))), path)
        both = "".join(map("{} {} {}\n".format, words, gold, predicted))
        assert compare(write(tmp_path, "both", both), None) == report
        return report.accuracy, report.micro.f1

    assert scored(found) == (1.0, 1.0)
    # Without the span of Y, one token of six is wrong.
    assert scored([*found[:4], "O", "O"]) == (5 / 6, 0.8)


def test_strict_mode_counts_tags_as_they_are(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", "a B-X\nb I-X\nc O\nd O\n")
    predicted = write(tmp_path, "pred", "a I-X\nb I-X\nc O\nd O\n")
    report = compare(gold, predicted, strict=True)
    assert (report.accuracy, report.micro.f1) == (0.75, 0.0)
    assert compare(gold, predicted).micro.f1 == 1.0


@pytest.mark.parametrize("strict", [False, True])
def test_tags_of_a_scheme_that_is_not_known_are_remarked_on(tmp_path: Path, strict: bool) -> None:
    def noted(text: str, *overrides: str, column: bool = False) -> list[str]:
        rows = [f"{line} {line.split()[1]}" if line else "" for line in text.splitlines()]
        path = write(tmp_path, "x", "\n".join(rows) + "\n" if column else text)
        notes: list[str] = []
        beside = None if column else path
        compare_files(path, beside, data(*overrides), None, strict, notes.append)
        return [note.removeprefix(f"{path}: ") for note in notes if "illegal" in note]

    # IOE2 (Kudo and Matsumoto 2001): a span ends with E, and has I before.
    for column in (True, False):
        (said,) = noted("a I-A\nb E-A\nc E-B\nd O\n\n" * 3, column=column)
        assert said.startswith("6 of 13 transitions are illegal in IOBES, ")
        assert ("strict mode" in said) == strict
    (said,) = noted("a I-A\nb O\n\n" * 3, "data.scheme=iob2")  # which does not fit best
    assert said.startswith("3 of 7 transitions are illegal in IOB2")
    assert not noted("a I-A\nb O\n\n" + "a B-A\nb I-A\nc O\n\n" * 9)  # one mistake


def test_predictions_of_nothing_at_all_are_predictions(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", "a B-X\nb E-X\n")
    predicted = write(tmp_path, "pred", "a O\nb O\n")
    assert compare(gold, predicted).micro == Score(0.0, 0.0, 0.0, 1)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ("a O\nb O\n", "a O\nc O\n", ("{pred}:2: ", "'b'", "{gold}:2", "'c'")),
        ("# x y z\na O\nb O\n", "a O\n",
         ("{pred}:1: ", "'b'", "{gold}:3", "end of the sentence")),
        ("a O\n\nb O\n", "a O\nb O\n", ("{pred}:2: ", "end of the sentence", "'b'")),
        ("a O\nb O\n", "a O\n\nb O\n",
         ("{pred}:1: ", "'b'", "{gold}:2", "end of the sentence")),
        ("a O\n\nb O\n", "a O\n",
         ("{pred}:1: ", "'b'", "{gold}:3", "end of the file")),
        ("a O\n", "a O\n\nb O\n", ("{pred}:3: ", "end of the file", "'b'")),
        ("a O\n", "", ("{pred}:1: ", "'a'", "{gold}:1", "end of the file")),
        ("a O\n", "a\n", ("{pred}:1: ", "one column")),
        ("a B-X\n", "a NN\n", ("{pred}: ", "iob2", "labels")),
        ("a NN\n", "a B-X\n", ("{pred}: ", "iob2", "labels")),
        ("", "", ("{gold}: ",)),
    ],
)  # fmt: skip
def test_files_with_other_tokens_or_other_kinds_of_tags_are_refused(
    tmp_path: Path, gold: str, predicted: str, message: tuple[str, ...]
) -> None:
    paths = {"gold": write(tmp_path, "gold", gold), "pred": write(tmp_path, "pred", predicted)}
    with refuses(DataError, *(each.format(**paths) for each in message)):
        compare(paths["gold"], paths["pred"])


SEVERAL = "a NN B-X\nb VB O\n"
TWO_PREDICTED = "a NN B-X NN B-Y\nb VB O NN O\n"


def test_predictions_of_several_columns_need_the_name_of_the_one_to_compare(
    tmp_path: Path,
) -> None:
    gold = write(tmp_path, "gold", SEVERAL)
    predicted = write(tmp_path, "pred", TWO_PREDICTED)
    sure = write(tmp_path, "sure", "a NN B-X NN 0.9000 B-Y 0.8000\nb VB O NN 0.7000 O 1.0000\n")
    for path, columns in ((predicted, "3, 4"), (sure, "3, 5")):
        with pytest.raises(DataError) as caught:
            compare(gold, path, "data.tag_column=1")
        assert f"{path}: has columns {columns} behind those of {gold}" in str(caught.value)
        assert "pred_column" in str(caught.value)
        assert compare(gold, path, "data.tag_column=1", column=3).accuracy == 0.5
    one = write(tmp_path, "one", "a NN B-X NN 0.9000\nb VB O NN 0.8000\n")
    assert compare(gold, one, "data.tag_column=1").accuracy == 0.5


def test_an_error_on_the_scheme_of_predictions_names_their_column(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold", SEVERAL)
    predicted = write(tmp_path, "pred", TWO_PREDICTED)
    for paths in ((gold, predicted), (predicted, None)):
        with refuses(DataError, f"{predicted}: ", "labels", "iob2", "pred_column"):
            compare(*paths, "data.tag_column=1", column=4)


def test_a_real_corpus_agrees_with_itself(corpora: Path) -> None:
    path = str(corpora / "conll2003" / "eng.testb")
    report = compare(path, path)
    assert report.micro == Score(1.0, 1.0, 1.0, 5_648)
    assert (report.scheme, report.sentences, report.tokens) == ("IOB1", 3_453, 46_435)


def test_predictions_without_any_record_are_refused_as_that(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold.jsonl", '{"text": "Oslo", "spans": []}\n')
    empty = write(tmp_path, "empty.jsonl", "")
    with refuses(DataError, empty, gold):
        compare(gold, empty)


SPANS = '{"text": "Ada left", "spans": [[0, 3, "PER"]]}\n'


@pytest.mark.parametrize("option", ["data.tag_column", "data.token_column", "pred_column"])
def test_a_column_of_files_without_columns_is_refused(tmp_path: Path, option: str) -> None:
    gold, predicted = (write(tmp_path, name, SPANS) for name in ("gold.jsonl", "pred.jsonl"))
    given, column = ([], 1) if option == "pred_column" else ([f"{option}=1"], None)
    with pytest.raises(DataError) as caught:
        compare(gold, predicted, *given, column=column)
    file = predicted if option == "pred_column" else gold
    assert str(caught.value).startswith(f"{file}: holds JSON Lines")
    assert Says(option, "column").within(str(caught.value))


@pytest.mark.parametrize("separator", ["\t", ","])
def test_an_empty_label_of_a_predicted_table_is_an_error_and_one_of_gold_is_refused(
    tmp_path: Path, separator: str
) -> None:
    gold = write(tmp_path, "gold.trec", "NUM:dist How far\nHUM:desc Who was\nHUM:desc Who is\n")
    rows = ("label\ttext", "NUM\tHow far", "\tWho was", "HUM\tWho is")
    table = "".join(row.replace("\t", separator) + "\n" for row in rows)
    predicted = write(tmp_path, "pred.csv" if separator == "," else "pred.tsv", table)
    report = compare(gold, predicted)
    assert report.accuracy == 2 / 3
    assert report.types["HUM"] == Score(1.0, 0.5, 2 / 3, 2)
    with refuses(FormatError, "3", "0", "column"):
        compare(predicted, predicted)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("joined", ["a,b", "a, b"])
def test_several_classes_in_one_cell_are_those_classes(
    tmp_path: Path, ending: str, joined: str
) -> None:
    lines = ('{"text": "How far", "labels": ["a", "b"]}', '{"text": "Who was", "labels": ["b"]}')
    gold = write(tmp_path, "gold.jsonl", "".join(f"{line}\n" for line in lines))
    separator = "," if ending == "csv" else "\t"
    cell = f'"{joined}"' if ending == "csv" else joined
    rows = (("text", "label"), ("How far", cell), ("Who was", "b"))
    predicted = write(tmp_path, f"p.{ending}", "".join(f"{separator.join(r)}\n" for r in rows))
    notes: list[str] = []
    report = compare_files(gold, predicted, data(), None, False, notes.append)
    assert (report.headline, [note for note in notes if "errors" in note]) == (1, [])
    # JSON Lines cannot be misread, and of texts with one class each none is joined.
    named = lines[0].replace('"a", "b"', f'"{joined}"')
    one = write(tmp_path, "j.jsonl", f"{named}\n{lines[1]}")
    assert compare(gold, one).accuracy == 0.5
    single = write(tmp_path, "s.jsonl", lines[0].replace('"a", "b"', '"a"') + "\n" + lines[1])
    assert compare(single, predicted).accuracy == 0.5
    # A class may have a comma in its name.
    assert compare(one, predicted).accuracy == 1


@pytest.mark.parametrize(("found", "noted"), [("DESC:def", True), ("DESC", False), ("HUM", False)])
def test_predicted_classes_none_of_which_gold_has_are_remarked_on(
    tmp_path: Path, found: str, noted: bool
) -> None:
    gold = write(tmp_path, "gold.tsv", "label\ttext\nHUM\tWho was\nDESC\tWhat is\n")
    predicted = write(tmp_path, "p.tsv", f"label\ttext\n{found}\tWho was\n{found}\tWhat is\n")
    notes: list[str] = []
    compare_files(gold, predicted, data(), None, False, notes.append)
    assert any("none of its classes (DESC:def) is one of " in note for note in notes) == noted


def test_a_named_column_of_conllu_beside_spans_is_that_of_the_predictions(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold.jsonl", SPANS)
    row = "\t_" * 5
    treebank = f"1\tAda\t_\t_\t_{row[:-2]}\tNER=B-PER\n2\tleft\t_\t_\t_{row}\n\n"
    predicted = write(tmp_path, "pred.conllu", treebank)
    assert compare(gold, predicted, "data.tag_column=MISC.NER").micro.f1 == 1


def test_a_key_that_no_gold_token_has_is_refused_and_one_without_predictions_is_not(
    tmp_path: Path,
) -> None:
    row = "\t_" * 5
    bare = f"1\tAda\t_\tPROPN\t_{row}\n\n"
    tagged = bare.replace("\t_\n", "\tNER=B-PER\n")
    gold, none = write(tmp_path, "gold.conllu", tagged), write(tmp_path, "none.conllu", bare)
    assert compare(gold, none, "data.tag_column=MISC.NER").micro == Score(0.0, 0.0, 0.0, 1)
    for other in (gold, None):
        with refuses(DataError, none, "NER"):
            compare(none, other, "data.tag_column=MISC.NER", column=None if other else "UPOS")


def test_records_without_labels_are_named_as_those_that_lack_them() -> None:
    bare, tagged = [Sentence(("a",))], [Sentence(("a",), ("O",))]
    for predicted in (bare, tagged):
        with refuses(DataError, "gold", "classes"):
            evaluate(bare, predicted)
    with refuses(DataError, "pred", "labels"):
        evaluate(tagged, bare)


def test_a_record_with_spans_that_overlap_is_named_by_its_number(tmp_path: Path) -> None:
    one, other = (TextSpan("Rome", 3, 7, label) for label in "XY")
    good, bad = Document("To Rome", spans=(one,)), Document("To Rome", spans=(one, other))
    with pytest.raises(TagkitError) as caught:
        evaluate([good, good], [good, bad])
    assert caught.value.lines[0].startswith("pred:2: 'Rome' (Y 3 7) is inside 'Rome' (X 3 7)")
    with pytest.raises(TagkitError) as caught:
        write_records([good, good, bad], tmp_path / "x.conll")
    assert caught.value.lines[0].startswith("record:3: 'Rome' (Y 3 7) is inside")


LIKELY = (LabelScore("x", 0.4), LabelScore("y", 0.3))


@pytest.mark.parametrize("labels", [("x",), ("x", "y")])
@pytest.mark.parametrize("answer", [
    Prediction(("To", "Rome"), (), (), scores=LIKELY), Document("To Rome"),
    Document("To Rome", spans=()),
])  # fmt: skip
def test_texts_none_of_which_has_a_likely_class_are_scored(
    labels: tuple[str, ...], answer: Prediction | Document
) -> None:
    notes = list[str]()
    gold = Document("To Rome", labels=labels)
    report = evaluate([gold, gold], [answer, answer], note=notes.append)
    assert isinstance(report, ClassReport)
    assert (report.headline, report.accuracy, report.micro.support) == (0, 0, 2 * len(labels))
    assert notes == ["pred: no text has a class: each counts as one for which none was likely"]
    assert evaluate([gold, gold], [answer, gold]).headline > 0  # as it is where one has


def test_tags_without_a_likely_class_are_scored_with_it() -> None:
    gold = [Sentence(("To", "Rome"), ("O", "B-LOC"), labels=("x",))]
    spans = (Span(1, 2, "LOC", "Rome"),)
    report = evaluate(gold, [Prediction(gold[0].words, ("O", "B-LOC"), spans, scores=LIKELY)])
    assert isinstance(report, JointReport)
    assert (report.tags.headline, report.classes.headline) == (1, 0)
    # Records without probabilities may be those of a tagger.
    assert isinstance(evaluate(gold, [Sentence(gold[0].words, ("O", "B-LOC"))]), TagReport)


def test_files_of_predictions_without_any_class_are_scored(tmp_path: Path) -> None:
    gold = write(tmp_path, "gold.jsonl", '{"text": "To Rome", "label": "x"}\n')
    none = write(tmp_path, "none.jsonl", '{"text": "To Rome", "label": null}\n')
    table = write(tmp_path, "none.csv", "label,text\n,To Rome\n")
    for predicted in (none, table):
        notes = list[str]()
        report = compare_files(gold, predicted, data(), None, False, notes.append)
        assert isinstance(report, ClassReport)
        assert report.headline == 0
        assert notes[-1].startswith(f"{predicted}: no text has a class: each counts")
    # Spans are other labels, none of which says anything of classes.
    spans = write(tmp_path, "spans.jsonl", SPANS)
    with refuses(DataError, "classes"):
        compare_files(gold, spans, data(), None, False, notes.append)


def test_predictions_for_texts_that_gold_has_not_annotated_are_left_out_aloud(
    tmp_path: Path,
) -> None:
    texts = {"a": ("Anna left.", "T1\tPER 0 4\tAnna\n"), "b": ("Ben left.", "T1\tPER 0 3\tBen\n")}
    for side in ("gold", "pred"):
        (tmp_path / side).mkdir()
        for name, (text, marks) in texts.items():
            (tmp_path / side / f"{name}.txt").write_text(text, encoding="utf-8")
            (tmp_path / side / f"{name}.ann").write_text(marks, encoding="utf-8")
    gold, pred = tmp_path / "gold", tmp_path / "pred"
    (gold / "a.ann").unlink()
    notes: list[str] = []
    report = compare_files(str(gold), str(pred), data(), None, False, notes.append)
    assert isinstance(report, TagReport)
    assert (report.micro.support, report.micro.f1) == (1, 1.0)
    left_out = f"{pred}: 1 file of texts without .ann in {gold} is left out: a.ann"
    assert notes[-2:] == [f"{gold}: 1 text without .ann is left out: a.txt", left_out]
    # The other way round nothing is left out: these texts have gold labels and no predictions.
    with refuses(FormatError):
        compare_files(str(pred), str(gold), data(), None, False, notes.append)
    # Files that are named are compared whatever they are called.
    report = compare_files(str(gold / "b.ann"), str(pred / "b.txt"), data(), None, False)
    assert isinstance(report, TagReport)
    assert report.micro.support == 1


GOLD_NAMES = "Ada\tB-PER\nsaw\tO\nNew\tB-LOC\nYork\tI-LOC\n\nBob\tB-PER\n\n"


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path


def found(gold: Path, predicted: Path) -> Calibration:
    analysis = tagkit.analyse(gold, predicted, analyses=["calibration"])
    assert analysis.calibration is not None
    return analysis.calibration[""]


def spans(*found: tuple[int, int, str, float]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label, "probability": p}
            for start, end, label, p in found]  # fmt: skip


def test_spans_of_characters_are_judged_against_tags(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text(GOLD_NAMES, "utf-8")
    predicted = lines(
        tmp_path / "found.jsonl",
        # Not in the text's order, which the probabilities follow all the same.
        {"text": "Ada saw New York", "spans": spans((8, 11, "LOC", 0.6), (0, 3, "PER", 0.9))},
        {"text": "Bob", "spans": spans((0, 3, "PER", 0.8))},
    )
    calibration = found(gold, predicted)
    # "New" alone is wrong; the other two are right, of three gold spans.
    assert (calibration.name, calibration.count) == ("spans", 3)
    assert calibration.brier == pytest.approx((0.1**2 + 0.6**2 + 0.2**2) / 3)
    rows = {row.threshold: row for row in calibration.thresholds}
    assert (rows[0.7].count, rows[0.7].precision) == (2, 1)
    assert rows[0.7].recall == pytest.approx(2 / 3)


def test_plain_labels_of_tokens_are_judged_one_by_one(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a\tDT\ncat\tNN\n\n", "utf-8")
    tokens = [{"text": "a", "start": 0, "end": 1, "tag": "DT", "probability": 0.9},
              {"text": "cat", "start": 2, "end": 5, "tag": "VB", "probability": 0.7}]  # fmt: skip
    predicted = lines(tmp_path / "found.jsonl", {"text": "a cat", "tokens": tokens, "spans": []})
    calibration = found(gold, predicted)
    assert (calibration.name, calibration.count) == ("tokens", 2)
    assert calibration.brier == pytest.approx((0.1**2 + 0.7**2) / 2)


def test_classes_of_texts_are_judged_by_their_probabilities(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", {"text": "hi", "label": "greet"},
                 {"text": "bye", "label": "leave"})  # fmt: skip
    predicted = lines(
        tmp_path / "found.jsonl",
        {"text": "hi", "label": "greet", "probabilities": {"leave": 0.3, "greet": 0.7}},
        {"text": "bye", "label": "greet", "probabilities": {"greet": 0.6, "leave": 0.4}},
    )
    calibration = found(gold, predicted)
    assert (calibration.name, calibration.count) == ("texts", 2)
    assert calibration.brier == pytest.approx((0.3**2 + 0.6**2) / 2)


def test_predictions_without_probabilities_are_refused(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text(GOLD_NAMES, "utf-8")
    bare = [{"start": 0, "end": 3, "label": "PER"}]
    some = lines(tmp_path / "found.jsonl", {"text": "Ada saw New York", "spans": bare},
                 {"text": "Bob", "spans": spans((0, 3, "PER", 0.8))})  # fmt: skip
    for predicted in (gold, some):
        with refuses(DataError, "probabilities"):
            found(gold, predicted)


def spans_of(tags: Sequence[str]) -> list[SpanTuple]:
    return [(at, at + 1, tag[2:]) for at, tag in enumerate(tags) if tag != "O"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("New York City y z", Says("p:7", "'x z'", "5", "'y z'")),
        ("New York City x y", Says("p:7", "'z'", "6", "'y'")),
        ("New York Town x z", Says("p:7", "'City x z'", "4", "'Town x z'")),
        ("New York City x", Says("p:7", "'z'", "6")),
    ],
)
def test_the_word_that_differs_is_named_where_words_hold_blanks(text: str, message: str) -> None:
    gold = Sentence(("New York City", "x", "z"), ("B-LOC", "O", "O"), lines=(4, 5, 6))
    predicted = Document(text, spans=(), line=7)
    sides = Labelled("g", [gold]), Labelled("p", [predicted])
    with pytest.raises(FormatError) as caught:
        characters_of_both(*sides, "blanks", spans_of, whole=False)
    assert str(caught.value) == message


def test_spans_of_two_words_in_one_place_are_compared_as_words() -> None:
    words, places = ("de", "le", "Oslo"), ((0, 2), (0, 2), (3, 7))
    gold = Labelled("g", [
        Sentence(words, ("B-X", "B-Y", "B-LOC"), text="du Oslo", places=places, lines=(2, 3, 4))
    ])  # fmt: skip
    text = Labelled("p", [Document("du Oslo", spans=(TextSpan("Oslo", 3, 7, "LOC"),), line=1)])
    for sides in ((gold, text), (text, gold)):
        with refuses(FormatError, "'de le Oslo'"):
            characters_of_both(*sides, "blanks", spans_of, whole=False)
    other = Labelled("p", [Document("de le Oslo", spans=(TextSpan("Oslo", 6, 10, "LOC"),), line=1)])
    ours, theirs = characters_of_both(gold, other, "blanks", spans_of, whole=False)
    assert ours.spans == [(0, 2, "X"), (2, 4, "Y"), (4, 8, "LOC")]
    assert theirs.spans == [(4, 8, "LOC")]
