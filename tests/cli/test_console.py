"""Warnings are wrapped; what one may want to copy is never broken."""

import pytest

from tagkit.cli.console import warning

WORDS = "one of many words that have to be broken into several lines by a terminal of 80 columns"


def test_a_warning_is_wrapped_at_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    warning(WORDS)
    assert capsys.readouterr().err == (
        "warning: one of many words that have to be broken into several lines by a\n"
        "         terminal of 80 columns\n"
    )


def test_a_path_in_a_warning_is_never_broken(capsys: pytest.CaptureFixture[str]) -> None:
    path = "a-folder/" + "long-name/" * 9 + "train.conll"
    warning(f"see {path}")
    assert path in capsys.readouterr().err


def test_a_warning_is_safe_to_display(capsys: pytest.CaptureFixture[str]) -> None:
    warning("\x1b[1m bold")
    assert capsys.readouterr().err == "warning: \\x1b[1m bold\n"
