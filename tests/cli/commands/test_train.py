"""`tagkit train`: what it says, and where its folder comes from."""

import io
import os
import re
from pathlib import Path
from typing import cast

import pytest
from program import SMALL, Ended, Program, small
from rich.console import Console
from says import Says

from tagkit.cli.program import console
from tagkit.cli.shown.train_progress import Progress
from tagkit.training.events.callbacks import Finding


def test_train_shows_corpora_epochs_report_and_the_next_command(
    tagkit: Program, model: Path
) -> None:
    ended = tagkit(
        "train", "--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll",
        "--output", "other", "--workers", 1, "--seed", 3, *SMALL,
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"^train  train\.conll +80 sentences +\d+ tokens  IOB2, 2 types$", ended.err,
                     re.MULTILINE)  # fmt: skip
    assert "% of its entities never seen in train" in ended.err
    assert re.search(r"^model  BiLSTM with CRF and CRF of word features, [\d,]+ parameters, on cpu "
                     r"\(1 thread\)$", ended.err, re.MULTILINE)  # fmt: skip
    assert re.search(r"^epoch +loss +dev loss +dev F1 +lr +tokens/s$", ended.err, re.MULTILINE)
    assert (
        len(re.findall(r"^ +\d+ +\d\.\d{4} +\d\.\d{4} +\d+\.\d\d ", ended.err, re.MULTILINE)) == 4
    )
    assert re.search(r"^best epoch \d, dev F1 \d+\.\d\d; test:$", ended.err, re.MULTILINE)
    assert re.search(r"^micro avg +\d\.\d{4} +\d\.\d{4} +\d\.\d{4} +\d+$", ended.err, re.MULTILINE)
    assert "IOB2 spans, conlleval-compatible; token accuracy" in ended.err
    assert "Next: tagkit predict other FILE" in ended.err
    assert "\x1b" not in ended.err  # no colour where there is no terminal


@pytest.mark.parametrize(
    ("direction", "then"), [("forward", "generate lm"), ("backward", "eval lm FILE")]
)
def test_what_comes_next_is_what_a_language_model_can_do(
    tagkit: Program, model: Path, direction: str, then: str
) -> None:
    Path("text.txt").write_text("the cat sat\na cat sat on the mat\n" * 20)
    ended = tagkit(
        "train", "--task", "language-model", "--train", "text.txt", "--dev", "text.txt",
        "-o", "lm", "--force", "--workers", 1, "--set", f"data.direction={direction}", "--set",
        "encoder.hidden=5", "--set", "train.max_epochs=1",
    )  # fmt: skip
    assert f"Next: tagkit {then}\n" in ended.err


@pytest.mark.slow
def test_quiet_training_says_nothing(tagkit: Program, model: Path) -> None:
    ended = tagkit("train", "--train", "train.conll", "-o", "quiet", "--threads", 1, "-q", *SMALL)
    assert ended == Ended(0, "", "")
    assert Path("quiet/best/model.safetensors").is_file()


def test_training_reads_tagkit_toml_of_this_folder(
    tagkit: Program, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tagkit.toml").write_text(
        f'[data]\ntrain_file = "{home}/train.conll"\n[encoder]\nhiden = 3\n', encoding="utf-8"
    )
    assert tagkit("train") == Ended(1, "", Says("tagkit.toml: ", "encoder.hiden", "encoder.hidden"))


def test_all_mistakes_are_told_at_once(tagkit: Program, model: Path) -> None:
    ended = tagkit("train", "--train", "train.conll", "--device", "gpu", "--set", "train.lr=0",
                   "--set", "embeddings.char_cell=rnn")  # fmt: skip
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        Says('error: embeddings.char_cell = "rnn": ', "'gru'"),
        Says("error: train.lr = 0: ", "'auto'"),
        Says('error: --device = "gpu": ', "'cuda:N'"),
    ]


def test_an_output_folder_that_cannot_be_written_is_named(tagkit: Program, model: Path) -> None:
    Path("file").write_text("", encoding="utf-8")
    ended = tagkit("predict", model, "-o", "nowhere/out", stdin=b"Ada\n")
    assert ended == Ended(1, "", Says("error: nowhere/out: ", Path("nowhere").absolute()))
    ended = tagkit("train", "--train", "train.conll", "-o", "file/x", "--threads", 1, *SMALL)
    assert ended.code == 1
    assert ended.err == (Says("another"))


