"""A language model of prefixes and continuations, by commands: train, eval, predict, generate."""

import json
import random
from pathlib import Path

import pytest
from marks import mostly_slow
from peaks import peak_mb
from program import Program
from runs import whole_and_stopped
from says import Says, refuses

from tagkit.config import Config, load_config
from tagkit.errors import FormatError
from tagkit.inference.predict.predictor import load
from tagkit.training.trainer import train

pytestmark = pytest.mark.slow

FOOD = {"cats": "fish", "cows": "grass", "bees": "nectar"}


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Who eats, after words of no importance, and what."""
    numbers = random.Random(seed)
    found = []
    for _ in range(count):
        who = numbers.choice(sorted(FOOD))
        before = numbers.choices(["<sep>", "</s>", "old", "wild"], k=numbers.randrange(1, 4))
        found.append((" ".join([*before, who]), f"{who} eat {FOOD[who]}"))
    return found


def settings(folder: Path, *options: str) -> Config:
    for name, count, seed in (("train", 300, 1), ("dev", 40, 2), ("test", 40, 3)):
        lines = "".join(f"{prefix}\t{after}\n" for prefix, after in pairs(count, seed))
        (folder / f"{name}.tsv").write_text(lines)
    given = {f"data.{name}_file": str(folder / f"{name}.tsv") for name in ("train", "dev", "test")}
    small = [
        "data.context=line", "data.pairs=true", "data.loss_on=continuation",
        "embeddings.word_dim=12", "encoder.hidden=16", "train.max_epochs=6", "train.batch_size=8",
        "train.lr=0.03", "train.checkpoint_every=4", f"output.dir={folder / 'model'}",
    ]  # fmt: skip
    return load_config(None, [*small, *options], {"task": "language-model", **given})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    train(settings(folder))
    return folder


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


def test_a_model_learns_to_continue_and_eval_says_how_often(folder: Path, program: Program) -> None:
    model, test = folder / "model", folder / "test.tsv"
    found = json.loads(program("eval", model, test, "--json").out)
    assert found["exact_match"] == 1
    # All that could be known is in the prefix: three words and the end.
    assert found["perplexity"] == found["continuation_perplexity"] < 1.1
    assert (found["units"], found["lines"], found["counted"]) == (160, 40, "continuation")
    assert json.loads((model / "report.json").read_text())["test"] == found
    history = [json.loads(line) for line in (model / "history.jsonl").read_text().splitlines()]
    assert history[-1]["dev_scores"]["exact_match"] == 1
    text = program("eval", model, test).out
    assert "exact match 1.0000: 40 of 40 continuations as a greedy search writes them" in text
    assert Says("160", "0", "continuations").within(text)


def test_predict_writes_pairs_that_are_those_of_the_corpus(folder: Path, program: Program) -> None:
    model, test = folder / "model", folder / "test.tsv"
    prefixes = folder / "prefixes.txt"
    prefixes.write_text("".join(f"{prefix}\n" for prefix, _ in pairs(40, 3)))
    for options in ([], ["--beam", "3"], ["--workers", "2"], ["--batch-size", "1"]):
        assert program("predict", model, prefixes, *options).out == test.read_text()
    assert program("predict", model, test, test).out == 2 * test.read_text()
    rows = program("predict", model, "--format", "jsonl", stdin=b"old cows\n").out.splitlines()
    assert json.loads(rows[0])["continuation"] == "cows eat grass"
    short = program("predict", model, "--max-units", "2", stdin=b"old cows\n")
    assert short.out == "old cows\tcows eat\n"
    # The model has learnt what follows a tab: it is there whether a prompt ends with it or not.
    for given in ("old bees\t", "old bees"):
        prompt = ["--greedy", "--prompt", given]
        assert program("generate", model, *prompt).out == "old bees\tbees eat nectar\n"
        found = json.loads(program("generate", model, *prompt, "--json").out)
        assert (found["prompt"], found["text"]) == (given, "bees eat nectar")
    empty = program("generate", model)
    assert (empty.code, empty.out) == (1, "")
    assert Says("continue") == empty.err


def test_bad_lines_of_prediction_end_it_or_are_left_out(folder: Path, program: Program) -> None:
    place = folder / "bad.txt"
    place.write_text("cows\na\tb\tc\nbees\n")
    ended = program("predict", folder / "model", place)
    assert (ended.code, ended.out) == (1, "cows\tcows eat grass\n")
    assert Says(place, "2", "continuation").within(ended.err)
    skipped = program("predict", folder / "model", place, "--on-bad-record", "skip")
    assert skipped.out == "cows\tcows eat grass\nbees\tbees eat nectar\n"
    assert "bad.txt:2" in skipped.err
    refused = program("predict", folder / "model", place, "--confidence")
    assert Says("--confidence").within(refused.err)
    scored = program("eval", folder / "model", place)
    assert Says(place, "1", "continuation").within(scored.err)


def test_a_training_line_that_is_no_pair_is_named(tmp_path: Path) -> None:
    config = settings(tmp_path)
    (tmp_path / "train.tsv").write_text("a\tb\nc d\n")
    with refuses(FormatError, tmp_path, "/train.tsv:2", "'c d'"):
        train(config)


@pytest.mark.parametrize(
    "options",
    mostly_slow(
        [[], ["data.loss_on=all", "data.unit=character"], ["data.unit=bpe", "data.bpe_size=280"]],
        always=1,
    ),
    ids="+".join,
)
def test_a_stopped_run_ends_with_the_same_weights_and_a_saved_model_answers_the_same(
    tmp_path: Path, options: list[str], program: Program
) -> None:
    _, trained = whole_and_stopped(
        tmp_path,
        11,
        lambda output: settings(tmp_path, "train.max_epochs=2", *options, f"output.dir={output}"),
    )
    again = program("eval", tmp_path / "whole" / "model", tmp_path / "test.tsv", "--json")
    assert trained.test is not None
    assert json.loads(again.out) == trained.test.to_dict()
    assert load(tmp_path / "whole" / "model").config.data == trained.predictor.config.data


def test_prediction_takes_constant_memory(folder: Path) -> None:
    lines = "".join(f"old {who}\n" for who in FOOD) * 20
    peaks = []
    for times in (1, 200):
        source = folder / "many.txt"
        source.write_text(lines * times)
        output = folder / "many.tsv"
        peaks.append(peak_mb("predict", folder / "model", source, "-o", output))
        assert output.read_text().count("\n") == 60 * times
        assert output.read_text().startswith("old cats\tcats eat fish\nold cows\tcows eat grass\n")
    assert peaks[1] < peaks[0] + 40
