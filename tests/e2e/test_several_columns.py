"""Several tag columns through every command: check, train, info, eval, predict, convert."""

import json
from pathlib import Path

import pytest
import tiny
import torch
from says import Says
from typer.testing import CliRunner, Result

from tagkit.cli.main import app
from tagkit.cli.program.options import tag_columns
from tagkit.config import load_config
from tagkit.corpus.splits.splits import read_split
from tagkit.inference.predict.predictor import load
from tagkit.inference.score.prediction_files import predicted_text
from tagkit.models.task_table import task_of
from tagkit.training.diagnosis.corpus_checks import diagnose_corpus
from tagkit.training.setup.setup import prepare

pytestmark = pytest.mark.slow  # tests/models/columns/test_columns.py has the fast ones

COLUMNS = "UPOS,FEATS,LEMMA,MISC.NER"


def run(*arguments: object, ok: bool = True) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert (result.exit_code == 0) == ok, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    tiny.treebank(folder)
    sizes = ["embeddings.word_dim=8", "embeddings.char_hidden=8", "encoder.hidden=16",
             "train.max_epochs=8", "train.lr=0.03", "train.seeds=[1, 2]"]  # fmt: skip
    result = run(
        "train", "--train", folder / "train.conllu", "--dev", folder / "dev.conllu",
        "--test", folder / "test.conllu", "--tag-column", COLUMNS, "-o", folder / "model",
        *(part for size in sizes for part in ("--set", size)),
    )  # fmt: skip
    (folder / "train.txt").write_text(result.stderr)
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UPOS", "UPOS"),
        ("-1", -1),
        ("UPOS,FEATS", ("UPOS", "FEATS")),
        ("1, -1", (1, -1)),
        ("FEATS,", ("FEATS",)),
        ("UPOS,,FEATS", ("UPOS", "", "FEATS")),
    ],
)
def test_commas_make_a_list_of_columns(text: str, expected: object) -> None:
    assert tag_columns(text) == expected


def test_a_run_shows_each_column_and_seeds_show_their_labels(folder: Path) -> None:
    said = (folder / "train.txt").read_text()
    assert "UPOS (3 tags), FEATS (3 attributes), LEMMA (3 edit scripts), MISC.NER (" in said
    head = next(line for line in said.splitlines() if line.startswith("epoch  "))
    assert head.split()[1:13] == [
        "loss", "dev", "loss", "dev", "mean", "dev", "UPOS", "dev", "FEATS", "dev", "LEMMA", "dev",
    ]  # fmt: skip
    assert "each UPOS label on test, mean ± standard deviation of 2 seeds:" in said
    assert "each FEATS label on test" in said
    seeds = json.loads((folder / "model" / "seeds.json").read_text())
    assert set(seeds[0]["by_label"]) == {"UPOS", "FEATS", "MISC.NER"}


def test_rare_labels_are_named_with_their_column_and_lemmas_are_none(folder: Path) -> None:
    said = (folder / "train.txt").read_text().splitlines()
    warned = [line for line in said if "fewer than 10 examples" in line]
    assert not any("LEMMA" in line or "FEATS" in line for line in warned)
    rare = tiny.treebank_lines(30, 4)
    rare[0][0] = rare[0][0].replace("PROPN", "NOUN")
    tiny.write(folder / "rare.conllu", rare)
    config = load_config(
        overrides=["data.tag_column=['UPOS', 'LEMMA']"],
        flags={"data.train_file": str(folder / "rare.conllu")},
    )
    findings = [finding.text for finding in diagnose_corpus(prepare(config, torch.device("cpu")))]
    assert any(
        "train has 1 UPOS label with fewer than 10 examples: NOUN (1)" in t for t in findings
    )
    assert not any("LEMMA" in text for text in findings)


def test_info_has_the_columns_and_the_score_of_each(folder: Path) -> None:
    said = run("info", folder / "model").stdout
    assert "CRF of UPOS, softmax of FEATS, softmax of LEMMA and CRF of MISC.NER" in said
    assert "columns     UPOS (3 tags), FEATS (3 attributes), LEMMA (3 edit scripts)" in said
    assert "\nlabels" not in said
    for line in ("test mean", "test UPOS accuracy", "test LEMMA accuracy", "test MISC.NER F1"):
        assert f"\n{line} " in said
    assert json.loads(run("info", folder / "model", "--json").stdout)["labels"] == []


