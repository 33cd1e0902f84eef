"""What comes from a file, a name or a label is displayed as text: no terminal obeys it."""

import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from says import Says

from tagkit.cli.main import main
from tagkit.wording import as_path_argument, visible

EVIL = "\x1b[31m:+1:[red]x[/red][/]\u202e\x9b\u2028\x7f\x07"
SEEN = r"\x1b[31m:+1:[red]x[/red][/]\u202e\x9b\u2028\x7f\x07"
PLACE = "a:pear:[red]\x1b[2J\n[b] b"
PLACE_SEEN = r"a:pear:[red]\x1b[2J\n[b] b"
# Everything that a terminal may obey, or that reorders what it shows; line feeds end lines.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SMALL = [
    f"--set={option}"
    for option in ("embeddings.word_dim=8", "embeddings.char_cell=none", "encoder.hidden=8",
                   "train.max_epochs=2", "train.lr=0.02")
]  # fmt: skip
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs `tagkit`; exit status, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object, data: bool = False) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tagkit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = (part.decode() for part in capsysbinary.readouterr())
        assert not UNSAFE.search(err), ascii(err)
        assert data or not UNSAFE.search(out), ascii(out)
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an odd name, and corpora in it whose tags and classes are odd."""
    if os.name != "posix":
        pytest.skip("names of files may not hold these characters")
    folder = tmp_path_factory.mktemp("display") / PLACE
    folder.mkdir()
    tiny.corpus(folder)
    for file in folder.glob("*.conll"):
        file.write_text(file.read_text().replace("-LOC", f"-{EVIL}"))
    for name in ("train", "test"):
        rows = [
            json.dumps({"text": text, "label": {"greet": f"{EVIL}\n"}.get(label, label)})
            for label, text in tiny.texts(40, 1)
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> dict[str, str]:
    """What training a tagger and a classifier says, by task; the models stay in the folder."""
    said = {}
    for task, ending in (("tag", "conll"), ("classify", "jsonl")):
        with pytest.MonkeyPatch.context() as patch:
            errors = io.StringIO()
            patch.setattr(sys, "stderr", errors)
            patch.setattr(sys, "argv", [
                "tagkit", "train", "--task", task, "--train", str(place / f"train.{ending}"),
                "--test", str(place / f"test.{ending}"), "-o", str(place / task), *SMALL,
            ])  # fmt: skip
            with pytest.raises(SystemExit, match=r"^0$"):
                main()
            said[task] = errors.getvalue()
    return said


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_training_shows_names_and_labels_as_text(
    trained: dict[str, str], place: Path, task: str
) -> None:
    said = trained[task]
    assert not UNSAFE.search(said), ascii(said)
    assert "train  train." in said
    assert f"saved {visible(str(place))}/{task} (" in said
    assert SEEN in said  # in the report on test
    log = (place / task / "train.log").read_text()
    assert f"{PLACE_SEEN}/train." in log
    assert not UNSAFE.search(log), ascii(log)
    # The shell's own quotes and escapes, so that the line can be copied.
    assert said.endswith(f"Next: tagkit predict {as_path_argument(place / task)} FILE\n")


def test_info_eval_and_their_tables_show_labels_as_text(
    trained: dict[str, str], place: Path, run: Run
) -> None:
    for task, ending in (("tag", "conll"), ("classify", "jsonl")):
        code, out, _ = run("info", place / task)
        assert code == 0
        assert f"{PLACE_SEEN}/train.{ending}" in out
        assert SEEN in out
        code, out, _ = run("eval", place / task, place / f"test.{ending}")
        assert code == 0
        assert SEEN in out


def test_the_confusion_matrix_shows_classes_as_text(place: Path, run: Run) -> None:
    gold, pred = place / "gold.jsonl", place / "pred.jsonl"
    for file, label in ((gold, EVIL), (pred, "other")):
        records = [{"text": "a b", "label": label}, {"text": "c", "label": "[/] :+1:"}]
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
    code, out, _ = run("eval", "--gold", gold, "--pred", pred)
    assert code == 0
    assert re.search(rf"\s{re.escape(SEEN)}\s.*\s1\s", out)
    assert re.search(r"\[/\] :\+1:\s+\S+\s+[01]\s", out)


def test_check_and_its_repairs_show_names_and_tags_as_text(place: Path, run: Run) -> None:
    odd = place / "odd.conll"
    odd.write_text(f"a\tB-{EVIL}\nb\tI-{EVIL}x\nc\tX-{EVIL}\n\n")
    code, out, _ = run("check", odd, "--fix", place / "fixed.conll")
    assert code in (0, 1)
    assert f"{PLACE_SEEN}/odd.conll" in out
    assert SEEN in out
    assert f"wrote {visible(str(place))}/fixed.conll" in out


def test_convert_and_errors_show_names_as_text(place: Path, run: Run) -> None:
    code, _, err = run("convert", place / "test.conll", place / "out.jsonl")
    assert code == 0
    assert f"{PLACE_SEEN}/out.jsonl (jsonl-spans)" in err or f"{PLACE_SEEN}/out.jsonl" in err
    for command in ("check", "convert", "eval", "predict", "info", "benchmark", "tune", "train",
                    "learning-curve", "config"):  # fmt: skip
        missing = {
            "check": [f"{place}/no"], "convert": [f"{place}/no", "-", "--to", "columns"],
            "eval": ["--gold", f"{place}/no"], "predict": [f"{place}/no"],
            "info": [f"{place}/no"], "benchmark": [f"{place}/no", "x"],
            "tune": ["--config", f"{place}/no"], "train": ["--config", f"{place}/no"],
            "config": ["--train", f"{place}/no"],
            "learning-curve": ["--config", f"{place}/no"],
        }[command]  # fmt: skip
        code, out, err = run(command, *missing)
        assert code == 1
        assert re.search(rf"error: +{re.escape(visible(str(place)))}/no", out + err)
        assert len(re.findall("^error: ", out + err, re.MULTILINE)) == 1


@pytest.mark.slow
def test_a_search_shows_names_and_values_as_text(place: Path, run: Run) -> None:
    pytest.importorskip("optuna")
    code, _, err = run(
        "tune", "--train", place / "train.conll", "-o", place / "search", "--trials", 1,
        "--search", "encoder.dropout=0.1,0.2", *SMALL,
    )  # fmt: skip
    assert code == 0
    assert "\n1 trial, the best first:\n" in err
    assert f"saved {visible(str(place))}/search (model)" in err
    assert err.endswith(f"Next: tagkit eval {as_path_argument(place / 'search')} TEST\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [f"--{EVIL}"],
        [EVIL],
        ["predict", f"--{EVIL}"],
        ["predict", "m", "--format", EVIL],
        ["train", "--set", EVIL],
        ["train", "--set", f"{EVIL}=1"],
        ["train", "--train", "x", "--set", f"encoder.cell={EVIL}"],
        ["train", "--train", "x", "--device", EVIL],
        ["tune", "--train", "x", "--search", EVIL],
        ["tune", "--train", "x", "--search", f"encoder.hidden={EVIL}..2"],
        ["convert", "x", "y", "--scheme", EVIL],
        ["convert", "x", "y", "--input-format", EVIL],
        ["eval", "--gold", "x", "--scheme", EVIL],
    ],
)
def test_a_wrong_command_line_is_quoted_as_text(run: Run, arguments: list[str]) -> None:
    code, _, err = run(*arguments)
    assert code in (1, 2)
    assert "x1b" in err or "u001b" in err


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--batch-size", "x", "a whole number"),
        ("--batch-size", "0", "1"),
        ("--threshold", "x", "a number"),
        ("--threshold", "2", "1"),
        ("--min-confidence", "nan", "1"),
        ("--format", "q", "'jsonl-tokens'"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused_in_plain_words(
    run: Run, option: str, value: str, expected: str
) -> None:
    code, _, err = run("predict", "m", option, value)
    assert code == 2
    assert err.splitlines()[-1] == Says(f"'{option}': ", f"'{value}'", expected)


def test_data_keeps_every_character(place: Path, run: Run, trained: dict[str, str]) -> None:
    _, out, _ = run("convert", place / "test.conll", "-", "--to", "columns", data=True)
    assert f"B-{EVIL}\n" in out
    _, out, _ = run("info", place / "tag", "--json", data=True)
    assert EVIL in json.loads(out)["labels"]


@pytest.mark.parametrize("command", ["predict", "eval", "benchmark"])
def test_an_unknown_device_is_refused_by_each_command(
    trained: dict[str, str], place: Path, run: Run, command: str
) -> None:
    for device, expected in (("gpu", "device 'gpu': "), ("cuda:7", "device cuda:7: ")):
        code, _, err = run(command, place / "tag", place / "test.conll", "--device", device)
        assert code == 1
        assert err.startswith(f"error: {expected}")
        assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["train", "tune"])
def test_training_refuses_an_unknown_device_too(place: Path, run: Run, command: str) -> None:
    code, _, err = run(command, "--train", place / "train.conll", "--device", "gpu")
    assert code == 1
    assert Says("--device", '"gpu"', "'auto'", "'cpu'", "'cuda'", "'cuda:N'") == err
