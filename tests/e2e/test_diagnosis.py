"""`tagkit train` says what is wrong with a run: once, on standard error and in the log."""

import random
import re
from pathlib import Path

import pytest
import tiny
from program import Program, small
from runs import StopAt
from says import Says, refuses

from tagkit.errors import Interrupted
from tagkit.training.events.callbacks import Finding, Listener
from tagkit.training.several.seeds import train_seeds
from tagkit.training.trainer import train


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capsysbinary)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sparse(count: int, first: int) -> list[list[str]]:
    """Sentences of thirty words, a person in every second one."""
    dice = random.Random(first)
    rows = [
        [f"w{dice.randrange(50)}\tO" for _ in range(30)] + [f"n{number}\tO"]
        for number in range(first, first + count)
    ]
    for row in rows[::2]:
        row[7] = f"w{dice.randrange(50)}\tB-PER"
    return rows


class Findings(Listener):
    def __init__(self) -> None:
        self.heard: list[Finding] = []

    def on_finding(self, finding: Finding) -> None:
        self.heard.append(finding)


TRAIN = ["train", "--train", "train.conll", "--dev", "dev.conll", "-o", "m", "--workers", "1"]
# Where there is no terminal, lines are whole.
USELESS = """
warning: the model predicts O for every token of dev, so that it finds no span: \
it is of no use as it is. Train longer (train.max_epochs), with smaller \
batches (train.batch_size) or with more examples.

"""


def test_a_model_that_predicts_o_alone_is_not_recommended(tagkit: Program, folder: Path) -> None:
    tiny.write(folder / "train.conll", sparse(40, 0))
    tiny.write(folder / "dev.conll", sparse(10, 40))
    weak = small("train.max_epochs=1", "head.feature_crf=0")
    ended = tagkit(*TRAIN, *weak)
    assert ended.code == 0
    head, *rest = ended.err.split(USELESS)
    assert "best epoch 1, dev F1 0.00" in head
    (last,) = rest
    assert re.fullmatch(r"saved m \(\d+ kB\)\nBefore you use it, see the warning above\n", last)
    assert (folder / "m" / "train.log").read_text().count("warning: the model predicts O") == 1
    assert tagkit(*TRAIN, *weak, "--force", "-q").err == ""


def test_findings_on_corpora_stand_below_them(tagkit: Program, folder: Path) -> None:
    tiny.corpus(folder)
    text = (folder / "dev.conll").read_text()
    (folder / "dev.conll").write_text(text.replace("B-PER", "B-GENE").replace("I-PER", "I-GENE"))
    train = (folder / "train.conll").read_text()
    (folder / "train.conll").write_text(train + "x\tB-RARE\n\n")
    ended = tagkit(*TRAIN, *small("train.max_epochs=1"))
    assert ended.code == 0
    _, shown = ended.err.split("on cpu (1 thread)\n")
    shown, _ = shown.split("\nepoch      loss  dev loss  dev F1")
    assert shown == (Says("1", "GENE", "20", "10", "RARE", "3", "13", "5", "23"))


def test_a_remedy_names_the_flags_of_the_command(tagkit: Program, folder: Path) -> None:
    tiny.write(folder / "train.conll", tiny.lines(20, 1))
    tiny.write(folder / "dev.conll", tiny.lines(30, 2))
    ended = tagkit(*TRAIN, *small("train.max_epochs=1"))
    said = re.sub(r"\n +", " ", ended.err)
    assert "if the two were mixed up, exchange --train and --dev.\n" in said


def test_a_library_user_has_the_findings_too(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=1")
    tiny.write(tmp_path / "dev.conll", tiny.lines(90, 2))
    heard = Findings()
    trained = train(config, heard)
    assert trained.findings == tuple(heard.heard)
    assert "large-dev" in [finding.name for finding in trained.findings]


@pytest.mark.slow
def test_seeds_share_what_is_said_of_the_corpora_and_name_the_seed_of_a_model(
    tmp_path: Path,
) -> None:
    tiny.write(tmp_path / "train.conll", [*sparse(40, 0), *[["x\tO", "y\tB-RARE"]] * 2])
    for name, first in (("dev", 50), ("test", 60)):
        tiny.write(tmp_path / f"{name}.conll", sparse(10, first))
    heard = Findings()
    trained = train_seeds(tiny.small(tmp_path, "train.max_epochs=1", "train.seeds=[4,5]"), heard)
    assert [(finding.name, finding.sentence[:23]) for finding in heard.heard] == [
        ("few-examples", "train has 1 label with "),
        ("one-answer", "seed 4: the model predi"),
    ]
    assert [finding.name for finding in trained.best.findings] == ["few-examples", "one-answer"]
    for seed in (4, 5):  # the log of each seed is complete
        log = (tmp_path / "model" / f"seed-{seed}" / "train.log").read_text()
        assert log.count("warning: ") == 2


@pytest.mark.slow
def test_a_search_says_nothing_of_its_trials(tagkit: Program, folder: Path) -> None:
    tiny.write(folder / "train.conll", tiny.lines(20, 1))
    tiny.write(folder / "dev.conll", tiny.lines(30, 2))
    ended = tagkit("tune", *TRAIN[1:], *small("train.max_epochs=1"), "--trials", "1",
                   "--search", "encoder.word_dropout=0.1,0.2")  # fmt: skip
    assert ended.code == 0, ended.err
    assert "warning" not in ended.err


@pytest.mark.slow
def test_a_run_that_is_resumed_says_what_a_whole_run_says(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=2")
    tiny.write(tmp_path / "dev.conll", tiny.lines(90, 2))
    whole = train(config, force=True).findings
    stop = StopAt(15)
    with refuses(Interrupted, "15", "stopped"):
        train(config, stop, stop=stop.stop, force=True)
    assert train(config, resume=True).findings == whole
