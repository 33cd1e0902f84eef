"""`tagkit check`: its report and its exit status."""

import json
from pathlib import Path

import pytest
from lint_reports import check
from program import Program
from says import Says

from tagkit.cli.commands.check import check_lines


def test_check_reports_to_standard_output_and_fails_on_errors_alone(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    ended = tagkit("check", "train.conll", "dev.conll", "test.conll")
    assert ended.code == 0
    assert [line.split(":")[0] for line in ended.err.splitlines()] == [
        "train.conll", "dev.conll", "test.conll",
    ]  # fmt: skip
    assert ended.out.startswith("train.conll\n  format   columns\n  labels   IOB2 (all ")
    assert "fit to train on" in ended.out.splitlines()[-1]
    bad = tmp_path / "bad.conll"
    bad.write_text(Path("train.conll").read_text("utf-8") + "x\tI-LOC\n\ny\n", encoding="utf-8")
    ended = tagkit("check", bad, "--fix", tmp_path / "good.conll")
    assert ended.code == 1
    assert "is illegal in IOB2: 1 time" in ended.out
    assert f"wrote {tmp_path / 'good.conll'}; repairs:\n  left out a sentence" in ended.out
    assert "\n  I-LOC is now B-LOC: line" in ended.out
    facts = json.loads(tagkit("check", tmp_path / "good.conll", "--json").out)
    assert [f["kind"] for f in facts["findings"] if f["severity"] == "error"] == ["unreadable"]
    assert tagkit("check", "nothing").code == 1
    refused = tagkit("check", bad, "--fix", bad)
    assert refused.err.splitlines(keepends=True)[-1] == (Says(bad, "another"))


def test_what_a_reader_notes_names_the_options_as_they_are_typed(
    tagkit: Program, tmp_path: Path
) -> None:
    path = tmp_path / "opinions.csv"
    rows = ("Das war gut,positiv", "Das war schlecht,negativ") * 4
    path.write_text("\n".join(("Kommentar,Stimmung", *rows)) + "\n", encoding="utf-8")
    ended = tagkit("check", path)
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "If it names the columns, say so: --label-column Stimmung" in said
    assert "positiv (4), negativ (4)" in tagkit("check", path, "--label-column", "Stimmung").out


def test_standard_input_is_named_as_in_other_messages(tagkit: Program) -> None:
    lines = b"Ada B-PER\nleft O\nsaw I-LOC O\n\n"
    ended = tagkit("check", "-", "--input-format", "columns", stdin=lines)
    assert ended.out.startswith("standard input\n  format   columns\n")
    assert "error:   standard input:3: " in ended.out
    found = json.loads(tagkit("check", "-", "--json", stdin=b"Ada B-PER\nleft O\n\n").out)
    assert found["files"][0]["file"] == "-"  # for programs what the command was given


GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_a_report_is_lines_for_people_and_json_for_programs(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD + "a O\nb\n" + "x\n" * 30)
    lines = [line.replace(f"{tmp_path}/", "") for line in check_lines(report)]
    assert lines[0] == "train.conll"
    assert lines[-1] == "verdict: 31 errors, 1 note: correct the errors before training on this"
    assert lines.count(Says("error:   train.conll:10: ", "'b'")) == 1  # type: ignore[arg-type]
    assert "         train.conll: 21 more of the kind unreadable (--json)" in lines
    facts = json.loads(json.dumps(report.to_dict()))
    assert len(facts["findings"]) == 32
    assert facts["files"][0]["labels"] == {"PER": 2, "LOC": 1}


def test_long_and_odd_labels_are_shown_safely_and_in_bounded_length(tmp_path: Path) -> None:
    labels = [f"{n}\x9b{'x' * 5000}" for n in range(30)]
    rows = "".join(f"a B-{label}\nb I-{label}\nc O\n\nd I-{label}x\n\n" for label in labels)
    lines = list(check_lines(check(tmp_path, rows, format="columns")))
    assert any(line.startswith("  60 types: 0\\x9bxxx") for line in lines)
    assert max(len(line) for line in lines) < 2000
    findings = [line for line in lines if line.startswith(("error", "warning", "note"))]
    assert findings
    assert all(line.isprintable() for line in findings)


def test_the_command_reports_before_it_refuses_to_repair(tagkit: Program, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "tags": ["B-X"]}\n', encoding="utf-8")
    ended = tagkit("check", tmp_path / "a.jsonl", "--fix", tmp_path / "b.conll")
    assert (ended.code, "verdict: 1 note: fit to train on" in ended.out) == (1, True)
    assert "a.jsonl: only column files can be repaired" in ended.err


@pytest.mark.parametrize(("content", "status"), [("a\tB-X\n", 0), ("a\tB-X\nb\n", 1)])
def test_the_exit_status_tells_of_errors(
    tagkit: Program, tmp_path: Path, content: str, status: int
) -> None:
    (tmp_path / "a.conll").write_text(content, encoding="utf-8")
    ended = tagkit("check", tmp_path / "a.conll", "--json", "--fix", tmp_path / "b.conll")
    assert ended.code == status
    left = json.loads(ended.out)["repairs"][str(tmp_path / "b.conll")]["left"]
    assert len(left) == status
