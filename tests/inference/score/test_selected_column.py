"""One of a model's several tag columns, scored as if it were alone."""

import re
from pathlib import Path

import pytest
import tiny
from says import refuses
from small_runs import of_task
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.config import load_config
from tagkit.errors import DataError
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.inference.predict.predictor import Predictor
from tagkit.training.trainer import train

COLUMNS = ["UPOS", "FEATS", "LEMMA", "MISC.NER"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    train(of_task(folder, "columns", "train.max_epochs=2"))
    arguments = ["model", "test.conllu", "-o", "answers.jsonl", "--format", "jsonl", "--confidence"]
    places = [str(folder / each) if "." in each or each == "model" else each for each in arguments]
    assert CliRunner().invoke(app, ["predict", *places]).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Predictor:
    return tagkit.load(folder / "model", device="cpu")


@pytest.mark.parametrize("name", COLUMNS)
def test_its_score_is_that_of_the_whole_report_and_that_of_its_predictions(
    folder: Path, model: Predictor, name: str
) -> None:
    gold = folder / "test.conllu"
    whole = tagkit.evaluate(gold, model=model)
    assert isinstance(whole, ColumnsReport)
    alone = tagkit.evaluate(gold, model=model, tag_column=name)
    assert isinstance(alone, TagReport)
    column = next(each for each in whole.columns if each.name == name)
    assert alone.accuracy == column.accuracy > 0
    assert (alone.measure, alone.headline) == (column.measure, column.headline)
    records = tagkit.read(gold, tag_column=COLUMNS)
    assert tagkit.evaluate(records, model=model, tag_column=name) == alone
    files = tagkit.evaluate(gold, folder / "answers.jsonl", tag_column=name)
    assert isinstance(files, TagReport)
    assert (files.types, files.micro) == (alone.types, alone.micro)


def test_it_has_the_analyses_that_its_predictions_have(folder: Path, model: Predictor) -> None:
    gold, answers, corpus = (folder / name for name in ("test.conllu", "answers.jsonl",
                                                        "train.conllu"))  # fmt: skip
    for name, analyses in (("UPOS", ["slices", "interval", "calibration"]),
                           ("LEMMA", ["slices", "interval", "calibration"]),
                           ("MISC.NER", ["measures", "errors", "slices", "interval"])):  # fmt: skip
        options = {"analyses": analyses, "train": corpus, "tag_column": name}
        found = tagkit.analyse(gold, model=model, **options).to_dict()
        assert list(found) == analyses
        expected = tagkit.analyse(gold, answers, **options).to_dict()
        assert found["slices"] == expected["slices"]
        assert found["interval"] == expected["interval"]
        if "calibration" in analyses:
            ours, theirs = found["calibration"], expected["calibration"]
            assert ours["brier"] == pytest.approx(theirs["brier"], abs=1e-6)
            assert [row["count"] for row in ours["thresholds"]] == [
                row["count"] for row in theirs["thresholds"]
            ]
    every = tagkit.analyse(gold, model=model, train=corpus, tag_column="MISC.NER")
    assert [*every.to_dict()] == ["measures", "errors", "slices", "interval", "calibration"]


def test_models_of_several_columns_and_of_one_are_compared_by_it(
    folder: Path, model: Predictor, tmp_path: Path
) -> None:
    gold = folder / "test.conllu"
    files = {f"data.{name}_file": str(folder / f"{name}.conllu") for name in ("train", "dev")}
    options = ["data.tag_column=MISC.NER", "train.max_epochs=1", "encoder.hidden=4"]
    other = train(load_config(overrides=options, flags={**files, "output.dir": tmp_path / "one"}))
    models = {"a": model, "b": other.predictor}
    first, second = tagkit.compare(gold, models=models, tag_column="MISC.NER").parts[""]
    scores = [tagkit.evaluate(gold, model=each, tag_column="MISC.NER").headline
              for each in models.values()]  # fmt: skip
    assert [first.score, second.score] == scores
    assert scores[0] != scores[1]
    assert second.difference is not None
    assert second.difference.difference == pytest.approx(scores[1] - scores[0])


def test_its_page_has_the_sections_of_a_single_column(folder: Path, tmp_path: Path) -> None:
    arguments = [folder / "model", folder / "test.conllu", "--tag-column", "MISC.NER"]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["eval", *map(str, arguments), "--html", str(page)])
    assert done.exit_code == 0
    headings = re.findall(r"<h2[^>]*>([^<]*)", page.read_text("utf-8"))
    assert "What goes wrong" in headings
    assert "Columns" not in headings


def test_a_number_names_a_column_of_the_model(tmp_path: Path) -> None:
    files = {}
    for name, (count, seed) in {"train": (40, 1), "dev": (10, 2)}.items():
        rows = tiny.lines(count, seed, columns=3)
        files[f"data.{name}_file"] = str(tiny.write(tmp_path / f"{name}.conll", rows))
    options = ["data.tag_column=[1, 2]", "train.max_epochs=2", "encoder.hidden=8"]
    trained = train(load_config(overrides=options, flags={**files, "output.dir": tmp_path / "m"}))
    whole, gold = trained.dev, files["data.dev_file"]
    assert isinstance(whole, ColumnsReport)
    for place, number in enumerate((1, 2)):
        alone = tagkit.evaluate(gold, model=trained.predictor, tag_column=number)
        assert alone == whole.columns[place].tags
    with refuses(DataError, "1", "2", "-1", "predicts"):
        tagkit.evaluate(gold, model=trained.predictor, tag_column=-1)


def test_what_is_of_no_single_column_says_how_to_name_one(folder: Path, model: Predictor) -> None:
    gold = folder / "test.conllu"
    with refuses(DataError, "predicts"):
        tagkit.analyse(gold, model=model, analyses=["interval"])
    with refuses(DataError, "UPOS", "FEATS", "LEMMA", "MISC", "NER", "XPOS"):  # fmt: skip
        tagkit.evaluate(gold, model=model, tag_column="XPOS")
    with refuses(DataError, "labels"):
        tagkit.evaluate(gold, model=model, tag_column="UPOS", strict=True)


def test_a_model_of_one_column_reads_the_column_that_is_named(tmp_path: Path) -> None:
    trained = train(tiny.config(tmp_path, "train.max_epochs=1"))
    gold = tmp_path / "test.conll"
    moved = tmp_path / "moved.conll"
    moved.write_text("".join(f"{line}\tx\n" if line else "\n"
                             for line in gold.read_text().splitlines()))  # fmt: skip
    expected = tagkit.evaluate(gold, model=trained.predictor)
    assert tagkit.evaluate(moved, model=trained.predictor, tag_column=1) == expected