def test_every_file_of_a_run_gets_what_the_umask_gives(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    umask = os.umask(0o077)
    try:
        ended = tagkit("train", "--train", "train.conll", "--dev", "dev.conll", "--threads=1",
                       *small("train.max_epochs=1"), "-o", tmp_path / "m")  # fmt: skip
    finally:
        os.umask(umask)
    assert ended.code == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "m").rglob("*")}
    assert len(modes) > 10
    assert {name for name, mode in modes.items() if mode & 0o077} == set()


@pytest.mark.slow
def test_training_of_a_classifier_speaks_of_texts_and_classes(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    train, test = intents / "train.tsv", intents / "test.tsv"
    ended = tagkit(
        "train", "--task", "classify", "--train", train, "--test", test, "-o", tmp_path / "m",
        *SMALL, "--set", "head.pooling=mean+max",
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"train +train\.tsv +81 texts +\d+ tokens  3 classes\n", ended.err)
    assert re.search(r"dev +train.tsv \(split off\) +9 texts", ended.err)
    assert "model  BiLSTM with mean+max pooling and bag of words, " in ended.err
    assert "epoch      loss  dev loss  dev acc.        lr  tokens/s\n" in ended.err
    assert re.search(r"classes; accuracy [01]\.\d{4} of 20 texts\n", ended.err)


@pytest.mark.slow
def test_training_twice_into_one_folder_is_refused_unless_that_is_said(
    model: Path, tagkit: Program
) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "-o", "twice", "--threads=1"]
    once = ["train", *files, "--set=train.max_epochs=1", *SMALL[:-1], "-q"]
    assert tagkit(*once).code == 0
    assert tagkit(*once) == Ended(1, "", Says("error: twice: ", "-o", "--force"))
    assert tagkit(*once, "--force").code == 0
    assert tagkit(*once, "--resume").code == 0


@pytest.mark.slow
def test_several_seeds_are_told_with_mean_and_deviation(model: Path, tagkit: Program) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "--test", "test.conll", "-o", "many"]
    auto = small("train.batch_size=auto")
    ended = tagkit("train", *files, "--seeds", "1,2", "--threads=1", *auto)
    assert ended.code == 0
    assert ended.err.count("\n       each seed: batches of 4: train has 80 sentences\n") == 2
    assert ended.err.startswith("seed 1 (1 of 2)\n")
    assert "\n\nseed 2 (2 of 2)\n" in ended.err
    assert re.search(r"^standard deviation +[0-9.]+ +[0-9.]+$", ended.err, re.M)
    assert "saved many (" in ended.err
    assert tagkit("predict", "many", "test.conll").code == 0
    wrong = tagkit("train", *files, "--seeds", "1,x")
    assert wrong.err == Says("--seeds", '"x"')


def test_a_terminal_shows_what_is_done_before_the_first_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=60)
    monkeypatch.setattr(console, "_ERRORS", terminal)
    progress = Progress()
    with progress:
        progress.on_fit(1)
        progress.on_fit(12)
    shown = cast(io.StringIO, terminal.file).getvalue()
    assert "reading" in shown
    assert "fitting word features, pass 12" in shown


def test_what_is_wrong_with_a_seed_is_said_before_the_next_one_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress()
    progress.on_seed(7, 1, 2)
    progress.on_finding(Finding("overfitting", "seed 7: it overfits", "Stop"))
    progress.on_seed(8, 2, 2)
    assert capsys.readouterr().err == (
        "seed 7 (1 of 2)\n\nwarning: seed 7: it overfits. Stop.\n\nseed 8 (2 of 2)\n"
    )


def test_a_run_begins_with_another_model(model: Path, tagkit: Program) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "-o", "further", "--threads=1"]
    more = ["--set=train.max_epochs=1", "--set=train.lr=1e-9", "--init-from", str(model)]
    ended = tagkit("train", *files, *more)
    assert ended.code == 0
    assert re.search(r"best epoch 1, dev F1 (9[0-9]|100)\.", ended.err)


def test_a_run_that_early_stopping_ends_says_for_how_long_dev_was_not_better(
    model: Path, tagkit: Program
) -> None:
    files = ["--train", "train.conll", "--dev", "dev.conll", "-o", "waiting", "--threads=1"]
    # At such a rate all epochs score the same.
    more = ["--set=train.patience=2", "--set=train.max_epochs=9", "--set=train.lr=1e-9"]
    ended = tagkit("train", *files, *more, "--init-from", str(model))
    assert ended.code == 0
    assert re.search(
        r"^best epoch 1, dev F1 \d+\.\d\d \(stopped: not better for 2 epochs\)$",
        ended.err,
        re.MULTILINE,
    )
