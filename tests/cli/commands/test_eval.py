"""`tagkit eval`: reports, and their verification."""

import json
import re
import shutil
from itertools import product
from pathlib import Path

import pytest
from marks import mostly_slow
from program import Program
from says import Says

from tagkit import evaluate


def test_eval_of_a_model_prints_the_report_or_one_json_object(tagkit: Program, model: Path) -> None:
    table = tagkit("eval", model, "test.conll")
    assert re.search(r"^LOC +1\.0000 +1\.0000 +1\.0000 +20$", table.out, re.MULTILINE)
    assert "IOB2 spans, conlleval-compatible; token accuracy 1.0000 of" in table.out
    scores = json.loads(tagkit("eval", model, "test.conll", "--json").out)
    assert (scores["scheme"], scores["mode"]) == ("IOB2", "conlleval-compatible")
    assert scores["types"]["LOC"] == {"precision": 1, "recall": 1, "f1": 1, "support": 20}
    for name in ("micro", "macro", "weighted"):
        assert set(scores[name]) == {"precision", "recall", "f1", "support"}
    assert scores["accuracy"] == 1
    strict = json.loads(tagkit("eval", model, "test.conll", "--json", "--strict").out)
    assert strict["mode"] == "strict"


AGREES = "verified: seqeval's numbers agree (conlleval mode and strict mode)\n"


def test_eval_verifies_a_model_or_files_with_seqeval(tagkit: Program, model: Path) -> None:
    plain = tagkit("eval", model, "test.conll")
    verified = tagkit("eval", model, "test.conll", "--verify")
    assert (verified.code, verified.out) == (0, plain.out)
    assert verified.err == plain.err + AGREES
    tagkit("predict", model, "dev.conll", "-o", "tagged.conll")
    for files in (["tagged.conll"], ["dev.conll", "--pred", "tagged.conll"]):
        ended = tagkit("eval", "--gold", *files, "--strict", "--json", "--verify")
        assert json.loads(ended.out)["mode"] == "strict"
        assert (ended.code, ended.err.endswith(AGREES)) == (0, True)


