"""`tagkit calibrate`: probabilities change, are stored, and predictions stay as they are."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from program import Program

import tagkit as library
from tagkit.inference.calibrate import calibrate
from tagkit.storage.lock import locked

PARTS = ("model.safetensors", "config.toml", "vocabulary.json")


@pytest.fixture
def copied(home: Path, tmp_path: Path) -> Path:
    """A folder with a copy of the model and, so that it errs, gold tags that are in part wrong."""
    shutil.copytree(home / "model" / "best", tmp_path / "model")
    shutil.copy(home / "dev.conll", tmp_path / "right.conll")
    text = (home / "test.conll").read_text("utf-8")
    sentences = text.split("\n\n")
    for at in range(0, len(sentences), 4):
        sentences[at] = re.sub(r"\t[BI]-(PER|LOC)", "\tO", sentences[at])
    (tmp_path / "dev.conll").write_text("\n\n".join(sentences), "utf-8")
    return tmp_path


def test_probabilities_change_and_nothing_that_is_predicted(
    tagkit: Program, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    digests = [hashlib.sha256(Path("model", name).read_bytes()).digest() for name in PARTS]
    metadata = Path("model/metadata.json").read_bytes()
    text = "Ada visited New York . Bob met Ada ."
    before = library.load("model", "cpu")
    old, old_best = before.predict(text, confidence=True), before.n_best(text, 4)
    found = json.loads(tagkit("calibrate", "model", "dev.conll", "--json").out)
    (head,) = found["heads"]
    # A quarter of its spans are wrong there, and it is sure of nearly all.
    assert head["head"] == "tags"
    assert head["temperature"] > 1.5
    assert head["after"]["log_loss"] < head["before"]["log_loss"]
    after = library.load("model", "cpu")
    new, new_best = after.predict(text, confidence=True), after.n_best(text, 4)
    assert [token.tag for token in new.tokens] == [token.tag for token in old.tokens]
    assert [each.tags for each in new_best] == [each.tags for each in old_best]
    assert new.spans
    for one, other in zip(new.spans, old.spans, strict=True):
        assert (one.start, one.end, one.label) == (other.start, other.end, other.label)
        assert one.probability < other.probability  # type: ignore[operator]
    assert new_best[0].probability < old_best[0].probability
    assert digests == [hashlib.sha256(Path("model", name).read_bytes()).digest() for name in PARTS]
    info = tagkit("info", "model").out
    line = f"calibrated  on dev.conll: {found['sentences']:,} sentences; temperature of tags "
    assert f"{line}{head['temperature']:.3f}\n" in info
    # What eval measures with the stored temperature is what calibrate said.
    scores = json.loads(tagkit("eval", "model", "dev.conll", "--calibration", "--json").out)
    assert scores["calibration"]["count"] == head["after"]["count"]
    assert scores["calibration"]["ece"] == pytest.approx(head["after"]["ece"], abs=1e-6)
    assert not [path for path in Path("model").iterdir() if path.name.startswith(".")]
    ended = tagkit("calibrate", "model", "--reset")
    assert (ended.code, ended.out) == (0, "")
    assert Path("model/metadata.json").read_bytes() == metadata
    again = tagkit("calibrate", "model", "--reset")
    assert (again.code, again.out) == (1, "")
    assert again.err.endswith("model: expected a calibrated model, found one that is not\n")


def test_before_and_after_are_shown_side_by_side(tagkit: Program, copied: Path) -> None:
    ended = tagkit("calibrate", copied / "model", copied / "dev.conll")
    assert re.match(
        r"tags: temperature \d\.\d{3}, fitted to \d+ spans\n +before +after\n", ended.out
    )
    assert re.search(r"^ECE +0\.\d{4} +0\.\d{4}$", ended.out, re.M)
    assert re.search(r"^log loss +\d\.\d{4} +\d\.\d{4}$", ended.out, re.M)
    assert ended.out.endswith(f"\nstored in {copied / 'model' / 'metadata.json'}\n")


def test_without_an_error_to_learn_from_probabilities_stay_as_they_are(
    tagkit: Program, copied: Path
) -> None:
    # Gold tags that the model itself has predicted.
    predicted = copied / "predicted.conll"
    tagkit("predict", copied / "model", copied / "right.conll", "-o", predicted)
    ended = tagkit("calibrate", copied / "model", predicted, "--json")
    (head,) = json.loads(ended.out)["heads"]
    assert head["temperature"] == 1
    assert head["before"] == head["after"]
    expected = (
        "the probabilities of tags stay as they are: expected predictions that are right and "
        f"others that are wrong, all {head['before']['count']:,} spans are right\n"
    )
    assert expected in ended.err


def test_a_folder_that_a_run_uses_is_refused(tagkit: Program, home: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(home / "model", run)
    before = (run / "best" / "metadata.json").read_bytes()
    with locked(run, print):
        for model in (run, run / "best"):
            ended = tagkit("calibrate", model, home / "dev.conll")
            assert (ended.code, ended.out) == (1, "")
            assert f"{run}: in use by process " in ended.err
    assert (run / "best" / "metadata.json").read_bytes() == before


def test_a_model_of_classes_is_calibrated_by_its_most_probable_class(
    intents: Path, tmp_path: Path
) -> None:
    shutil.copytree(intents / "model" / "best", tmp_path / "model")
    lines = (intents / "test.tsv").read_text("utf-8").splitlines()
    wrong = [line.replace("greet", "leave") if at % 3 else line for at, line in enumerate(lines)]
    (tmp_path / "dev.tsv").write_text("\n".join([lines[0], *wrong[1:]]) + "\n", "utf-8")
    old = library.load(tmp_path / "model", "cpu").predict("good morning , Ada .")
    (head,) = calibrate(tmp_path / "model", tmp_path / "dev.tsv", device="cpu").heads
    assert (head.head, head.before.name, head.before.count) == ("classes", "texts", 20)
    assert head.after.log_loss < head.before.log_loss
    new = library.load(tmp_path / "model", "cpu").predict("good morning , Ada .")
    assert new.labels == old.labels
    assert [score.label for score in new.scores] == [score.label for score in old.scores]
    # A temperature above 1 makes the most probable class less so.
    lower = new.scores[0].probability < old.scores[0].probability
    assert lower == (head.temperature > 1)
    assert new.scores[0].probability != old.scores[0].probability


def test_one_of_file_and_reset_is_wanted(tagkit: Program) -> None:
    for arguments in (["m"], ["m", "dev", "--reset"]):
        ended = tagkit("calibrate", *arguments)
        assert ended.code == 2
        assert ended.err.endswith("expected either MODEL DEV, or MODEL --reset\n")
