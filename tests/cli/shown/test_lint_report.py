"""The report of `tagkit check` as lines for people."""

import json
from pathlib import Path

from lint_reports import check

from tagkit.cli.shown.lint_report import check_lines

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_a_report_is_lines_for_people_and_json_for_programs(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD + "a O\nb\n" + "x\n" * 30)
    lines = [line.replace(f"{tmp_path}/", "") for line in check_lines(report)]
    assert lines[0] == "train.conll"
    assert lines[-1] == "verdict: 31 errors, 1 note: correct the errors before training on this"
    assert (
        lines.count("error:   train.conll:10: expected 2 columns as on line 1, found 1: 'b'") == 1
    )
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