def test_eval_scores_each_column_and_a_column_is_compared_by_itself(folder: Path) -> None:
    file = folder / "test.conllu"
    report = json.loads(run("eval", folder / "model", file, "--json").stdout)
    assert [*report["columns"]] == COLUMNS.split(",")
    assert report["kind"] == "columns"
    assert "unknown words" in run("eval", folder / "model", file).stdout
    one = run("eval", folder / "model", file, "--tag-column", "UPOS", "--interval", "--json")
    alone = json.loads(one.stdout)
    assert alone["accuracy"] == report["columns"]["UPOS"]["accuracy"]
    assert alone["interval"]["score"] == alone["accuracy"]
    refused = run("eval", folder / "model", file, "--tag-column", "XPOS", ok=False)
    assert str(refused.exception) == (
        Says("data.tag_column", "UPOS", "FEATS", "LEMMA", "MISC", "NER", "XPOS")
    )
    # Each head would be scored on the labels of another one.
    others = ",".join(reversed(COLUMNS.split(",")))
    refused = run("eval", folder / "model", file, "--tag-column", others, ok=False)
    assert Says("UPOS", "FEATS", "LEMMA", "MISC", "NER") == str(refused.exception)
    files = run("eval", "--gold", file, "--pred", file, "--tag-column", COLUMNS, "--json").stdout
    assert {name: each["accuracy"] for name, each in json.loads(files)["columns"].items()} == (
        dict.fromkeys(COLUMNS.split(","), 1.0)
    )


def test_raw_text_gets_every_column(folder: Path) -> None:
    (folder / "raw.txt").write_text("Ada visits New York .\n")
    rows = [
        line.split("\t")
        for line in run("predict", folder / "model", folder / "raw.txt").stdout.splitlines()[:5]
    ]
    assert [row[0] for row in rows] == ["Ada", "visits", "New", "York", "."]
    assert rows[1][1:] == ["VERB", "Number=Sing|Person=3", "visit", "O"]
    assert rows[2][1:] == ["PROPN", "Case=Acc|Number=Sing", "New", "B-LOC"]
    out = run("predict", folder / "model", folder / "raw.txt", "--confidence").stdout
    cells = out.splitlines()[1].split("\t")
    assert cells[1::2] == rows[1][1:]
    assert all(0 <= float(cell) <= 1 for cell in cells[2::2])
    assert len(cells) == 9


def test_json_has_every_column_by_its_name(folder: Path) -> None:
    (folder / "raw.txt").write_text("Ada visits New York .\n")
    options = ["--format", "jsonl", "--confidence"]
    record = json.loads(run("predict", folder / "model", folder / "raw.txt", *options).stdout)
    token = record["tokens"][1]
    assert token["tag"] == "VERB"
    assert token["tags"] == {
        "UPOS": "VERB", "FEATS": "Number=Sing|Person=3", "LEMMA": "visit", "MISC.NER": "O"
    }  # fmt: skip
    assert token["probability"] == token["probabilities"]["UPOS"]
    assert [*token["probabilities"]] == [*token["tags"]]
    assert [(s["text"], s["label"]) for s in record["spans"]] == [
        ("Ada", "PER"),
        ("New York", "LOC"),
    ]


def test_the_predictions_of_a_run_fill_each_column(folder: Path) -> None:
    # Of each seed's run; beside the gold columns where the file cannot be read again.
    lines = (folder / "model" / "test.pred").read_text().splitlines()
    assert {line.count("\t") for line in lines} == {0, 9}
    predictor = load(folder / "model")
    data = predictor.config.data
    split = read_split(str(folder / "test.conllu"), data, task_of(predictor.config).needs, None)
    found = predictor.annotate(split.sentences, batch_size=8, confidence=False)
    text = predicted_text(predictor, split, found, "/dev/stdin-that-is-gone")
    word, *cells = text.splitlines()[0].split("\t")
    assert word == split.sentences[0].words[0]
    assert cells[:4] == [column.values[0] for column in split.sentences[0].columns]
    assert cells[4:] == [column.values[0] for column in found[0].columns]


def test_convert_wants_one_column(folder: Path) -> None:
    refused = run(
        "convert", folder / "dev.conllu", folder / "dev.jsonl", "--tag-column", COLUMNS, ok=False
    )
    assert str(refused.exception) == (Says("data.tag_column", "formats"))


def test_check_looks_at_the_labels_of_every_column_of_tags(tmp_path: Path) -> None:
    rows = ["1\tAda\tAda\tPROPN\tNNP\t_\t0\t_\t_\tNER=B-PER",
            "2\tsings\tsing\tVERB\tVBZ\t_\t1\t_\t_\tNER=I-LOC"]  # fmt: skip
    text = ("\n".join(rows) + "\n\n") * 30
    (tmp_path / "train.conllu").write_text(text)
    (tmp_path / "dev.conllu").write_text(text.replace("NNP", "NNPS"))
    files = [tmp_path / "train.conllu", tmp_path / "dev.conllu"]
    said = run("check", *files, "--tag-column", "UPOS,XPOS,LEMMA,MISC.NER", ok=False).stdout
    assert "column MISC.NER: " in said
    assert "is illegal in IOB2" in said
    assert "column XPOS: " in said
    assert "NNPS" in said
    assert "column LEMMA" not in said


