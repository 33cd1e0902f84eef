"""A task that writes a string for each text walks every road without a change outside itself."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from initials import InitialsTask, initials
from program import Program
from says import Says, refuses
from toy_tasks import StopAfter, row_of

import tagkit
from tagkit.config import Config
from tagkit.errors import DataError, Interrupted
from tagkit.models.answers.kind import Style
from tagkit.storage import digest_of
from tagkit.text.records import Sentence, StringAnswer
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train

TEXT = "Ada visits Rome .\n\nBen leaves Oslo .\n"


@pytest.fixture(autouse=True, scope="module")
def row() -> Iterator[None]:
    with row_of("initials", InitialsTask()):
        yield


def options(folder: Path, output: str) -> Config:
    return tiny.config(
        folder, "task=initials", "train.max_epochs=8", "train.lr=0.01", "train.checkpoint_every=7",
        f"output.dir={folder / output}",
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(row: None, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A run that was not stopped."""
    return train(options(tmp_path_factory.mktemp("initials"), "whole"))


def test_it_learns_and_keeps_what_it_predicted_of_dev(whole: Trained) -> None:
    assert whole.best.score >= 0.8
    rows = [
        json.loads(line) for line in (whole.folder / "dev.pred").read_text("utf-8").splitlines()
    ]
    right = [row["string"] == initials(Sentence(tuple(row["text"].split()))) for row in rows]
    assert sum(right) / len(right) == whole.best.score


def test_it_resumes_bit_for_bit(whole: Trained, tmp_path: Path) -> None:
    stopped = StopAfter(13)
    with pytest.raises(Interrupted):
        train(options(tmp_path, "resumed"), stopped, stop=stopped.event)
    resumed = train(options(tmp_path, "resumed"), resume=True)
    ours, theirs = (run.folder / "best" / "model.safetensors" for run in (whole, resumed))
    assert digest_of(ours) == digest_of(theirs)


def test_programs_get_strings_alone_in_batches_and_in_a_stream(whole: Trained) -> None:
    model = tagkit.load(whole.folder)
    texts = ["Ada visits Rome .", "", "Ben leaves Oslo ."]
    found = model.predict(texts)
    assert [each.text for each in found] == ["AVR?", "", "BLO?"]
    assert [each.source for each in found] == texts
    for text, answer in zip(texts, found, strict=True):
        alone = model.predict(text)
        assert isinstance(alone, StringAnswer)
        assert (alone.source, alone.text) == (answer.source, answer.text)
        assert alone.log_probability == pytest.approx(answer.log_probability)
    assert [each.text for each in model.stream(iter(texts), window_words=1)] == [
        each.text for each in found
    ]
    assert found[0].probability is not None
    assert 0 < found[0].probability <= 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("threshold", 0.5), ("min_confidence", 0.5), ("max_length", 7)],
)
def test_options_of_labels_are_refused(whole: Trained, option: str, value: float) -> None:
    with refuses(DataError, option):
        tagkit.load(whole.folder).predict("a", **{option: value})


def test_every_format_that_holds_strings_has_them(
    whole: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    program = Program(monkeypatch, capfdbinary)
    path = tmp_path / "texts.txt"
    path.write_text(TEXT, encoding="utf-8")
    model = tagkit.load(whole.folder)
    written = {}
    for format in (*model.answers.formats(probabilities=True), "show"):
        ended = program("predict", whole.folder, path, "--format", format, "--input-format", "text")
        assert ended.code == 0, ended.err
        written[format] = ended.out
    assert written["columns"] == "Ada visits Rome .\tAVR?\n\nBen leaves Oslo .\tBLO?\n"
    rows = [json.loads(line) for line in written["jsonl"].splitlines()]
    assert [(row["text"], row["string"], row["line"]) for row in rows] == [
        ("Ada visits Rome .", "AVR?", 1), ("Ben leaves Oslo .", "BLO?", 3),
    ]  # fmt: skip
    assert {*written} == {"columns", "jsonl", "html", "show"}
    for format in ("html", "show"):
        assert "AVR?" in written[format]
        assert "BLO?" in written[format]
    sure = program("predict", whole.folder, path, "--confidence", "--input-format", "text").out
    assert 0 < float(sure.splitlines()[0].split("\t")[2]) <= 1
    refused = program("predict", whole.folder, path, "--format", "conllu")
    assert refused.code == 1
    assert Says("--format", "columns").within(refused.err)


def test_workers_and_bad_records_are_as_for_labels(
    whole: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    program = Program(monkeypatch, capfdbinary)
    path = tmp_path / "records.jsonl"
    good, bad = '{"text": "Ada visits Rome ."}', '{"text": "Ben\\tleaves Oslo ."}'
    path.write_text(f"{good}\n{bad}\n{good}\n", encoding="utf-8")
    ended = program("predict", whole.folder, path)
    assert ended.code == 1
    assert f"{path}:2: " in ended.err
    assert ended.out == "Ada visits Rome .\tAVR?\n"
    skipped = program("predict", whole.folder, path, "--on-bad-record", "skip")
    assert (skipped.code, skipped.out) == (0, "Ada visits Rome .\tAVR?\n" * 2)
    assert f"{path}:2: " in skipped.err


def test_it_is_scored_and_compared_by_functions_and_by_commands(
    whole: Trained, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    program = Program(monkeypatch, capfdbinary)
    test = whole.folder.parent / "test.conll"
    report = tagkit.evaluate(test, model=whole.folder)
    assert report == whole.test
    scored = json.loads(program("eval", whole.folder, test, "--json").out)
    assert scored["accuracy"] == report.headline
    assert "accuracy" in program("eval", whole.folder, test).out
    systems = tagkit.compare(test, models={"last": whole.folder / "last", "best": whole.folder})
    (parts,) = systems.parts.values()
    assert [system.score for system in parts][1] == report.headline
    assert "a letter a word" in program("info", whole.folder).out


def test_its_answers_are_shown_as_pieces(whole: Trained) -> None:
    model = tagkit.load(whole.folder)
    shown = model.answers.shown(model.predict("Ada visits Rome ."), Style("show", model.answers))
    assert [piece.text for piece in shown.pieces] == ["Ada visits Rome . \u2192 AVR?"]
