"""Command lines that cannot be meant so, and inputs that hold nothing: one plain sentence each."""

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from kinds import CLASSES, TAGS
from says import Says, refuses

from tagkit.cli.main import main
from tagkit.config import DataConfig
from tagkit.corpus.splits.splits import hold_out, read_split
from tagkit.errors import DataError

Run = Callable[..., tuple[int, str, str]]
GOLD, BOTH = "a O\nb B-x\n\n", "a O O\nb B-x B-x\n\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs `tagkit`; exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = (part.decode() for part in capsysbinary.readouterr())
        return int(ended.value.code or 0), out, err

    return call


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (["--batch-size", "3"], "--batch-size"),
        (["--device", "cpu"], "--device"),
        (["--threads", "4"], "--threads"),
    ],
)
def test_eval_of_files_refuses_the_options_of_models(
    tmp_path: Path, run: Run, options: list[str], refused: str
) -> None:
    (tmp_path / "a").write_text(BOTH)
    assert run("eval", "--gold", tmp_path / "a")[0] == 0
    code, out, err = run("eval", "--gold", tmp_path / "a", *options)
    assert (code, out) == (2, "")
    assert Says(refused, "--gold") == err


@pytest.mark.parametrize("column", ["--1", "1" * 5000, "-", "1x"])
def test_a_column_that_is_no_number_is_a_name(tmp_path: Path, run: Run, column: str) -> None:
    (tmp_path / "a").write_text(GOLD)
    code, out, _ = run("check", tmp_path / "a", f"--tag-column={column}")
    assert code == 1
    assert out == Says("number", "CoNLL-U")
    assert len(out) < 1000


def test_files_may_be_compared_with_standard_input(tmp_path: Path, run: Run) -> None:
    (tmp_path / "gold").write_text(GOLD)
    (tmp_path / "both").write_text(BOTH)
    for arguments, stdin in (
        (["--gold", "-", "--pred", tmp_path / "both"], GOLD),
        (["--gold", tmp_path / "gold", "--pred", "-"], BOTH),
        (["--gold", "-"], BOTH),
    ):
        code, out, _ = run("eval", *arguments, stdin=stdin.encode())
        assert code == 0
        assert "token accuracy 1.0000 of 2 tokens" in out
    for arguments, stdin, expected in (
        (["--gold", "-"], "", Says("standard input: ")),
        (["--gold", "-", "--pred", tmp_path / "gold"], "c O\n",
         Says(f"{tmp_path}/gold:1: ", "'c'", "standard input:1", "'a'")),
        (["--gold", tmp_path / "gold", "--pred", "-"], "c O\n",
         Says("standard input:1: ", "'a'", f"{tmp_path}/gold:1", "'c'")),
    ):  # fmt: skip
        code, _, err = run("eval", *arguments, stdin=stdin.encode())
        assert code == 1
        assert err.splitlines()[-1] == expected


@pytest.mark.slow
def test_a_corpus_that_comes_through_standard_input_is_called_so(tmp_path: Path, run: Run) -> None:
    tiny.corpus(tmp_path)
    code, _, err = run(
        "train", "--train", "-", "-o", tmp_path / "model", "--set=train.max_epochs=1",
        "--set=encoder.hidden=4", stdin=(tmp_path / "train.conll").read_bytes(),
    )  # fmt: skip
    assert code == 0
    assert err.startswith("train  standard input ")
    assert "\ndev    standard input (split off) " in err
    assert err.count(": read as columns: ") == 1
    code, out, _ = run("info", tmp_path / "model")
    assert code == 0
    assert "train       standard input: " in out


@pytest.mark.parametrize(
    ("content", "why"), [("", "it is empty"), ("\n \n\n", "its lines are bla")]
)
def test_an_input_without_content_is_called_so(
    tmp_path: Path, run: Run, content: str, why: str
) -> None:
    (tmp_path / "a").write_text(content)
    for command in (["train", "--train", tmp_path / "a", "-o", tmp_path / "m"],
                    ["eval", "--gold", tmp_path / "a"]):  # fmt: skip
        code, _, err = run(*command)
        assert code == 1
        assert Says(tmp_path, "sentence") == err
    code, _, err = run("convert", tmp_path / "a", "-", "--to", "columns")
    assert code == 1
    assert Says("a", why).within(err)
    with refuses(DataError, "a", "holds"):
        read_split(str(tmp_path / "a"), DataConfig(), CLASSES, None)


@pytest.mark.parametrize("command", ["check", "convert", "eval", "train"])
def test_an_empty_name_is_called_so(tmp_path: Path, run: Run, command: str) -> None:
    arguments = {
        "check": [""], "convert": ["", tmp_path / "b.jsonl"], "eval": ["--gold", "", "--pred", "x"],
        "train": ["--train", "", "-o", tmp_path / "m"],
    }[command]  # fmt: skip
    code, out, err = run(command, *arguments)
    assert code in (1, 2)
    assert "directory" not in out + err
    assert len(err.splitlines()) < 5


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda packed: packed[:-12], "the gzip file is cut short"),
        (lambda packed: packed[:-8] + b"\0" * 8, "the gzip file is damaged"),
        (lambda packed: packed[:10] + b"\xff" * 30, "the gzip file is damaged"),
        (lambda packed: packed + b"more", "the gzip file is damaged"),
    ],
)
def test_a_damaged_gzip_file_is_named_in_plain_words(
    tmp_path: Path, damage: Callable[[bytes], bytes], expected: str
) -> None:
    (tmp_path / "a.gz").write_bytes(damage(gzip.compress(GOLD.encode())))
    with pytest.raises(DataError) as caught:
        read_split(str(tmp_path / "a.gz"), DataConfig(format="columns"), TAGS, None)
    assert str(caught.value) == f"{tmp_path}/a.gz: {expected}"


def test_what_is_said_of_a_file_is_said_once_where_dev_is_split_off(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)
    split = read_split(str(tmp_path / "train.conll"), DataConfig(), TAGS, None)
    train, dev = hold_out(split, 0.1, 1)
    assert (len(train.notes), dev.notes) == (1, ())