def test_a_list_is_read_from_tagkit_toml(tmp_path: Path) -> None:
    file = tmp_path / "tagkit.toml"
    file.write_text('[data]\ntag_column = ["UPOS", "feats"]\n')
    assert load_config(file).data.tag_columns == ("UPOS", "FEATS")
    assert load_config(file, ["data.tag_column=UPOS"]).data.tag_columns == ()


def test_conllu_comes_back_with_every_column_filled_and_nothing_else_changed(folder: Path) -> None:
    source, output = folder / "test.conllu", folder / "out.conllu"
    bare = [
        "\t".join([*cells[:2], "_", "_", cells[4], "_", *cells[6:9], "SpaceAfter=No"])
        if (cells := line.split("\t"))[1:]
        else line
        for line in source.read_text().splitlines()
    ]
    (folder / "bare.conllu").write_text("\n".join(["# sent_id = 1", *bare]) + "\n")
    run("predict", folder / "model", folder / "bare.conllu", "-o", output)
    found = output.read_text().splitlines()
    assert found[0] == "# sent_id = 1"
    report = json.loads(run("eval", folder / "model", source, "--json").stdout)["columns"]
    for before, after in zip(bare, found[1:], strict=True):
        ours, theirs = before.split("\t"), after.split("\t")
        for place in {*range(len(ours))} - {2, 3, 5, 9}:
            assert ours[place] == theirs[place]
        assert len(ours) == 1 or theirs[9].startswith("SpaceAfter=No")
    for name in COLUMNS.split(","):
        compared = run("eval", "--gold", source, "--pred", output, "--tag-column", name,
                       "--pred-column", name, "--json")  # fmt: skip
        assert json.loads(compared.stdout)["accuracy"] == pytest.approx(report[name]["accuracy"])


def test_each_column_of_predictions_in_json_is_compared_by_its_name(folder: Path) -> None:
    gold, predicted = folder / "test.conllu", folder / "predicted.jsonl"
    run("predict", folder / "model", gold, "--format", "jsonl", "--confidence", "-o", predicted)
    report = json.loads(run("eval", folder / "model", gold, "--json").stdout)["columns"]
    both = ["--gold", gold, "--pred", predicted]
    found = {}
    for name in COLUMNS.split(","):
        # Tokens of spans have probabilities too, and spans themselves have not.
        extra = ["--calibration"] if name != "MISC.NER" else []
        compared = run("eval", *both, "--tag-column", name, *extra, "--json")
        found[name] = json.loads(compared.stdout)
        said = f"of the tags of UPOS, FEATS, LEMMA, MISC.NER those of {name} are compared"
        assert said in " ".join(compared.stderr.split())
        assert found[name]["accuracy"] == pytest.approx(report[name]["accuracy"])
    assert json.loads(run("eval", *both, "--json").stdout)["accuracy"] == found["UPOS"]["accuracy"]
    # The probabilities are those of the column too.
    assert found["UPOS"]["calibration"] != found["LEMMA"]["calibration"]
    refused = run("eval", *both, "--tag-column", "XPOS", ok=False)
    assert str(refused.exception) == (
        f"{predicted}: has tags of UPOS, FEATS, LEMMA, MISC.NER; name those to compare with "
        "pred_column"
    )
    refused = run("eval", *both, "--tag-column", "UPOS", "--pred-column", "XPOS", ok=False)
    assert str(refused.exception) == (
        Says(predicted, "1", "'XPOS'", "UPOS", "FEATS", "LEMMA", "MISC", "NER")
    )


def test_raw_text_becomes_conllu_with_every_column(folder: Path) -> None:
    (folder / "raw.txt").write_text("Ada visits New York .\n")
    options = ["--format", "conllu", "--confidence"]
    lines = run("predict", folder / "model", folder / "raw.txt", *options).stdout.splitlines()
    cells = next(line for line in lines if line.startswith("2\t")).split("\t")
    assert cells[1:6] == ["visits", "visit", "VERB", "_", "Number=Sing|Person=3"]
    keys = {pair.partition("=")[0] for pair in cells[9].split("|")}
    assert keys == {"UPOSProb", "FEATSProb", "LEMMAProb", "NERProb"}


def test_formats_of_one_tag_a_token_are_refused(folder: Path) -> None:
    refused = run("predict", folder / "model", folder / "raw.txt", "--format", "slash", ok=False)
    assert str(refused.exception) == (Says("output_format=columns", "predicts"))
