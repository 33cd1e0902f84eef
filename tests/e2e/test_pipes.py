"""Corpora from standard input and named pipes: read once, or copied."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from kinds import TAGS
from says import Says, refuses

from tagkit.config import Config, DataConfig
from tagkit.corpus.source.source import open_bytes
from tagkit.corpus.splits.splits import load_corpus, read_split
from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import compare_files

PROGRAM = [sys.executable, "-c", "from tagkit.cli.main import main; main()"]
TAGGED = "Ada\tB-PER\nleft\tO\n\nOslo\tB-LOC\nsleeps\tO\n\n"


def feed(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))


def test_a_training_corpus_may_be_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(monkeypatch, TAGGED * 3)
    corpus = load_corpus(Config(data=DataConfig(train_file="-")), TAGS)
    assert len(corpus.train.sentences) + len(corpus.dev.sentences) == 6
    assert corpus.layout is not None
    assert corpus.layout.width == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_training_corpus_may_be_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(TAGGED * 3, encoding="utf-8"))
    writer.start()
    corpus = load_corpus(Config(data=DataConfig(train_file=str(pipe))), TAGS)
    writer.join(timeout=10)
    assert len(corpus.train.sentences) + len(corpus.dev.sentences) == 6
    assert corpus.layout is not None


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "convert", "eval"])
def test_commands_read_a_corpus_from_standard_input(tmp_path: Path, command: str) -> None:
    arguments = {
        "check": ["check", "-"],
        "convert": ["convert", "-", "-", "--to", "jsonl"],
        "eval": ["eval", "--gold", "-", "--json"],
    }[command]
    content = "Ada\tB-PER\tO\nleft\tO\tO\n\n" if command == "eval" else TAGGED
    ended = subprocess.run(
        [*PROGRAM, *arguments], input=content, cwd=tmp_path, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert Says("standard") == ended.stderr
    assert ended.stdout


def test_gold_and_predicted_tags_of_a_pipe_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = "Ada\tB-PER\tO\nOslo\tB-LOC\tB-LOC\n\n"
    feed(monkeypatch, both)
    report = compare_files("-", None, DataConfig(), None, False)
    path = tmp_path / "both.conll"
    path.write_text(both, encoding="utf-8")
    assert report == compare_files(str(path), None, DataConfig(), None, False)
    feed(monkeypatch, both)
    assert compare_files("-", str(path), DataConfig(tag_column=1), None, False) == report


def test_classes_of_a_pipe_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pred.tsv"
    path.write_text("label\ttext\npos\tgood film\nneg\tbad film\n", encoding="utf-8")
    feed(monkeypatch, path.read_text("utf-8"))
    assert compare_files("-", str(path), DataConfig(), None, False).headline == 1.0


def test_standard_input_is_one_input_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, TAGGED)
    with pytest.raises(DataError) as caught:
        load_corpus(Config(data=DataConfig(train_file="-", dev_file="-")), TAGS)
    assert str(caught.value) == (
        "standard input: can be read once, and another corpus is read from it already; name a file "
        "with data.dev_file"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_one_corpus_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    name = str(tmp_path / "pipe")
    for given in ({"train_file": name, "test_file": name}, {"dev_file": name, "test_file": name}):
        with refuses(DataError, f"{name}: ", "data.test_file"):
            load_corpus(Config(data=DataConfig(**{"train_file": __file__, **given})), TAGS)


def test_several_runs_refuse_a_pipe_before_they_begin() -> None:
    from tagkit.corpus.source.pipes import require_files

    with pytest.raises(DataError) as caught:
        require_files(Config(data=DataConfig(train_file="-")), "several seeds")
    assert str(caught.value) == (
        "standard input: can be read once, and several seeds read it several times; save it to a "
        "file and name that"
    )
    require_files(Config(data=DataConfig(train_file=__file__)), "several seeds")


def test_what_is_read_several_times_is_a_copy_of_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagkit.corpus.source.source import rereadable

    feed(monkeypatch, TAGGED)
    with rereadable("-") as path:
        for _ in range(2):
            assert len(read_split(path, DataConfig(), TAGS, None).sentences) == 2
    assert not Path(path).exists()
    with rereadable(__file__) as path:
        assert path == __file__


def test_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with (
        refuses(DataError, "standard"),
        open_bytes("-"),
    ):
        pass
