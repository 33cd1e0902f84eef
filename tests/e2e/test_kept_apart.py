"""What a user sees of two runs in one folder, and of a run in a folder of the user's own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from says import Says

PROGRAM = "from tagkit.cli.main import main; main()"
MINE = {
    "tensorboard/mine": "mine", "train.log": "mine", "history.jsonl": "mine", "best/mine": "mine",
    "last/mine": "mine", "seed-corpora/mine": "mine", "trial-data/mine": "mine",
}  # fmt: skip


def command(folder: Path, *words: str) -> list[str]:
    sizes = ["encoder.hidden=8", "embeddings.word_dim=8", "train.threads=1", "train.device=cpu"]
    options = [word for size in sizes for word in ("--set", size)]
    return [sys.executable, "-c", PROGRAM, words[0], "--train", str(folder / "train.conll"),
            "--dev", str(folder / "dev.conll"), *options, *words[1:]]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "force"),
    [(".", ["--force"]), ("", []), (".", []), ("", ["--force"])],
)
@pytest.mark.parametrize("name", ["train", "tune"])
def test_a_command_in_a_users_folder_leaves_all_there_as_it_is(
    tmp_path: Path, output: str, force: list[str], name: str
) -> None:
    if name == "tune":
        pytest.importorskip("optuna")
    tiny.corpus(tmp_path)
    mine = tmp_path / "mine"
    for file, content in MINE.items():
        (mine / file).parent.mkdir(parents=True, exist_ok=True)
        (mine / file).write_text(content)
    ended = subprocess.run(
        command(tmp_path, name, "-o", output, *force), cwd=mine, capture_output=True, text=True,
        env={**os.environ, "COLUMNS": "1000"},
    )  # fmt: skip
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    if output:
        assert Says("written").within(ended.stderr)
        assert "history.jsonl, last/, seed-corpora/, tensorboard/" in ended.stderr
    else:
        assert Says("an empty name", "current").within(ended.stderr)
    found = {p.relative_to(mine).as_posix(): p.read_text() for p in mine.rglob("*") if p.is_file()}
    assert found == MINE


@pytest.mark.slow
def test_a_second_run_is_refused_while_one_is_at_work_and_not_after_a_kill(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)
    folder = tmp_path / "run"
    endless = [*command(tmp_path, "train", "-o", str(folder)), "--set", "train.max_epochs=100000",
               "--set", "train.patience=0", "--resume", "--quiet"]  # fmt: skip
    first = subprocess.Popen(endless)
    try:
        while not (folder / "history.jsonl").exists():
            assert first.poll() is None
            time.sleep(0.05)
        for words in (["--resume"], ["--force"], []):
            second = subprocess.run(
                [*endless[:-2], *words], capture_output=True, text=True, timeout=100,
                env={**os.environ, "COLUMNS": "1000"},
            )  # fmt: skip
            assert second.returncode == 1
            assert f"{folder}: in use by process {first.pid}, which started at" in second.stderr
        assert first.poll() is None
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    ended = subprocess.run(
        [*endless, "--max-minutes", "0.0001"], capture_output=True, text=True, timeout=100
    )
    assert (ended.returncode, ended.stderr) == (0, "")
