"""Every kind of head is calibrated, and eval measures what calibrate has promised."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny
from typer.testing import CliRunner

import tagkit
from tagkit.cli.main import app
from tagkit.config import DataConfig
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import gold_split
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow  # a model of each kind is trained


@dataclass(frozen=True)
class Kind:
    """A kind of model: its corpus, its options, and what it is asked about."""

    corpus: Callable[[Path], dict[str, str]]
    options: tuple[str, ...]
    heads: tuple[str, ...]  # whose probabilities are calibrated
    wrong: tuple[tuple[str, str], ...]  # pattern and replacement in some lines of the gold labels
    judged: tuple[str, ...]  # what is predicted by each head


def several_classes(folder: Path) -> dict[str, str]:
    """Texts with one class or two: the second says whether somebody is Ada or Ben."""
    for name, (count, seed) in {"train": (90, 1), "dev": (30, 2), "test": (20, 3)}.items():
        rows = []
        for label, text in tiny.texts(count, seed):
            is_known = text.split()[-2] in ("Ada", "Ben")
            rows.append(f"__label__{label} {'__label__known ' if is_known else ''}{text}\n")
        (folder / f"{name}.ft").write_text("".join(rows), encoding="utf-8")
    return {f"data.{name}_file": str(folder / f"{name}.ft") for name in ("train", "dev", "test")}


KINDS = {
    "joint": Kind(
        tiny.joint, ("task=both",), ("tags", "classes"),
        ((r"[BI]-PER", "O"), ("^long$", "short")), ("spans", "texts"),
    ),
    "several classes": Kind(
        several_classes, ("task=classify", "head.multi_label=yes"), ("classes",),
        (("__label__known ", ""),), ("classes",),
    ),
    "columns": Kind(
        tiny.treebank, ("data.tag_column=['UPOS','FEATS','LEMMA','MISC.NER']",),
        ("UPOS", "FEATS", "LEMMA", "MISC.NER"),
        (("PROPN", "NOUN"), ("Number=Sing", "Number=Plur"), (r"\t(visit|like)\t", r"\tx\t"),
         ("NER=B-PER", "NER=B-LOC")),
        ("tokens", "tokens", "tokens", "spans"),
    ),
    "feedback": Kind(
        tiny.corpus, ("head.kind=feedback", "head.feedback_hidden=12"), ("tags",),
        (("[BI]-PER", "O"),), ("spans",),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Trained:
    """A trained model and a corpus in which some gold labels are wrong."""

    kind: Kind
    model: Path
    dev: Path
    before: list[Any]  # its predictions of dev's sentences
    calibrated: dict[str, Any]  # what calibrate --json printed


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def with_errors(path: Path, wrong: tuple[tuple[str, str], ...]) -> None:
    """Put errors into the gold labels of a corpus, in three of its lines out of ten."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        lines = file.read_text("utf-8").split("\n")
        if file.name != "seq.in":
            for at in range(0, len(lines), 3):
                for pattern, other in wrong:
                    lines[at] = re.sub(pattern, other, lines[at])
        file.write_text("\n".join(lines), encoding="utf-8")


def answers(predictor: Predictor, dev: Path) -> list[Any]:
    """What is predicted, without probabilities."""
    sentences = gold_split(predictor, str(dev), DataConfig()).sentences
    found = predictor.annotate(sentences, batch_size=8, confidence=True)
    return [(each.tags, each.labels, [c.values for c in each.columns]) for each in found]


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    kind = KINDS[request.param]
    folder = tmp_path_factory.mktemp("heads")
    files = kind.corpus(folder)
    train(tiny.small(folder, "train.max_epochs=4", *kind.options, **files))
    model, dev = folder / "model" / "best", Path(files["data.dev_file"])
    with_errors(dev, kind.wrong)
    before = answers(tagkit.load(model, "cpu"), dev)
    return Trained(kind, model, dev, before, json.loads(run("calibrate", model, dev, "--json")))


def test_each_head_gets_a_temperature_and_no_prediction_changes(trained: Trained) -> None:
    heads = {head["head"]: head for head in trained.calibrated["heads"]}
    assert tuple(heads) == trained.kind.heads
    for head, judged in zip(heads.values(), trained.kind.judged, strict=True):
        assert head["temperature"] != 1
        assert head["after"]["log_loss"] < head["before"]["log_loss"]
        assert head["after"]["name"] == judged
    assert answers(tagkit.load(trained.model, "cpu"), trained.dev) == trained.before


def test_eval_measures_what_calibrate_has_said(trained: Trained, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = json.loads(
        run("eval", trained.model, trained.dev, "--calibration", "--json", "--html", page)
    )["calibration"]
    if len(trained.kind.heads) == 1:
        found = {trained.kind.heads[0]: found}
    for head in trained.calibrated["heads"]:
        measured, promised = found.pop(head["head"]), head["after"]
        assert measured["count"] == promised["count"]
        for number in ("ece", "brier", "log_loss"):
            assert measured[number] == pytest.approx(promised[number], abs=1e-6)
    assert found == {}
    shown = run("eval", trained.model, trained.dev, "--calibration")
    assert shown.count("\ncalibration of ") == len(trained.kind.heads)
    drawn = page.read_text("utf-8")
    assert drawn.count(">How sure it is") >= len(trained.kind.heads)


@pytest.mark.parametrize("trained", ["feedback"], indirect=True)
def test_sets_of_a_head_that_reads_its_own_tags_begin_with_the_prediction(
    trained: Trained, tmp_path: Path
) -> None:
    (found,) = tagkit.evaluate_sets(trained.dev, 0.6, model=trained.model, device="cpu").values()
    assert found.count == 20
    assert found.covered >= 0.6  # on what it was calibrated with
    asked = ("predict", trained.model, trained.dev, "--coverage", 0.6, "--format", "jsonl")
    output = tmp_path / "out.jsonl"
    run(*asked, "--device", "cpu", "-o", output)
    for line in output.read_text("utf-8").splitlines():
        record = json.loads(line)
        tags = [token["tag"] for token in record["tokens"]]
        assert [tag for each in record["sets"] for tag in each["taggings"][0]["tags"]] == tags


def test_an_audit_with_a_feedback_head_has_probabilities_of_both_sides(tmp_path: Path) -> None:
    files = tiny.corpus(tmp_path)
    train_file = Path(files["data.train_file"])
    with_errors(train_file, (("B-PER", "B-LOC"), ("I-PER", "I-LOC")))
    config = tiny.small(
        tmp_path, "head.kind=feedback", "head.feedback_hidden=12", "data.test_file=",
        **{"data.train_file": str(train_file)},
    )  # fmt: skip
    found = tagkit.audit(config, folds=2)
    assert len(found.doubts) >= 5
    for doubt in found.doubts:
        # Gold and prediction exclude each other.
        assert 0 <= doubt.gold_probability < 1
        assert doubt.gold_probability + doubt.predicted_probability < 1 + 1e-4
    planted = [doubt for doubt in found.doubts if {"LOC"} == {span[2] for span in doubt.gold}]
    assert found.doubts[0] in planted
