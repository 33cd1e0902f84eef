"""How a run ends: what a stopped one leaves is as good as what it has learnt, and fits together."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
import tiny
import torch
from runs import StopAt
from safetensors.torch import load_file
from says import Says, refuses
from small_runs import of_task
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.config import Config, DataConfig, with_options
from tagkit.corpus.source.layout import CONLLU_COLUMNS
from tagkit.errors import BundleError, CheckpointError, ConfigError, Interrupted
from tagkit.evaluation.compare.compare import compare_files
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.criterion import AUTO, Criterion, find_criterion
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.metrics import Kind
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import gold_split
from tagkit.models.bundle.bundle import load_bundle
from tagkit.models.tagging import feature_crf
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.nn.heads.bag_of_words import BagOfWords
from tagkit.storage import files
from tagkit.training import run_end
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.folder import run_folder
from tagkit.training.folder.run_files import GOLD, RESULTS
from tagkit.training.loop.run import Run
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import Processes
from tagkit.training.run_end import drawn_curves, score_dev
from tagkit.training.setup.setup import prepare
from tagkit.training.several.seeds import train_seeds
from tagkit.training.trainer import train

# The network learns next to nothing, so that all is of the CRF of word features.
SLOW = "train.lr=0.0001"
STEPS = 10  # of an epoch


def stopped(folder: Path, after: int, *options: str, resume: bool = False) -> StopAt:
    """What a run tells that is stopped after some of its steps."""
    listener = StopAt(after)
    with pytest.raises(Interrupted):
        train(tiny.config(folder, SLOW, *options), listener, stop=listener.stop, resume=resume)
    assert listener.count == after
    return listener


def files_of(folder: Path) -> dict[str, bytes]:
    """The best model, and the results, of a run."""
    found = [*(folder / "model" / "best").iterdir(), *map((folder / "model").joinpath, RESULTS)]
    return {path.name: path.read_bytes() for path in found if path.exists()}


def score_of(folder: Path) -> float:
    """What the best model of a run scores on dev."""
    model = tagkit.load(folder / "model", device="cpu")
    return model.score(gold_split(model, str(folder / "dev.conll"), DataConfig())).headline


def test_the_best_model_of_a_stopped_run_has_what_its_word_features_add(tmp_path: Path) -> None:
    heard = stopped(tmp_path, STEPS + 1)
    crf = tagkit.load(tmp_path / "model", device="cpu").model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5
    (epoch,) = heard.epochs
    assert score_of(tmp_path) > epoch.score + 0.3
    assert heard.notes[-1].startswith("a CRF of word features counts 50 % beside the network: on ")
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert metadata["dev_score"] == pytest.approx(score_of(tmp_path))
    assert (metadata["epoch"], "scores" in metadata) == (1, False)  # the run is not finished
    resumed = train(tiny.config(tmp_path, SLOW, "train.max_epochs=2"), resume=True)
    assert resumed.epochs[0].score == epoch.score


def test_a_run_that_is_stopped_before_its_first_epoch_ends_has_no_best_model(
    tmp_path: Path,
) -> None:
    heard = stopped(tmp_path, 2)
    assert not (tmp_path / "model" / "best").exists()
    assert (tmp_path / "model" / "last").exists()
    assert heard.notes == []


def test_a_finished_run_that_goes_on_and_is_stopped_keeps_its_model_until_a_better_one(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, SLOW, "train.max_epochs=1"))
    finished = files_of(tmp_path)
    assert {"dev.pred", "report.json", "report.txt"} <= finished.keys()
    stopped(tmp_path, 1, "train.max_epochs=9", resume=True)
    assert files_of(tmp_path) == finished


@pytest.mark.slow
def test_a_finished_run_that_goes_on_loses_the_reports_of_a_model_that_is_replaced(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, "train.lr=0.002", "train.max_epochs=1"))
    config = tiny.config(tmp_path, "train.lr=0.002", "train.max_epochs=9")
    listener = StopAt(STEPS)
    before = score_of(tmp_path)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop, resume=True)
    (epoch,) = listener.epochs
    assert epoch.is_best
    assert not {"dev.pred", "report.json", "report.txt"} & files_of(tmp_path).keys()
    assert score_of(tmp_path) > before - 0.05  # and not the few percent of the network alone
    report = train(config, resume=True).dev.to_dict()
    assert json.loads((tmp_path / "model" / "report.json").read_text())["dev"] == report


def test_the_model_of_an_epoch_that_a_time_limit_cut_is_named_before_it_is_replaced(
    tmp_path: Path,
) -> None:
    train(tiny.config(tmp_path, "train.max_minutes=0.00001"))
    heard = StopAt(10**6)
    train(tiny.config(tmp_path, "train.max_epochs=1"), heard, resume=True)
    best = tmp_path / "model" / "best"
    assert heard.notes[:2] == [
        "resuming after step 3",
        Says(best, "1", "replace"),
    ]
    again = StopAt(10**6)
    train(tiny.config(tmp_path, "train.max_epochs=1"), again, resume=True)
    assert not any("time limit" in note for note in again.notes)


def test_a_run_that_its_time_limit_ends_within_the_warm_up_says_so(tmp_path: Path) -> None:
    notes: list[str] = []

    class Notes(Listener):
        def on_note(self, text: str) -> None:
            notes.append(text)

    options = ["train.max_epochs=1000", "train.max_minutes=0.0001", "train.warmup_steps=5000"]
    trained = train(tiny.config(tmp_path, *options, "head.feature_crf=0"), Notes())
    assert trained.ended == "time"
    assert [note for note in notes if "within the warm-up of train.warmup_steps = 5,000" in note]


USUAL = {*RESULTS} - {GOLD}  # which only some runs write
NO_DEV = {"data.dev_file": "", "data.test_file": ""}
BARE = "\t".join("_" * 8)  # the other columns of a line of CoNLL-U that is no word


def of_file(report: Report) -> dict[str, object]:
    """The report of a run without what its files of predictions do not hold: no probabilities."""
    found = report.to_dict() | {"unknown": {}}
    return {key: value for key, value in found.items() if key != "areas"}


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
        assert scored(folder / f"{name}.pred") == of_file(report)
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
    assert scored(trained.folder / "dev.pred") == of_file(trained.dev)
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
        monkeypatch.setattr("tagkit.inference.score.prediction_files.is_pipe", lambda _: True)
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
    assert scored(trained.folder / "dev.pred") == of_file(trained.dev)
    first = (trained.folder / "dev.pred").read_text("utf-8").splitlines()[0].split("\t")
    assert first[:3] == tiny.lines(1, 2, columns=3)[0][0].split("\t")
    assert len(first) == 4


def test_of_texts_in_their_own_format(tmp_path: Path) -> None:
    trained = train(of_task(tmp_path, "classify"))
    assert (trained.folder / "dev.pred").read_text("utf-8").startswith("label\ttext\n")
    found = scored(tmp_path / "dev.tsv", trained.folder / "dev.pred")
    assert found == of_file(trained.dev)


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
    assert found == of_file(trained.dev)
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
    assert found == of_file(trained.dev)


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
    assert found == of_file(trained.dev)


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
    assert str(caught.value) == (Says(tmp_path / "model" / name, "resume=True"))
    monkeypatch.setattr(run_folder, "save_bundle", save)
    train(config, resume=True)


@pytest.mark.parametrize("name", ["dev.pred", "report.json"])
def test_a_disk_that_fills_up_is_said_and_the_model_has_its_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write = files.write_whole

    def full(path: Path, content: bytes) -> None:
        if path.name == name:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(files, "write_whole", full)
    config = tiny.config(tmp_path, "train.max_epochs=1")
    with pytest.raises(CheckpointError) as caught:
        train(config)
    folder = tmp_path / "model"
    assert str(caught.value) == (Says(folder / name, "resume=True"))
    assert load_bundle(folder).metadata["scores"]["test"]["kind"] == "spans"
    assert not (folder / name).exists()
    # With room again the same command completes what is missing.
    monkeypatch.setattr(files, "write_whole", write)
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


def run_of(
    scores: dict[float, float], monkeypatch: pytest.MonkeyPatch, *, is_loss: bool = False
) -> tuple[Run, list[str], torch.Tensor]:
    """A run whose model scores so on dev with each share; its notes, and the share."""
    crf, notes = SimpleNamespace(share=torch.zeros(()), is_fitted=True, transitions=[0, 0]), []
    corpus = SimpleNamespace(dev=SimpleNamespace(sentences=[None] * 900))  # a margin of 0.01
    criterion = SimpleNamespace(is_loss=is_loss, key="f1", of_report=lambda report: report)
    run = SimpleNamespace(
        prepared=SimpleNamespace(model=SimpleNamespace(feature_crf=crf), corpus=corpus),
        criterion=criterion,
        processes=SimpleNamespace(from_first_rank=lambda number: number),
        listener=SimpleNamespace(on_note=notes.append),
    )  # fmt: skip

    def scored(_: Any) -> SimpleNamespace:
        share = round(float(crf.share), 3)
        return SimpleNamespace(report=scores[share], share=share)

    monkeypatch.setattr(run_end, "_annotated_by", scored)
    return cast(Run, run), notes, crf.share


@pytest.mark.parametrize(
    ("scores", "share", "note"),
    [
        ((0.62, 0.61, 0.61, 0.6), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.61, 0.62, 0.6, 0.6), 0.7,
         "a CRF of word features counts 70 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.61, 0.6, 0.62, 0.6), 0.3,
         "a CRF of word features counts 30 % beside the network: on dev 62.00, and 60.00 without "
         "it"),
        ((0.2, 0.1, 0.3, 0.311), 0.0,
         "a CRF of word features counts nothing: on dev the network alone has 31.10, and 30.00 "
         "with it"),
        # The best epoch was chosen by the network's scores, so that more is asked of these.
        ((0.2, 0.1, 0.3, 0.309), 0.3,
         "a CRF of word features counts 30 % beside the network: on dev 30.00, and 30.90 without "
         "it, which dev is too small to tell from chance"),
        # Equal: nothing speaks against it.
        ((0.6, 0.6, 0.6, 0.6), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 60.00 with it and without "
         "it"),
        ((0.0, 0.0, 0.0, 0.0), 0.5,
         "a CRF of word features counts 50 % beside the network: on dev 0.00 with it and without "
         "it"),
    ],
)  # fmt: skip
def test_the_share_that_is_best_on_dev_stays_and_the_note_says_what_it_brought(
    monkeypatch: pytest.MonkeyPatch, scores: tuple[float, ...], share: float, note: str
) -> None:
    run, notes, kept = run_of(dict(zip(SHARES, scores, strict=True)), monkeypatch)
    found = cast(Any, score_dev(run))
    assert (found.share, float(kept)) == (share, pytest.approx(share))
    assert notes == [note]


def test_dev_is_that_of_the_report_of_the_model_and_of_the_file_that_are_saved(
    tmp_path: Path,
) -> None:
    listener = StopAt()
    # So weak a network that the CRF is better on its own.
    weak = "train.max_epochs=1", "train.lr=0.0001"
    trained = train(tiny.config(tmp_path, *weak), listener)
    crf = trained.predictor.model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5
    assert trained.best.score == trained.dev.headline > trained.epochs[0].score
    assert trained.best.scores == trained.dev.parts()
    assert "50 % beside the network" in listener.notes[-1]
    loaded = tagkit.load(tmp_path / "model", device="cpu")
    dev = gold_split(loaded, str(tmp_path / "dev.conll"), DataConfig())
    assert loaded.score(dev).to_dict()["micro"] == trained.dev.to_dict()["micro"]
    metadata = json.loads((tmp_path / "model" / "best" / "metadata.json").read_text())
    assert metadata["dev_score"] == pytest.approx(trained.dev.headline)
    last = tagkit.load(tmp_path / "model" / "last", device="cpu")
    assert last.model.feature_crf is not None
    assert float(last.model.feature_crf.share) == 0  # `last` is the network alone, as its score


def test_where_the_loss_ranks_epochs_it_stays_the_score_of_the_best(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=2", "train.lr=0.0001", "train.metric=loss")
    trained = train(config)
    assert trained.best in trained.epochs
    crf = trained.predictor.model.feature_crf
    assert crf is not None
    assert float(crf.share) == 0.5  # chosen by F1


@pytest.mark.parametrize(
    ("limited", "note"),
    [
        (False, Says("weights")),
        (True, Says("weights")),
    ],
)
def test_a_crf_without_weights_counts_nothing(
    monkeypatch: pytest.MonkeyPatch, limited: bool, note: str
) -> None:
    run, notes, share = run_of({0.0: 0.4}, monkeypatch)
    cast(Any, run.prepared.model.feature_crf).is_fitted = False
    cast(Any, run).budget = SimpleNamespace(is_limited=limited)
    assert cast(Any, score_dev(run)).report == 0.4
    assert float(share) == 0
    assert notes == [note]


@pytest.mark.parametrize("minutes", [0.0, 0.0001, 5.0])
def test_a_finished_run_that_is_resumed_with_another_time_limit_keeps_its_model(
    tmp_path: Path, minutes: float
) -> None:
    options = "train.max_epochs=1", "train.lr=0.0001"
    first = train(tiny.config(tmp_path, *options))
    file = tmp_path / "model" / "best" / "model.safetensors"
    saved = file.read_bytes()
    again = train(tiny.config(tmp_path, *options, f"train.max_minutes={minutes}"), resume=True)
    assert file.read_bytes() == saved
    assert again.dev.to_dict() == first.dev.to_dict()


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_crf_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A clock may end the search at any other point; and it may take half a minute.
    def again(*_: Any) -> None:
        pytest.fail("the CRF was fitted again")

    options = "train.max_epochs=2", "train.max_minutes=5"
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    whole, stopped = train(tiny.config(tmp_path / "whole", *options)), tmp_path / "stopped"
    with pytest.raises(Interrupted):
        train(tiny.config(stopped, *options), listener := StopAt(3), stop=listener.stop)
    monkeypatch.setattr(feature_crf, "fit", again)
    resumed = train(tiny.config(stopped, *options), resume=True)
    for name, tensor in whole.predictor.model.state_dict().items():
        if name.startswith("feature_crf"):
            assert torch.equal(tensor, resumed.predictor.model.state_dict()[name]), name


def test_processes_take_what_the_first_one_has_fitted(tmp_path: Path) -> None:
    prepared = prepare(tiny.config(tmp_path, "train.max_minutes=5"), torch.device("cpu"))
    crf = prepared.model.feature_crf
    assert crf is not None
    first = {name: tensor + 1 for name, tensor in crf.state_dict().items()}
    names = iter(first)

    def gather(tensor: torch.Tensor) -> torch.Tensor:
        return torch.stack((first[next(names)], tensor))

    processes = SimpleNamespace(count=2, rank=1, gather=gather)
    RunState(prepared, cast(Processes, processes), print).broadcast_fitted()
    for name, tensor in crf.state_dict().items():
        assert torch.equal(tensor, first[name]), name


@pytest.mark.slow
def test_a_search_that_time_has_ended_at_once_is_made_up_for_where_there_is_more(
    tmp_path: Path,
) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    train(tiny.config(whole, "train.max_epochs=2"))
    first = train(tiny.config(cut, "train.max_epochs=2", "train.max_minutes=0.0001"))
    assert first.predictor.model.feature_crf is not None
    assert not first.predictor.model.feature_crf.is_fitted
    train(tiny.config(cut, "train.max_epochs=2"), resume=True)
    files = [each / "model" / "best" / "model.safetensors" for each in (whole, cut)]
    weights = [load_file(file) for file in files]
    for name in weights[0]:
        if name.startswith("feature_crf") and not name.endswith("share"):
            assert torch.equal(weights[0][name], weights[1][name]), name


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classify", "both"])
def test_a_stopped_run_goes_on_with_the_linear_model_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    def again(*_: Any) -> None:
        pytest.fail("it was fitted again")

    configs = [
        of_task(tmp_path / name, task, "train.max_epochs=2", "head.bag_of_words=64")
        for name in ("whole", "stopped")
    ]
    whole = train(configs[0])
    with pytest.raises(Interrupted):
        train(configs[1], listener := StopAt(3), stop=listener.stop)
    monkeypatch.setattr(BagOfWords, "fit", again)
    resumed = train(configs[1], resume=True)
    weights = [each.predictor.model.state_dict() for each in (whole, resumed)]
    names = [name for name in weights[0] if ".bag." in name]
    assert len(names) == 3
    assert weights[0]["class_head.bag.weight"].any()
    for name in weights[0]:
        assert torch.equal(weights[0][name], weights[1][name]), name


def epoch(number: int, loss: float, score: float, *, best: bool = False) -> Epoch:
    return Epoch(number, 10 * number, loss, score, {}, 0.003, 9000.0, 2.0, best, True)


F1 = find_criterion(AUTO, [Kind.SPANS], "F1")
EPOCHS = [epoch(1, 8.0, 0.5, best=True), epoch(2, 4.0, 0.75, best=True), epoch(3, 1.0, 0.6)]


SVG = "{http://www.w3.org/2000/svg}"


def drawn(epochs: Sequence[Epoch], criterion: Criterion = F1) -> ElementTree.Element:
    return ElementTree.fromstring(drawn_curves(epochs, criterion))


def places(curve: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in curve.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_a_picture_has_the_loss_and_the_score_of_each_epoch(tmp_path: Path) -> None:
    root = drawn(EPOCHS)
    # The space around the points is a twentieth of the area, 320 by 215, at each side. SVG counts y
    # from the top. Losses are 8, 4 and 1; scores 50, 75 and 60.
    left, middle, right, top, height = 81.0, 225.0, 369.0, 45.75, 193.5
    loss, score = map(places, root.iter(f"{SVG}polyline"))
    assert [x for x, _ in loss] == [x for x, _ in score] == [left, middle, right]
    assert [y for _, y in loss] == pytest.approx(
        [top, top + 4 / 7 * height, top + height], abs=0.06
    )
    assert [y for _, y in score] == pytest.approx([top + height, top, top + 0.6 * height], abs=0.06)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == [
        "epoch 1, train: 8", "epoch 2, train: 4", "epoch 3, train: 1", "best epoch: 2",
        "epoch 1, dev: 50", "epoch 2, dev: 75", "epoch 3, dev: 60",
    ]  # fmt: skip


def test_a_picture_has_axes_with_round_numbers(tmp_path: Path) -> None:
    texts = [text.text for text in drawn(EPOCHS).iter(f"{SVG}text")]
    losses = ["2", "4", "6", "8"]
    scores = ["50", "55", "60", "65", "70", "75"]
    assert texts == [
        "loss", "1", "2", "3", *losses, "epoch", "loss (nats)",
        "dev F1", "1", "2", "3", *scores, "epoch", "dev score",
    ]  # fmt: skip


def test_the_loss_on_dev_is_a_second_curve_with_a_legend(tmp_path: Path) -> None:
    epochs = [replace(each, dev_loss=0.5 * each.loss) for each in EPOCHS]
    root = drawn(epochs)
    assert len(list(root.iter(f"{SVG}polyline"))) == 3
    assert [text.text for text in root.iter(f"{SVG}text")][10:13] == ["train", "dev", "dev F1"]
    # An epoch without one leaves it out, as a curve with a gap would be read as a line.
    root = drawn([*epochs[:2], EPOCHS[2]])
    assert len(list(root.iter(f"{SVG}polyline"))) == 2


def test_one_epoch_and_equal_values_are_drawn_in_the_middle(tmp_path: Path) -> None:
    curves = [places(curve) for curve in drawn(EPOCHS[:1]).iter(f"{SVG}polyline")]
    assert curves == [[(225.0, 142.5)], [(225.0, 142.5)]]


def test_a_label_with_a_character_of_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    root = drawn(EPOCHS, replace(F1, name="F1 of <R&D>"))
    assert "dev F1 of <R&D>" in [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.slow
def test_tensorboard_is_told_of_each_epoch(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trained = train(tiny.config(tmp_path, "train.tracker=tensorboard"))
    events = EventAccumulator(str(tmp_path / "model" / "tensorboard"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["dev", "dev loss", "loss", "lr", "tokens/s"]
    told = [(event.step, event.value) for event in events.Scalars("dev")]
    assert told == [(e.step, pytest.approx(e.score)) for e in trained.epochs]


def test_a_tracker_that_is_not_installed_is_an_error_that_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.processes.distributed.has_tensorboard", lambda: False)
    with refuses(ConfigError, "'tagkit[tensorboard]'"):
        train(tiny.config(tmp_path, "train.tracker=tensorboard"))
