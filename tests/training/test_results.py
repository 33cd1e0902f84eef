"""What a run keeps beside its model: predictions that score as the run did, and its reports."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import tiny
from small_runs import of_task
from typer.testing import CliRunner

from tagkit.cli.main import app
from tagkit.config import Config, DataConfig, with_options
from tagkit.corpus.source.layout import CONLLU_COLUMNS
from tagkit.errors import BundleError, CheckpointError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.inference.predict.predictor import Predictor
from tagkit.models.bundle.bundle import load_bundle
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.folder import run_folder
from tagkit.training.folder.run_files import GOLD, RESULTS
from tagkit.training.several.seeds import train_seeds
from tagkit.training.trainer import train

USUAL = {*RESULTS} - {GOLD}  # which only some runs write
NO_DEV = {"data.dev_file": "", "data.test_file": ""}
BARE = "\t".join("_" * 8)  # the other columns of a line of CoNLL-U that is no word


def scored(path: Path, pred: Path | None = None) -> dict[str, object]:
    """What `tagkit eval --gold` says of a file."""
    report = compare_files(str(path), pred and str(pred), DataConfig(), None, False)
    return report.to_dict() | {"unknown": {}}


@pytest.mark.slow
def test_predictions_and_reports_of_a_column_file(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=2", "data.tag_column=3")
    for name, count in (("train", 80), ("dev", 20), ("test", 20)):
        sentences = [
            [line.replace("\t", " x y ") for line in sentence]
            for sentence in tiny.lines(count, len(name))
        ]
        tiny.write(tmp_path / f"{name}.conll", [["-DOCSTART- x y O"], *sentences])
    trained = train(config)
    assert trained.test is not None
    folder, runner = trained.folder, CliRunner()
    for name, report in (("dev", trained.dev), ("test", trained.test)):
        file = str(tmp_path / f"{name}.conll")
        assert scored(folder / f"{name}.pred") == report.to_dict() | {"unknown": {}}
        predicted = runner.invoke(app, ["predict", str(folder), file, "-o", str(tmp_path / "p")])
        assert predicted.exit_code == 0, predicted.output
        assert (folder / f"{name}.pred").read_bytes() == (tmp_path / "p").read_bytes()
        shown = runner.invoke(app, ["eval", str(folder), file, "--json"]).stdout
        reports = json.loads((folder / "report.json").read_text("utf-8"))
        assert reports[name] == json.loads(shown.splitlines()[-1])
    text = (folder / "report.txt").read_text("utf-8").splitlines()
    dev, test = [*report_lines(trained.dev)], [*report_lines(trained.test)]
    assert text == [f"dev: {tmp_path}/dev.conll", "", *dev, "", f"test: {tmp_path}/test.conll",
                    "", *test]  # fmt: skip


def test_of_a_part_that_was_split_off_in_the_format_of_train(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=1", **NO_DEV)
    text = (tmp_path / "train.conll").read_text("utf-8").replace("\n", " \r\n")
    (tmp_path / "train.conll").write_text(text, encoding="utf-8", newline="")
    trained = train(config)
    assert scored(trained.folder / "dev.pred") == trained.dev.to_dict() | {"unknown": {}}
    assert b"\tO\r\n" in (trained.folder / "dev.pred").read_bytes()
    assert not (trained.folder / "test.pred").exists()
    assert json.loads((trained.folder / "report.json").read_text("utf-8"))["test"] is None


def of_treebank(folder: Path, **options: object) -> Config:
    """A run on treebanks with comments, ranges and empty nodes; dev lacks its last line end."""
    files = tiny.treebank(folder)
    for file in files.values():
        sentences = Path(file).read_text("utf-8").removesuffix("\n\n").split("\n\n")
        text = "\n\n".join(
            f"# sent_id = {number}\n1-2\tau\t{BARE}\n{lines}\n3.1\tit\t{BARE}"
            for number, lines in enumerate(sentences)
        )
        end = "" if "dev" in file else "\n\n"
        Path(file).write_text(f"# by hand\n\n{text}{end}", encoding="utf-8", newline="")
    weak = "train.max_epochs=1", "encoder.hidden=4", "train.lr=0.002", "head.feature_crf=0"
    config = tiny.config(folder, *weak)
    return with_options(config, {**files, **options})


@pytest.mark.parametrize("column", ["UPOS", "FEATS", "MISC.NER"])
def test_of_conllu_as_conllu_with_the_predicted_column_filled(tmp_path: Path, column: str) -> None:
    trained = train(of_treebank(tmp_path, **{"data.tag_column": column}))
    data = DataConfig(tag_column=column)
    assert trained.test is not None
    for name, report in (("dev", trained.dev), ("test", trained.test)):
        file, pred = tmp_path / f"{name}.conllu", trained.folder / f"{name}.pred"
        found = compare_files(str(file), str(pred), data, None, False)
        assert found.to_dict() | {"unknown": {}} == report.to_dict() | {"unknown": {}}
        assert found.headline < 1
        at = CONLLU_COLUMNS.index(column.partition(".")[0])
        gold, lines = (path.read_text("utf-8").split("\n") for path in (file, pred))
        assert [without(line, at) for line in gold] == [without(line, at) for line in lines]
        assert all(line.count("\t") in (0, 9) for line in lines)
        runner = CliRunner()
        given = ["predict", str(trained.folder), str(file), "-o", str(tmp_path / "p")]
        assert runner.invoke(app, given).exit_code == 0
        assert pred.read_bytes() == (tmp_path / "p").read_bytes()
    assert not (trained.folder / GOLD).exists()


def without(line: str, column: int) -> list[str]:
    cells = line.split("\t")
    return cells[:column] + cells[column + 1 :]


def test_of_conllu_that_was_split_off_the_gold_lines_are_beside_them(tmp_path: Path) -> None:
    columns = ["UPOS", "LEMMA", "MISC.NER"]
    trained = train(of_treebank(tmp_path, **{"data.tag_column": columns}, **NO_DEV))
    gold, pred = trained.folder / GOLD, trained.folder / "dev.pred"
    source = (tmp_path / "train.conllu").read_text("utf-8").split("\n\n")
    parts = gold.read_text("utf-8").split("\n\n")
    assert parts.pop() == ""
    assert [part for part in source if part in parts] == parts  # each as it was, in their order
    assert isinstance(trained.dev, ColumnsReport)
    assert [column.name for column in trained.dev.columns] == columns
    for column in trained.dev.columns:
        data = DataConfig(tag_column=column.name)
        found = compare_files(str(gold), str(pred), data, None, False)
        assert (found.headline, len(parts)) == (column.headline, found.sentences)
        assert found.headline < 1
    given = ["eval", "--gold", str(gold), "--pred", str(pred), "--tag-column", "LEMMA"]
    assert CliRunner().invoke(app, given).exit_code == 0


@pytest.mark.parametrize("gone", ["removed", "pipe", "other tags"])
def test_of_a_corpus_that_cannot_be_read_again_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=1", "data.feature_columns=[1]", columns=3)
    if gone == "pipe":
        monkeypatch.setattr("tagkit.inference.score.predicted.is_pipe", lambda _: True)
    else:  # after all corpora were read and digested
        report = Predictor.report

        def without_dev(*given: object, **options: object) -> object:
            path = tmp_path / "dev.conll"
            if gone == "removed":
                path.unlink(missing_ok=True)
            else:  # corrected while the run learns
                path.write_text(re.sub(r"[BI]-.*", "O", path.read_text("utf-8")), "utf-8")
            return report(*given, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Predictor, "report", without_dev)
    trained = train(config)
    assert scored(trained.folder / "dev.pred") == trained.dev.to_dict() | {"unknown": {}}
    first = (trained.folder / "dev.pred").read_text("utf-8").splitlines()[0].split("\t")
    assert first[:3] == tiny.lines(1, 2, columns=3)[0][0].split("\t")
    assert len(first) == 4


def test_of_texts_in_their_own_format(tmp_path: Path) -> None:
    trained = train(of_task(tmp_path, "classify"))
    assert (trained.folder / "dev.pred").read_text("utf-8").startswith("label\ttext\n")
    found = scored(tmp_path / "dev.tsv", trained.folder / "dev.pred")
    assert found == trained.dev.to_dict() | {"unknown": {}}


@pytest.mark.parametrize("form", ["tsv", "jsonl", "folder"])
def test_of_texts_that_were_split_off_the_gold_classes_are_beside_them(
    tmp_path: Path, form: str
) -> None:
    config = of_task(tmp_path, "classify", "data.dev_fraction=0.3")
    place = tmp_path / f"all.{form}"
    written = ["convert", str(tmp_path / "train.tsv"), str(place), "--to", form]
    assert CliRunner().invoke(app, [*written, "--force"]).exit_code == 0
    files = {"data.train_file": str(place), "data.dev_file": "", "data.test_file": ""}
    trained = train(with_options(config, files))
    found = scored(trained.folder / "dev.gold", trained.folder / "dev.pred")
    assert found == trained.dev.to_dict() | {"unknown": {}}
    first = (trained.folder / "dev.gold").read_text("utf-8")
    assert first.startswith("label\ttext\n" if form == "tsv" else '{"')


def test_the_report_of_a_classifier_is_what_eval_prints_with_what_is_taken_for_what(
    tmp_path: Path,
) -> None:
    # So weak that it takes some for others.
    weak = "train.max_epochs=1", "train.lr=0.0001", "head.bag_of_words=0"
    trained = train(of_task(tmp_path, "classify", *weak))
    command = ["eval", str(trained.folder), str(tmp_path / "test.tsv")]
    shown = CliRunner().invoke(app, command).stdout
    assert "\ngold \\ predicted " in shown
    text = (trained.folder / "report.txt").read_text("utf-8")
    assert text.partition(f"test: {tmp_path}/test.tsv\n\n")[2].splitlines() == shown.splitlines()


def test_of_texts_of_several_classes_that_were_split_off_some_have_none(tmp_path: Path) -> None:
    config = of_task(tmp_path, "classify", "data.dev_fraction=0.5")
    rows = ['{"text": "hot tea", "labels": ["a", "b"]}', '{"text": "rock", "labels": []}'] * 10
    (tmp_path / "all.jsonl").write_text("\n".join(rows), encoding="utf-8")
    files = {"data.train_file": str(tmp_path / "all.jsonl"), **NO_DEV}
    trained = train(with_options(config, files))
    gold = (trained.folder / "dev.gold").read_text("utf-8").splitlines()
    assert {*gold} == {*rows}
    found = scored(trained.folder / "dev.gold", trained.folder / "dev.pred")
    assert found == trained.dev.to_dict() | {"unknown": {}}


def test_gold_classes_that_the_format_of_the_corpus_cannot_hold_are_in_json_lines(
    tmp_path: Path,
) -> None:
    config = of_task(tmp_path, "classify", "data.dev_fraction=0.5")
    rows = ["DESC:def What is tea ?", "LOC:city Where is Oslo ?"] * 10
    (tmp_path / "all.trec").write_text("\n".join(rows), encoding="utf-8")
    files = {"data.train_file": str(tmp_path / "all.trec"), **NO_DEV}
    trained = train(with_options(config, files))
    gold = (trained.folder / "dev.gold").read_text("utf-8").splitlines()
    assert {json.loads(line)["label"] for line in gold} == {"DESC", "LOC"}
    found = scored(trained.folder / "dev.gold", trained.folder / "dev.pred")
    assert found == trained.dev.to_dict() | {"unknown": {}}


@pytest.mark.slow
def test_gold_labels_that_stand_elsewhere_are_not_written_again(tmp_path: Path) -> None:
    with_dev = train(of_task(tmp_path, "classify"))
    assert not (with_dev.folder / "dev.gold").exists()
    tags = train(tiny.config(tmp_path, "train.max_epochs=1", **NO_DEV), force=True)
    assert not (tags.folder / "dev.gold").exists()  # dev.pred has them


def test_of_tags_and_classes_the_classes_stand_before_the_tags(tmp_path: Path) -> None:
    trained = train(of_task(tmp_path, "both"))
    rows = (trained.folder / "dev.pred").read_text("utf-8").splitlines()
    assert all(len(row.split("\t")) == 5 for row in rows if row)
    texts = "\n".join(rows).strip("\n").split("\n\n")
    cells = [text.split("\n")[0].split("\t") for text in texts]
    right = sum(gold == found for _, gold, found, *_ in cells) / len(cells)
    reports = json.loads((trained.folder / "report.json").read_text("utf-8"))
    assert right == pytest.approx(reports["dev"]["classes"]["accuracy"])
    found = scored(trained.folder / "dev.pred")
    assert found["micro"] == reports["dev"]["tags"]["micro"]


@pytest.mark.slow
def test_of_several_seeds_those_of_the_best_and_force_removes_them(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=1", "train.seeds=[1,2]")
    trained = train_seeds(config)
    for name in USUAL:
        ours = (trained.folder / name).read_bytes()
        assert ours == (trained.best.folder / name).read_bytes(), name
    assert isinstance(trained.best.dev, TagReport)
    alone = train(tiny.small(tmp_path, "train.max_epochs=1", **NO_DEV), force=True)
    assert not (alone.folder / "test.pred").exists()
    assert (alone.folder / "dev.pred").exists()


@pytest.mark.parametrize("name", ["best", "last"])
def test_a_model_for_which_there_is_no_room_is_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    save = run_folder.save_bundle

    def full(folder: Path, *parts: Any) -> None:
        if folder.name == name:
            raise BundleError(f"{folder}: cannot be written: No space left on device")
        save(folder, *parts)

    monkeypatch.setattr(run_folder, "save_bundle", full)
    config = tiny.config(tmp_path, "train.max_epochs=1")
    with pytest.raises(CheckpointError) as caught:
        train(config)
    assert str(caught.value) == (
        f"{tmp_path / 'model' / name}: cannot be written: No space left on device; correct this, "
        "and resume the run with resume=True"
    )
    monkeypatch.setattr(run_folder, "save_bundle", save)
    train(config, resume=True)


@pytest.mark.parametrize("name", ["dev.pred", "report.json"])
def test_a_disk_that_fills_up_is_said_and_the_model_has_its_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write = run_folder.write_whole

    def full(path: Path, content: bytes) -> None:
        if path.name == name:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(run_folder, "write_whole", full)
    config = tiny.config(tmp_path, "train.max_epochs=1")
    with pytest.raises(CheckpointError) as caught:
        train(config)
    folder = tmp_path / "model"
    assert str(caught.value) == (
        f"{folder / name}: cannot be written: No space left on device; correct this, and resume "
        "the run with resume=True"
    )
    assert load_bundle(folder).metadata["scores"]["test"]["kind"] == "spans"
    assert not (folder / name).exists()
    # With room again the same command completes what is missing.
    monkeypatch.setattr(run_folder, "write_whole", write)
    train(config, resume=True)
    assert USUAL <= {path.name for path in folder.iterdir()}


def test_a_file_of_yours_that_came_during_the_run_stays(tmp_path: Path) -> None:
    notes: list[str] = []

    class Puts(Listener):
        def on_epoch(self, epoch: Epoch) -> None:
            (tmp_path / "model" / "dev.pred").write_text("mine")

        def on_note(self, text: str) -> None:
            notes.append(text)

    train(tiny.config(tmp_path, "train.max_epochs=1"), Puts())
    assert (tmp_path / "model" / "dev.pred").read_text() == "mine"
    assert "dev.pred: would be replaced, and was not written by this run" in notes[-1]
    assert "report.json" in os.listdir(tmp_path / "model")
