"""One of a model's several tag columns, scored as if it were alone."""

from pathlib import Path

import pytest
import tiny
from small_runs import of_task
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.errors import DataError
from tagkit.evaluation.column_report import ColumnsReport
from tagkit.evaluation.tag_report import TagReport
from tagkit.inference.predictor import Predictor
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


def test_models_are_compared_by_it(folder: Path, model: Predictor) -> None:
    gold = folder / "test.conllu"
    systems = tagkit.compare(gold, models={"a": model, "b": folder / "model"}, tag_column="FEATS")
    first, second = systems.parts[""]
    alone = tagkit.evaluate(gold, model=model, tag_column="FEATS")
    assert first.score == second.score == alone.headline
    assert second.difference is not None
    assert (second.difference.difference, second.difference.p) == (0.0, 1.0)


def test_what_is_of_no_single_column_says_how_to_name_one(folder: Path, model: Predictor) -> None:
    gold = folder / "test.conllu"
    with pytest.raises(DataError, match=r"^this model predicts several tag columns: .* names$"):
        tagkit.analyse(gold, model=model, analyses=["interval"])
    with pytest.raises(DataError, match=r"predicts \(UPOS, FEATS, LEMMA, MISC\.NER\), or a list "
                                        r"of as many; found XPOS$"):  # fmt: skip
        tagkit.evaluate(gold, model=model, tag_column="XPOS")
    with pytest.raises(DataError, match=r"plain labels"):
        tagkit.evaluate(gold, model=model, tag_column="UPOS", strict=True)


def test_a_model_of_one_column_reads_the_column_that_is_named(tmp_path: Path) -> None:
    trained = train(tiny.config(tmp_path, "train.max_epochs=1"))
    gold = tmp_path / "test.conll"
    moved = tmp_path / "moved.conll"
    moved.write_text("".join(f"{line}\tx\n" if line else "\n"
                             for line in gold.read_text().splitlines()))  # fmt: skip
    expected = tagkit.evaluate(gold, model=trained.predictor)
    assert tagkit.evaluate(moved, model=trained.predictor, tag_column=1) == expected
