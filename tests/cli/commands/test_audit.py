"""`tagkit audit`: what it prints and writes, and what it refuses before any training."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from says import Says

from tagkit.cli.main import main
from tagkit.evaluation.analysis.label_errors import Audit

SMALL = [
    part
    for option in (
        "embeddings.word_dim=8", "embeddings.char_dim=4", "embeddings.char_hidden=4",
        "encoder.hidden=8", "train.max_epochs=1", "train.batch_size=8", "train.device=cpu",
    )
    for part in ("--set", option)
]  # fmt: skip
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `tagkit audit` in a folder with a corpus; status, standard output and error."""
    tiny.write(tmp_path / "train.conll", tiny.lines(16, seed=1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tagkit", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def test_files_that_are_there_and_the_corpus_are_refused_before_any_training(run: Run) -> None:
    Path("there").write_text("mine", encoding="utf-8")
    for option in ("-o", "--weights"):
        assert run("train.conll", option, "there") == (1, "", Says("error: there: ", "--force"))
        lost = Says("error: train.conll: ")
        assert run("train.conll", option, "train.conll", "--force") == (1, "", lost)
    inputs = ("dev.conll", "audit.toml", "weights.jsonl", "own.vec")
    for name in inputs:
        Path(name).write_text("", encoding="utf-8")
    for name in inputs:
        lost = Says(f"error: {name}: ")
        assert run(
            "train.conll", "--dev", "dev.conll", "--config", "audit.toml", "--set",
            "data.weights=weights.jsonl", "--set", "embeddings.vectors=own.vec", "-o", name,
            "--force",
        ) == (1, "", lost)  # fmt: skip
    assert Path("there").read_text("utf-8") == "mine"
    for option in ("-o", "--weights", "--html"):  # standard output has the table
        assert run("train.conll", option, "-") == (1, "", Says("error: -: "))
    status, out, err = run("train.conll", "-o", "a", "--weights", "./a")
    assert (status, out) == (2, "")
    assert "--output and --weights name one file" in err
    status, _, err = run("train.conll", "--weights", "b", "-o", "a", "--html", "./b")
    assert status == 2
    assert "--weights and --html name one file" in err
    # A page is replaced without --force, and nothing else is.
    assert run("train.conll", "--html", "there") == (
        1,
        "",
        Says("HTML", "another"),
    )
    assert run("train.conll", "--html", "train.conll")[:2] == (1, "")
    status, _, err = run("train.conll", "--json", "--format", "jsonl")
    assert status == 2
    assert Says("--json", "--format").within(err)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "0.2"], "--epsilon"),
        (["--json", "--top", "1"], "--top"),
        (["--format", "jsonl", "--top", "1"], "--top"),
        (["--set", "data.train_file=b"], "--set data.train_file=b"),
        (["--set", "data.test_file=b"], "--set data.test_file=b"),
        (["--set", "output.dir=b"], "--set output.dir=b"),
    ],
)
def test_an_option_that_an_audit_would_not_read_is_refused(
    run: Run, options: list[str], said: str
) -> None:
    status, out, err = run("train.conll", *options)
    assert (status, out) == (2, "")
    assert said in " ".join(err.replace("│", " ").split())


def test_what_the_library_refuses_is_named_by_its_flag(run: Run) -> None:
    status, out, err = run("train.conll", "--folds", "99")
    assert (status, out) == (1, "")
    assert err.splitlines()[-1] == (Says("train.conll", "99", "--folds", "16"))


@pytest.mark.slow
def test_table_json_lines_json_and_weights_are_of_one_audit(run: Run) -> None:
    weak = "--set=head.feature_crf=0"  # so weak models that the table says so
    options = ["train.conll", *SMALL, weak, "--folds", "2", "--quiet"]
    status, table, err = run(*options, "--top", "2")
    assert (status, err) == (0, "")
    written = ("--weights", "w.jsonl", "-o", "d.jsonl", "--html", "page.html")
    status, whole, err = run(*options, "--json", *written)
    assert (status, err) == (0, "")
    audit = json.loads(whole)
    doubts = audit["doubts"]
    page = Path("page.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>Labels in doubt in train.conll</h1>" in page
    assert f"1. line {doubts[0]['line']}: 1 of 1 model contradicts, score" in page
    lines = table.splitlines()
    assert lines[0].startswith("2 folds by sentence: models agree with gold at F1 0.")
    assert lines[1].startswith(f"{len(doubts)} doubts in ")
    assert lines[-1] == f"and {len(doubts) - 2} more"
    (first,) = (line for line in lines if line.startswith("   1  "))
    assert first.endswith(f"train.conll:{doubts[0]['line']}")
    assert len(lines) == 5 + 2 * 3 + 1  # the last: what to do about weak models
    assert max(map(len, lines)) <= 80
    written = [json.loads(line) for line in Path("d.jsonl").read_text("utf-8").splitlines()]
    assert written == [{"file": "train.conll", **doubt} for doubt in doubts]
    weights = [
        json.loads(line)["weight"] for line in Path("w.jsonl").read_text("utf-8").splitlines()
    ]
    assert weights == [0.7**count for count in audit["contradicted"]]
    status, jsonl, _ = run(*options, "--format", "jsonl")
    assert jsonl == Path("d.jsonl").read_text("utf-8")
    status, shown, _ = run(*options, "-o", "d.txt", "--format", "table", "--top", "0")
    assert shown.splitlines() == table.splitlines()[:3]
    assert len(Path("d.txt").read_text("utf-8").splitlines()) == 5 + 3 * len(doubts)


@pytest.mark.slow
def test_folds_the_time_left_and_the_next_command_are_on_standard_error(run: Run) -> None:
    status, out, err = run(
        "train.conll", *SMALL, "--folds", "2", "--weights", "w w.jsonl", "--tag-column", "-1"
    )  # fmt: skip
    assert status == 0
    assert out
    said = err.splitlines()
    assert said[0].startswith("train.conll: read as columns")
    assert said[1].startswith("fold 1 of 2: ")
    assert " sentences to learn from, " in said[1]
    assert said[2].startswith("fold 2 of 2: ")
    assert said[2].endswith(" left")
    assert said[3:] == [
        "written: w w.jsonl",
        # With what says how the corpus is read and what is trained.
        f"Next: tagkit train --train train.conll --tag-column=-1 {' '.join(SMALL)} --set "
        "'data.weights=w w.jsonl'",
    ]


def test_the_command_after_an_audit_names_all_columns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Audit("t.tsv", 2, 1, "sentence", 1, "acc.", 0.5, (), (0,), (("a", "b"),), "text")
    monkeypatch.setattr("tagkit.training.several.audit.audit", lambda *_, **__: found)
    Path("t.tsv").write_text("0\ta b\tx\n1\tb c\ty\n", encoding="utf-8")
    columns = "--text-column 1 --label-column=-1"
    _, _, err = run("t.tsv", "--task", "classify", *columns.split(), "--weights", "w.jsonl")
    assert err.splitlines()[-1] == (
        f"Next: tagkit train --train t.tsv --task classify {columns} --set data.weights=w.jsonl"
    )
