"""A task is one module and one row: a toy task walks the whole road by the commands' functions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from capitals import CapitalsTask, capitals
from toy_tasks import StopAfter, row_of
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.config import Config, load_config
from tagkit.errors import Interrupted
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import score_model
from tagkit.storage import digest_of
from tagkit.text.records import Sentence
from tagkit.training.events.callbacks import Epoch
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train


@pytest.fixture(autouse=True, scope="module")
def row() -> Iterator[None]:
    with row_of("capitals", CapitalsTask()):
        yield


def options(folder: Path, output: str) -> Config:
    return tiny.config(
        folder, "task=capitals", "train.max_epochs=6", "train.checkpoint_every=7",
        f"output.dir={folder / output}",
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(row: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run that was not stopped."""
    return train(options(tmp_path_factory.mktemp("capitals"), "whole"))


def test_it_learns_and_its_report_has_its_own_headline(whole: Trained) -> None:
    assert whole.best.score > 0.9
    assert whole.best.scores == {"exact": whole.best.score}
    assert whole.test is not None
    assert whole.test.headline == whole.test.to_dict()["exact"]
    lines = (whole.folder / "history.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["dev_scores"] == {"exact": whole.epochs[-1].score}


@pytest.mark.slow
@pytest.mark.parametrize("steps", [5, 13])
def test_it_resumes_bit_for_bit_with_what_it_carries_from_step_to_step(
    whole: Trained, tmp_path: Path, steps: int
) -> None:
    stopped = StopAfter(steps)
    with pytest.raises(Interrupted):
        train(options(tmp_path, "resumed"), stopped, stop=stopped.event)
    resumed = train(options(tmp_path, "resumed"), resume=True)
    for name in ("best", "last"):
        ours, theirs = (run.folder / name / "model.safetensors" for run in (whole, resumed))
        assert digest_of(ours) == digest_of(theirs), name
    assert [losses(epoch) for epoch in whole.epochs] == [losses(epoch) for epoch in resumed.epochs]


def losses(epoch: Epoch) -> tuple[float, float]:
    return epoch.loss, epoch.score


@pytest.mark.slow
def test_what_it_carries_matters_so_that_the_test_before_can_fail(
    whole: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = StopAfter(5)
    with pytest.raises(Interrupted):
        train(options(tmp_path, "resumed"), stopped, stop=stopped.event)
    monkeypatch.setattr(CapitalsTask, "restore", lambda *_: None)
    resumed = train(options(tmp_path, "resumed"), resume=True)
    ours, theirs = (run.folder / "last" / "model.safetensors" for run in (whole, resumed))
    assert digest_of(ours) != digest_of(theirs)


def test_a_saved_model_predicts_and_evaluates(whole: Trained) -> None:
    predictor = tagkit.load(whole.folder)
    assert isinstance(predictor, Predictor)
    sentence = Sentence(("Ada", "visits", "Rome", "."))
    (found,) = predictor.annotate([sentence], batch_size=1, confidence=False)
    assert found.labels == (str(capitals(sentence)),)
    data = load_config().data
    report = score_model(
        predictor, str(whole.folder.parent / "test.conll"), data, False, 32, lambda _: None
    )
    assert report == whole.test


@pytest.mark.slow
def test_the_commands_know_it(tmp_path: Path) -> None:
    files = tiny.corpus(tmp_path)
    model, texts = str(tmp_path / "model"), tmp_path / "texts.txt"
    texts.write_text("Ada visits Rome .\n", encoding="utf-8")

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, [*words])
        assert result.exit_code == 0, result.output
        return result.output

    shown = run(
        "train", "--task", "capitals", "--train", files["data.train_file"],
        "--dev", files["data.dev_file"], "--set", "train.max_epochs=4",
        "--set", "encoder.hidden=16", "-o", model,
    )  # fmt: skip
    assert "dev exact" in shown
    facts = run("info", model)
    assert "a sum" in facts
    assert re.search(r"^dev exact   [0-9.]+ \(counts\)$", facts, re.MULTILINE)
    assert run("predict", model, str(texts)).splitlines()[-1] == "2"
    shown = run("eval", model, files["data.test_file"], "--json")
    assert json.loads(shown.splitlines()[-1])["sentences"] == 20
    assert "exact" in run("eval", model, files["data.test_file"])

    # A part of train is dev: no file has gold labels of it, and the run needs none.
    run(
        "train", "--task", "capitals", "--train", files["data.train_file"],
        "--set", "train.max_epochs=1", "-o", str(tmp_path / "split"),
    )  # fmt: skip
    assert (tmp_path / "split" / "dev.pred").exists()
    assert not (tmp_path / "split" / "dev.gold").exists()
