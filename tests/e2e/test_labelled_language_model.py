"""A language model of texts given their label, from corpus to text and report, by commands."""

import json
import math
import random
from pathlib import Path

import pytest
from program import Program
from runs import whole_and_stopped
from says import Says, refuses

from tagkit.config import Config, load_config
from tagkit.errors import DataError
from tagkit.evaluation.reports.language_report import LanguageReport
from tagkit.inference.generate.text_generator import load_language_model
from tagkit.inference.score.evaluate import evaluate
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow
FOOD = {"cat": "fish", "cow": "grass", "bee": "nectar"}


def settings(folder: Path, output: Path, *options: str) -> Config:
    """Who eats is the label, and not in the text: only the label says what follows."""
    flags = {"task": "language-model", "output.dir": str(output)}
    for name, count in (("train", 240), ("dev", 30), ("test", 30)):
        dice = random.Random(name)
        lines = []
        for _ in range(count):
            who = dice.choice(sorted(FOOD))
            age = dice.choice(["old", "young", "wild"])
            lines.append(f"{who}\tthe {age} one often eats {FOOD[who]}")
        path = folder / f"{name}.tsv"
        path.write_text("".join(f"{line}\n" for line in lines))
        flags[f"data.{name}_file"] = str(path)
    small = [
        "data.condition=label", "embeddings.word_dim=12", "encoder.hidden=16",
        "encoder.locked_dropout=0.1", "encoder.word_dropout=0", "train.max_epochs=12",
        "train.batch_size=8", "train.lr=0.02", "train.device=cpu",
    ]  # fmt: skip
    named = {option.partition("=")[0] for option in options}  # which count less than flags
    own = {name: value for name, value in flags.items() if name not in named}
    return load_config(None, [*small, *options], own)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


def test_a_label_says_what_follows_and_a_text_which_label_it_has(
    tmp_path: Path, program: Program
) -> None:
    model = tmp_path / "model"
    trained = train(settings(tmp_path, model))
    assert isinstance(trained.test, LanguageReport)
    # Of seven units, the end among them, the label leaves one of three to chance.
    assert math.exp(math.log(3) / 7) < trained.test.perplexity < 1.25
    assert trained.test.parts()["class_accuracy"] == 1
    found = json.loads(program("eval", model, tmp_path / "test.tsv", "--json").out)
    assert found == json.loads((model / "report.json").read_text())["test"]
    assert Says("accuracy of classes", "1.0000", "30 of 30") == (
        program("eval", model, tmp_path / "test.tsv").out
    )
    for who, food in FOOD.items():
        text = program("generate", model, "--label", who, "--greedy").out
        assert text.split()[-1] == food
        reader = load_language_model(model, label=who)
        (own,), (other,) = (
            [*reader.score([f"the old one often eats {each}"])] for each in (food, "stones")
        )
        assert own.log_probability > other.log_probability
    with refuses(DataError, "label", "bee", "cat", "cow"):
        load_language_model(model)
    with refuses(DataError, "label", "'dog'"):
        load_language_model(model, label="dog")
    # Training goes on from what it knows of labels.
    further = settings(tmp_path, tmp_path / "further", f"train.init_from={model}", "train.lr=1e-9")
    again = train(further)
    assert isinstance(again.test, LanguageReport)
    assert again.test.perplexity == pytest.approx(trained.test.perplexity, rel=1e-3)
    # A text of another class is read as if its class were not known.
    lines = [f"{who}\tthe old one often eats fish\n" for who in ("cat", "dog")]
    scores = []
    for line in lines:
        (tmp_path / "one.tsv").write_text(line)
        report = evaluate(tmp_path / "one.tsv", model=model, device="cpu")
        assert isinstance(report, LanguageReport)
        scores.append((report.perplexity, report.classes_right))
    assert scores[0][0] < scores[1][0]
    assert [right for _, right in scores] == [1, 0]


@pytest.mark.parametrize(
    "options",
    [
        ("head.end=length", "decoder.context=both", "head.free_running=2"),
        ("encoder.cell=transformer", "encoder.heads=2", "head.sampling=constant"),
        ("data.unit=character", "head.end=halt"),
    ],
    ids="+".join,
)
def test_a_run_that_is_stopped_goes_on_bit_for_bit_and_its_model_says_the_same(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    few = ("train.max_epochs=2", "data.context=line", "train.checkpoint_every=9", *options)
    trained, _ = whole_and_stopped(tmp_path, 11, lambda place: settings(tmp_path, place, *few))
    assert isinstance(trained.test, LanguageReport)
    lines = [each.split("\t") for each in (tmp_path / "test.tsv").read_text().splitlines()]
    nats = 0.0
    for who in FOOD:
        reader = load_language_model(trained.folder, "cpu", who)
        own = [text for label, text in lines if label == who]
        nats -= sum(each.log_probability for each in reader.score(own))
    assert nats == pytest.approx(trained.test.nats, rel=1e-4)
