"""`tagkit calibrate`: probabilities change, are stored, and predictions stay as they are."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from program import Program
from says import Says

import tagkit as library
from tagkit.inference.score.calibrate import calibrate
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
    assert Says("model", "calibrated") == again.err


def test_that_a_calibration_is_removed_is_said_as_json_too(tagkit: Program, copied: Path) -> None:
    model = copied / "model"
    assert tagkit("calibrate", model, copied / "dev.conll").code == 0
    ended = tagkit("calibrate", model, "--reset", "--json")
    assert json.loads(ended.out) == {"model": str(model), "removed": True}
    assert ended.err == ""


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
    assert ended.err == Says("tags", f"all {head['before']['count']:,} spans")


def test_what_was_not_fitted_is_not_said_to_be_and_may_be_calibrated_again(
    tagkit: Program, copied: Path
) -> None:
    predicted = copied / "predicted.conll"
    tagkit("predict", copied / "model", copied / "right.conll", "-o", predicted)
    for _ in range(2):
        ended = tagkit("calibrate", copied / "model", predicted)
        assert ended.code == 0
        first = ended.out.splitlines()[0]
        assert first.startswith("tags: temperature 1.000, not fitted to these ")
        found = tagkit("calibrate", copied / "model", predicted, "--json")
        assert not json.loads(found.out)["heads"][0]["is_fitted"]
    fitted = tagkit("calibrate", copied / "model", copied / "dev.conll", "--json")
    assert json.loads(fitted.out)["heads"][0]["is_fitted"]


def test_a_file_without_an_error_is_refused_where_there_is_an_earlier_calibration(
    tagkit: Program, copied: Path
) -> None:
    tagkit("calibrate", copied / "model", copied / "dev.conll")
    before = (copied / "model" / "metadata.json").read_bytes()
    predicted = copied / "predicted.conll"
    tagkit("predict", copied / "model", copied / "right.conll", "-o", predicted)
    ended = tagkit("calibrate", copied / "model", predicted)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.endswith(
        f"{predicted}: the model keeps its calibration on {copied / 'dev.conll'}, as none can be "
        "fitted to this file\n"
    )
    assert (copied / "model" / "metadata.json").read_bytes() == before


def test_a_file_with_other_labels_is_refused_and_the_calibration_kept(
    tagkit: Program, copied: Path
) -> None:
    tagkit("calibrate", copied / "model", copied / "dev.conll")
    before = (copied / "model" / "metadata.json").read_bytes()
    other = copied / "other.conll"
    text = (copied / "right.conll").read_text("utf-8")
    other.write_text(re.sub("-(PER|LOC)", "-DRUG", text), "utf-8")
    ended = tagkit("calibrate", copied / "model", other)
    assert (ended.code, ended.out) == (1, "")
    assert Says(other, "probabilities") == ended.err
    assert (copied / "model" / "metadata.json").read_bytes() == before


def test_a_folder_that_a_run_uses_is_refused(tagkit: Program, home: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(home / "model", run)
    before = (run / "best" / "metadata.json").read_bytes()
    with locked(run, print):
        for model in (run, run / "best"):
            ended = tagkit("calibrate", model, home / "dev.conll")
            assert (ended.code, ended.out) == (1, "")
            assert f"{run}: in use by process " in ended.err
            # It has no option for another folder.
            assert ended.err.endswith("; wait until it ends\n")
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
        assert Says("MODEL", "DEV", "--reset") == ended.err


def test_sets_are_predicted_and_evaluated_with_a_calibrated_model(
    tagkit: Program, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    said = tagkit("calibrate", "model", "dev.conll").out
    assert re.search(r"^tags: sets of coverage 0\.5 to 0\.\d+, from 20 answers$", said, re.M)
    asked = ("predict", "model", "--coverage", "0.8", "--format", "jsonl")
    record = json.loads(tagkit(*asked, stdin=b"Ada visits New York. Ben met Ada.").out)
    assert record["coverage"] == 0.8
    assert len(record["sets"]) == 2
    tags = [token["tag"] for token in record["tokens"]]
    assert [tag for each in record["sets"] for tag in each["taggings"][0]["tags"]] == tags
    assert {"text": "New York", "start": 11, "end": 19, "label": "LOC"} in record["spans"]
    for each in record["sets"]:
        assert each["size"] == len(each["taggings"])
        assert each["reached_limit"] is False
        for tagging in each["taggings"]:
            assert set(tagging) == {"probability", "tags", "spans"}
            for span in tagging["spans"]:
                assert record["text"][span["start"] : span["end"]] == span["text"]
    shown = tagkit("eval", "model", "dev.conll", "--coverage", "0.8").out
    found = json.loads(tagkit("eval", "model", "dev.conll", "--coverage", "0.8", "--json").out)
    report = found["sets"]["tags"]
    assert report["covered"] >= 0.8
    assert report["count"] == 20
    largest = f"{report['at_limit']:.4f} of sets" if report["at_limit"] else "no set"
    assert (
        f"sets of tags at coverage 0.8: {report['covered']:.4f} of 20 sets hold the gold tags, one "
        f"of each sentence; standard error {report['standard_error']:.4f}\n"
        f"size: median {report['median_size']:g}, mean {report['mean_size']:.2f}, 90th percentile "
        f"{report['p90_size']:g}; {largest} reached the limit of 100 taggings\n"
    ) in shown
    assert library.evaluate_sets("dev.conll", 0.8, model="model")["tags"].to_dict() == report
    paged = tagkit("eval", "model", "dev.conll", "--coverage", "0.8", "--html", "page.html")
    assert paged.out == shown
    assert "Sets of answers" in Path("page.html").read_text("utf-8")
    tagkit("eval", "model", "dev.conll", "--html", "page.html")  # not asked for
    assert "Sets of answers" not in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--coverage", "0.8"], Says("--coverage", "--format")),
        (["--coverage", "0.97", "--format", "jsonl"],
         Says("--coverage", "0.97", "33", "20")),
        (["--coverage", "1", "--format", "jsonl"],
         Says("--coverage", "0.5", "0.99", "1.0")),
        (["--coverage", "0.8", "--min-confidence", "0.5", "--format", "jsonl"],
         Says("--coverage", "--min-confidence")),
    ],
)  # fmt: skip
def test_predict_refuses_sets_that_it_cannot_give(
    tagkit: Program,
    copied: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(copied)
    uncalibrated = tagkit("predict", "model", *arguments, stdin=b"Ada").err
    if "0.97" in arguments:
        assert uncalibrated == Says("--coverage 0.97", "(tagkit calibrate)")
    tagkit("calibrate", "model", "dev.conll")
    assert tagkit("predict", "model", *arguments, stdin=b"Ada").err == message


def test_eval_refuses_sets_without_a_model_or_of_standard_input(tagkit: Program) -> None:
    wrong = tagkit("eval", "--gold", "a.conll", "--coverage", "0.9").err
    assert Says("--coverage", "--gold").within(wrong)
    wrong = tagkit("eval", "model", "-", "--coverage", "0.9").err
    assert Says("--coverage").within(wrong)


def test_a_classifier_writes_the_set_of_classes(
    tagkit: Program, intents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(intents / "model" / "best", "model")
    tagkit("calibrate", "model", intents / "dev.tsv")
    asked = ("predict", "model", "--coverage", "0.9", "--format", "jsonl")
    record = json.loads(tagkit(*asked, stdin=b"bring me tea").out)
    assert "sets" not in record
    assert record["class_set"][0]["label"] == record["label"] == "order"
    assert set(record["class_set"][0]) == {"label", "probability"}


def test_eval_measures_a_file_of_predictions_as_it_measures_the_model(
    tagkit: Program, home: Path, tmp_path: Path
) -> None:
    model, gold, predicted = home / "model", home / "test.conll", tmp_path / "found.jsonl"
    tagkit("predict", model, gold, "--format", "jsonl", "--confidence", "-o", predicted)
    options = ["--calibration", "--json"]
    of_model = json.loads(tagkit("eval", model, gold, *options).out)["calibration"]
    of_file = json.loads(tagkit("eval", "--gold", gold, "--pred", predicted, *options).out)
    assert of_file["calibration"]["count"] == of_model["count"] > 0
    # A file holds six decimals.
    assert of_file["calibration"]["ece"] == pytest.approx(of_model["ece"], abs=1e-5)
    assert of_file["calibration"]["log_loss"] == pytest.approx(of_model["log_loss"], abs=1e-4)
    out = tagkit("eval", model, gold, "--calibration").out
    assert f"\n\ncalibration of {of_model['count']} spans\nECE " in out
    tagkit("predict", model, gold, "-o", tmp_path / "found.conll")
    ended = tagkit("eval", "--gold", gold, "--pred", tmp_path / "found.conll", "--calibration")
    assert (ended.code, ended.out) == (1, "")
    assert Says("calibration", "jsonl") == ended.err


def test_a_file_in_which_the_model_predicts_nothing_leaves_the_calibration_as_it_is(
    tagkit: Program, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    tagkit("calibrate", "model", "dev.conll", "--json")
    stored = Path("model/metadata.json").read_bytes()
    Path("other.conll").write_text("likes\tB-PER\n\nvisits\tB-LOC\n", "utf-8")
    ended = tagkit("calibrate", "model", "other.conll")
    assert ended.code == 1
    assert Says("probabilities").within(ended.err)
    assert Path("model/metadata.json").read_bytes() == stored


def test_where_there_are_no_sets_the_reason_is_given(
    tagkit: Program, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    first, *others = Path("right.conll").read_text("utf-8").split("\n\n")[:6]
    wrong = [re.sub(r"\t.*", "\tB-LOC", sentence) for sentence in others]
    Path("odd.conll").write_text("\n\n".join([first, *wrong]) + "\n", "utf-8")
    sets = json.loads(tagkit("calibrate", "model", "odd.conll", "--json").out)["sets"]["tags"]
    assert 1 <= sets["found"] < 3  # the first, and at most one that is improbable and short
    assert tagkit("calibrate", "model", "odd.conll").out.splitlines()[-3] == (
        "tags: no sets, from 6 answers: the right one is among the 100 most probable in "
        f"{sets['found']} of them; more answers, or a better model, would give some"
    )


def test_several_classes_that_are_all_decided_rightly_keep_their_temperature(
    tagkit: Program, tmp_path: Path
) -> None:
    path, model = tmp_path / "texts.jsonl", tmp_path / "model"
    texts = {"a b": ["u", "v"], "c d": [], "e f": ["u"], "g h": ["w"]}
    records = [{"text": text, "labels": labels} for text, labels in texts.items()] * 8
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    run = ("train", "--task", "classify", "--train", path, "--dev", path, "-o", model, "--quiet",
           "--set", "encoder.hidden=8", "--set", "train.max_epochs=4")  # fmt: skip
    assert tagkit(*run).code == 0
    assert "classes right 1.0000 of 32 texts" in tagkit("eval", model, path).out
    ended = tagkit("calibrate", model, path)
    assert ended.out.startswith("classes: temperature 1.000, not fitted to these 96 classes\n")
    assert "all 96 classes are right\n" in ended.err
    # One text with another gold class, and there is a best temperature.
    records[0]["labels"] = ["u"]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    assert "fitted to 96 classes" in tagkit("calibrate", model, path).out