def test_eval_shows_where_a_broken_scorer_differs_from_seqeval_and_ends_with_1(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = tmp_path / "both.conll"
    both.write_text("Ada\tB-PER\tB-PER\nin\tO\tO\nRome\tB-LOC\tB-LOC\n", encoding="utf-8")
    monkeypatch.setattr(
        "tagkit.evaluation.reports.tag_report.span_tuples", lambda tags: [(0, 1, "PER")]
    )
    ended = tagkit("eval", "--gold", both, "--verify")
    assert ended.code == 1
    assert "IOB2 spans, conlleval-compatible" in ended.out  # the report is shown all the same
    assert "not verified: seqeval disagrees on 4 numbers\n" in ended.err
    assert "conlleval mode, LOC: support none, seqeval has 1\n" in ended.err
    assert "conlleval mode, micro avg: support 1, seqeval has 2\n" in ended.err


def test_eval_refuses_to_verify_what_seqeval_cannot_score(tagkit: Program, tmp_path: Path) -> None:
    pos = tmp_path / "pos.conll"
    pos.write_text("a\tDT\tDT\nb\tNN\tVB\n", encoding="utf-8")
    ended = tagkit("eval", "--gold", pos, "--verify")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == Says("pos.conll: ", "plain labels")


def test_predict_then_eval_of_the_files_gives_the_scores_of_the_model(
    tagkit: Program, model: Path
) -> None:
    by_model = json.loads(tagkit("eval", model, "dev.conll", "--json").out)
    tagkit("predict", model, "dev.conll", "-o", "tagged.conll")
    one_file = json.loads(tagkit("eval", "--gold", "tagged.conll", "--json").out)
    two_files = json.loads(
        tagkit("eval", "--gold", "dev.conll", "--pred", "tagged.conll", "--json").out
    )
    assert one_file == two_files == {**by_model, "unknown": {}}


def test_gold_labels_that_the_model_does_not_know_count_as_errors_and_are_listed(
    tagkit: Program, model: Path
) -> None:
    Path("odd.conll").write_text("Ada\tB-PER\nsings\tO\nYmir\tB-MYTH\n", encoding="utf-8")
    ended = tagkit("eval", model, "odd.conll")
    assert ended.out.endswith(": MYTH (1)\n")
    assert json.loads(tagkit("eval", model, "odd.conll", "--json").out)["unknown"] == {"MYTH": 1}


def test_eval_of_a_classifier_prints_its_matrix_and_files_are_compared(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    test = intents / "test.tsv"
    printed = tagkit("eval", intents / "model", test)
    assert printed.code == 0
    assert re.search(r"^classes; accuracy [01]\.\d{4} of 20 texts$", printed.out, re.M)
    scores = json.loads(tagkit("eval", intents / "model", test, "--json").out)
    cells = [cell for row in scores["confusion"].values() for cell in row.values()]
    assert sum(cells) == scores["texts"] == 20
    predicted = tmp_path / "found.jsonl"
    tagkit("predict", intents / "model", test, "--format", "jsonl", "-o", predicted)
    compared = json.loads(tagkit("eval", "--gold", test, "--pred", predicted, "--json").out)
    assert scores.pop("areas")["macro"].keys() == {"roc", "precision_recall"}
    assert compared == scores  # the file has no probabilities


BOTH = "Ada\tB-PER\tB-PER\nin\tO\tO\nNew\tB-LOC\tB-LOC\nYork\tI-LOC\tO\n"
ANALYSES = ("--measures", "--errors", "--slices", "--interval")


def test_eval_adds_analyses_below_the_report_and_to_its_json(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # long paths are shortened
    both, train = Path("both.conll"), Path("train.conll")
    both.write_text(BOTH, encoding="utf-8")
    train.write_text("Ada\tB-PER\n", encoding="utf-8")
    plain = tagkit("eval", "--gold", both).out
    ended = tagkit("eval", "--gold", both, *ANALYSES, "--train", train)
    assert ended.out.startswith(f"{plain}\nF1 0.5000, 95 % interval 0.5000 to 0.5000\n\nmeasure ")
    assert f"  {both}:3\n    gold       Ada in [LOC New York]\n" in ended.out
    assert re.search(r"^seen with this label .* 1$", ended.out, re.M)
    usual = json.loads(tagkit("eval", "--gold", both, "--json").out)
    found = json.loads(tagkit("eval", "--gold", both, "--json", *ANALYSES, "--train", train).out)
    assert list(found) == [*usual, "measures", "errors", "slices", "interval"]
    assert {key: found[key] for key in usual} == usual
    assert found["errors"]["kinds"]["boundary"]["examples"][0]["line"] == 3
    assert found["slices"]["seen"]["seen with this label"]["f1"] == 1


def test_eval_of_a_model_has_the_analyses_of_its_predictions_in_a_file(
    tagkit: Program, model: Path
) -> None:
    options = ["--json", *ANALYSES, "--train", "train.conll"]
    by_model = json.loads(tagkit("eval", model, "dev.conll", *options).out)
    tagkit("predict", model, "dev.conll", "-o", "analysed.conll")
    files = ["--gold", "dev.conll", "--pred", "analysed.conll"]
    by_files = json.loads(tagkit("eval", *files, *options).out)
    assert by_files == {**by_model, "unknown": {}}
    assert by_model["slices"]["seen"]


def test_eval_refuses_an_analysis_without_a_meaning(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    pos = tmp_path / "pos.conll"
    pos.write_text("a\tDT\tDT\nb\tNN\tVB\n", encoding="utf-8")
    ended = tagkit("eval", "--gold", pos, "--errors")
    assert (ended.code, ended.out) == (1, "")
    assert Says("pos.conll", "--errors") == ended.err
    ended = tagkit("eval", "--gold", pos, "--slices")
    assert Says("--slices", "--train") == ended.err
    train = tmp_path / "train.conll"
    train.write_text("a\tDT\n", encoding="utf-8")
    ended = tagkit("eval", "--gold", pos, "--slices", "--train", train, "--interval")
    assert ended.out.endswith(
        "\naccuracy 0.5000, 95 % interval 0.5000 to 0.5000\n\n"
        "words in training  accuracy  tokens\n"
        "known words          1.0000       1\n"
        "unknown words        0.0000       1\n"
    )
    ended = tagkit("eval", "--gold", pos, "--train", train)
    assert ended.code == 2
    assert Says("--train", "--slices", "--html") == ended.err
    ended = tagkit("eval", intents / "model", intents / "test.tsv", "--measures")
    assert (ended.code, ended.out) == (1, "")
    assert Says("--measures") == ended.err


def test_eval_compares_several_systems_whatever_their_files_look_like(
    tagkit: Program, tmp_path: Path
) -> None:
    gold, worse, right = (tmp_path / name for name in ("gold.conll", "a.conll", "b.conll"))
    worse.write_text("Ada B-PER\n\nNew B-LOC\nYork O\n\n" * 20, encoding="utf-8")
    right.write_bytes(b"Ada S-PER\r\n\r\nNew B-LOC\r\nYork E-LOC\r\n\r\n" * 20)
    gold.write_text("Ada\tB-PER\n\nNew\tB-LOC\nYork\tI-LOC\n\n" * 20, encoding="utf-8")
    command = ["eval", "--gold", gold, "--pred", worse, "--pred", right, "--pred", worse]
    ended = tagkit(*command)
    assert ended.code == 0
    assert re.search(r"^a\.conll +0\.5000  0\.\d{4} to 0\.\d{4}$", ended.out, re.M)
    assert re.search(r"^b\.conll +1\.0000 .* \+0\.5000 .* <0\.001  <0\.001$", ended.out, re.M)
    assert re.search(r"^a\.conll +0\.5000 .* \+0\.0000 .* 1\.000   1\.000$", ended.out, re.M)
    assert "\nLOC         0.0000  1.0000  0.0000\n" in ended.out
    assert ended.err.count("gold.conll: read as columns") == 1
    found = json.loads(tagkit(*command, "--json").out)
    assert [each["score"] for each in found["systems"]] == [0.5, 1, 0.5]
    worse.write_text("Ada B-PER\n\nOld B-LOC\nYork O\n\n" * 20, encoding="utf-8")
    ended = tagkit(*command)
    assert (ended.code, ended.out) == (1, "")
    assert Says("a.conll:3", "'New'", gold, "3", "'Old'").within(ended.err)


def test_eval_of_several_systems_refuses_what_is_for_one(tagkit: Program) -> None:
    two = ["--pred", "a", "--pred", "b"]
    one = "one MODEL, or one file of --pred"
    for option in (*ANALYSES, "--verify"):
        ended = tagkit("eval", "--gold", "g", *two, option)
        assert ended.code == 2
        assert Says(option, one) == ended.err
    ended = tagkit("eval", "--gold", "-", *two)
    assert ended.err.endswith("a file with gold labels: standard input is read once\n")


def test_eval_compares_several_models_with_the_numbers_of_their_files(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds"
    for seed in (1, 2):
        shutil.copytree(model, seeds / f"seed-{seed}")
    (seeds / "seeds.json").write_text('[{"seed": 1}, {"seed": 2}]')
    ended = tagkit("eval", model, seeds, "dev.conll")
    assert ended.code == 0
    assert re.search(
        r"^model +\d\.\d{4}  .*\nseeds +\d\.\d{4} .* \+0\.0000 .* 1\.000$", ended.out, re.M
    )
    assert re.search(r"^seeds +2 +(\d\.\d{4}) +\1 +0\.0000 ", ended.out, re.M)
    # Equal runs widen no interval.
    assert "\nseeds: 2 runs say little about other seeds\n" in ended.out
    assert "\nmodel: one run says nothing about other seeds; only sentences" in ended.out
    by_models = json.loads(tagkit("eval", model, seeds, "dev.conll", "--json").out)
    for name in ("one,run.conll", "two.conll"):
        tagkit("predict", model, "dev.conll", "-o", tmp_path / name)
    one, two = tmp_path / "one,run.conll", tmp_path / "two.conll"
    files = ["--gold", "dev.conll", "--pred", one, "--pred", f"{two},{two}"]
    by_files = json.loads(tagkit("eval", *files, "--json").out)
    for ours, theirs in zip(by_models["systems"], by_files["systems"], strict=True):
        assert len(ours["runs"]) == len(theirs["runs"])
        for key in ("score", "interval", "spread", "difference", "types"):
            assert ours[key] == theirs[key]
    assert tagkit("eval", *files).out.count("two.conll +1") == 4
    # One system of several runs is compared with none, and has a mean.
    alone = tagkit("eval", "--gold", "dev.conll", "--pred", f"{two},{two}").out
    assert alone.startswith("system ")
    assert "change" not in alone


@pytest.mark.parametrize("columns", mostly_slow((1, 0, 2), always=1))
def test_eval_names_the_line_of_a_token_that_differs_whatever_the_files_look_like(
    tagkit: Program, tmp_path: Path, columns: int
) -> None:
    rows = [
        ("Ada", "PER", "S-PER"),
        ("", "", ""),
        ("New", "LOC", "B-LOC"),
        ("York", "LOC", "E-LOC"),
    ]
    gold = tmp_path / "gold.conll"
    gold.write_text("".join(f"{word} I-{label}\n" if word else "\n"
                            for word, label, _ in rows), encoding="utf-8")  # fmt: skip
    files = []
    shapes = product(("\n", "\r\n"), ("\t", " "), (False, True))
    for number, (end, separator, bilou) in enumerate(shapes):
        path = tmp_path / f"{number}.conll"
        lines = []
        for word, label, iobes in rows:
            tag = iobes.replace("S-", "U-").replace("E-", "L-") if bilou else f"I-{label}"
            lines.append(separator.join([word, *["x"] * columns, tag]) if word else "")
        path.write_bytes((end.join(lines) + end).encode())
        files.append(path)
    preds = [part for path in files for part in ("--pred", path)]
    found = json.loads(tagkit("eval", "--gold", gold, *preds, "--json").out)
    assert [each["score"] for each in found["systems"]] == [1] * 8
    for path in files:
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"York", b"Yorck"))
        ended = tagkit("eval", "--gold", gold, "--pred", gold, "--pred", path)
        assert (ended.code, ended.out) == (1, "")
        assert Says(path, "4", "'York'", gold, "'Yorck'").within(ended.err)
        path.write_bytes(whole)


def test_files_that_were_predicted_with_probabilities_are_scored_as_without(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    reports = []
    for name, options in (("plain", []), ("numbers", ["--confidence"])):
        out = tmp_path / f"{name}.conll"
        assert tagkit("predict", model, "dev.conll", "-o", out, *options).code == 0
        for files in (["--gold", out], ["--gold", "dev.conll", "--pred", out]):
            reports.append(json.loads(tagkit("eval", *files, "--json").out))
    assert all(report == reports[0] for report in reports)
    assert reports[0]["micro"]["f1"] > 0.5


def test_a_column_of_files_without_columns_is_refused(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "test.jsonl"
    tagkit("convert", "dev.conll", lines, "--to", "jsonl-tokens")
    assert tagkit("eval", model, lines).code == 0
    message = f"{lines}: holds JSON Lines"
    for option in ("--tag-column", "--token-column"):
        for command in (["eval", model, lines], ["train", "--train", lines, "-o", tmp_path / "m"]):
            ended = tagkit(*command, option, "NER")
            assert (ended.code, ended.out) == (1, "")
            assert message in ended.err
            assert Says(option, "column") == ended.err


def test_a_column_of_files_that_are_no_tables_of_texts_is_refused(
    tagkit: Program, tmp_path: Path
) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "a b", "label": "x"}\n{"text": "c", "label": "y"}\n' * 9, "utf-8")
    for option in ("--text-column", "--label-column"):
        given = ["--task", "classify", option, "mood", "-o", tmp_path / "m"]
        ended = tagkit("train", "--train", texts, *given)
        assert (ended.code, ended.out) == (1, "")
        assert Says(option, "TSV", "CSV") == ended.err, ended.err


def test_spans_in_pieces_are_compared_as_the_option_says(tagkit: Program, tmp_path: Path) -> None:
    for name in ("good", "pred"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("North and South Korea left Oslo", "utf-8")
    rows = "T1\tLOC 0 5;16 21\tNorth Korea\nT2\tLOC 27 31\tOslo\n"
    (tmp_path / "good" / "a.ann").write_text(rows, "utf-8")
    (tmp_path / "pred" / "a.ann").write_text("T1\tLOC 27 31\tOslo\n", "utf-8")
    files = ["--gold", tmp_path / "good", "--pred", tmp_path / "pred"]
    refused = tagkit("eval", *files)
    problem = f"{tmp_path}/good/a.ann:1: T1 (LOC 0 21) is in 2 pieces, and a span is one stretch"
    assert (refused.code, refused.err.splitlines()[-1]) == (
        1, f"error: {problem}: see --on-misaligned",
    )  # fmt: skip
    for how, done, recall in (("shrink", "left out", 1), ("expand", "made one stretch", 0.5)):
        ended = tagkit("eval", *files, "--on-misaligned", how, "--json")
        assert f"{problem}: {done}" in ended.err.splitlines()
        assert json.loads(ended.out)["micro"]["recall"] == recall


def test_tables_with_columns_of_one_s_own_are_compared(
    tagkit: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header = "Nr,Datum,Mailtext,Kategorie,Bemerkung"
    rows = ['1,3.4.,"How are you, friend?",ham,', "2,3.5.,Buy it now,spam,", "3,4.5.,And now,ham,"]
    Path("gold.csv").write_text("\n".join([header, *rows]), "utf-8")
    predicted = ['ham,1,"How are you, friend?"', "spam,2,Buy it now", "spam,3,And now"]
    Path("pred.csv").write_text("\n".join(["label,Nr,text", *predicted]), "utf-8")
    files = ["--gold", "gold.csv", "--pred", "pred.csv"]
    ended = tagkit("eval", *files)
    assert (ended.code, Says("gold.csv:1", "label").within(ended.err)) == (1, True)
    assert all(flag in ended.err for flag in ("--label-column", "--text-column"))
    ended = tagkit("eval", *files, "--label-column", "Kategorie", "--text-column", "Mailtext")
    assert "classes; accuracy 0.6667 of 3 texts" in ended.out
    assert Says("pred.csv", "columns") == ended.err
    names = {"label_column": "Kategorie", "text_column": "Mailtext"}
    assert evaluate("gold.csv", "pred.csv", **names).headline == pytest.approx(2 / 3)


def test_columns_of_texts_are_refused_for_files_that_have_none(
    tagkit: Program, model: Path
) -> None:
    Path("both.conll").write_text("Oslo B-LOC B-LOC\n", "utf-8")
    two = ["--gold", "both.conll", "--pred", "both.conll"]
    for option in ("--text-column", "--label-column"):
        for given in (["--gold", "both.conll"], two, [model, "dev.conll"]):
            ended = tagkit("eval", *given, option, "1")
            assert (ended.code, ended.out) == (1, "")
            assert Says(option, "TSV", "CSV") == ended.err, ended.err


def test_a_cache_is_for_one_language_model(tagkit: Program, model: Path) -> None:
    ended = tagkit("eval", "m", "f", "--cache-theta", "1")
    assert (ended.code, "--cache-theta is for --cache" in ended.err) == (2, True)
    ended = tagkit("eval", "--gold", "g", "--cache")
    assert Says("--cache", "--gold").within(ended.err)
    ended = tagkit("eval", "m", "n", "f", "--cache")
    assert Says("--cache", "MODEL", "--pred").within(ended.err)
    ended = tagkit("eval", model, "dev.conll", "--cache")
    assert (ended.code, ended.err) == (1, Says("--cache", "language"))
