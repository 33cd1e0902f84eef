"""Findings and verdicts in words."""

from tagkit.corpus.lint.findings import CheckReport, CorpusFinding, shown_lines
from tagkit.wording import plural


def test_numbers_and_lines_are_told_in_words() -> None:
    assert [plural(n, "class") for n in (0, 1, 2)] == ["0 classes", "1 class", "2 classes"]
    assert shown_lines((7,)) == "line 7"
    assert shown_lines((1, 1, 2000)) == "lines 1, 2,000"
    assert shown_lines(tuple(range(1, 9))) == "lines 1, 2, 3, 4, 5 and 3 more"
    note, warning, error = (
        CorpusFinding(severity, "k", "f", "m")  # type: ignore[arg-type]
        for severity in ("note", "warning", "error")
    )
    verdicts = [
        CheckReport((), findings).verdict
        for findings in ((), (note,), (warning, warning), (error, note))
    ]
    assert verdicts == [
        "nothing odd found",
        "1 note: fit to train on",
        "2 warnings: fit to train on",
        "1 error, 1 note: correct the errors before training on this",
    ]
