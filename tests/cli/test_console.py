"""What the console prints where there is no terminal."""

import pytest

from tagkit.cli.console import note


def test_a_note_is_one_whole_line_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (
        "warning: " + "one of many words " * 9 + "in a-folder/" + "long-name/" * 9 + "train.conll"
    )
    note(text)
    assert capsys.readouterr().err == f"{text}\n"


def test_a_note_is_safe_to_display(capsys: pytest.CaptureFixture[str]) -> None:
    note("warning: \x1b[1m bold")
    assert capsys.readouterr().err == "warning: \\x1b[1m bold\n"
