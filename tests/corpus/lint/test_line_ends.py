"""Odd line ends, and a text that is read in another encoding than its own."""

from pathlib import Path

from lint_reports import check, told
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_lines_that_are_odd_are_noted(tmp_path: Path) -> None:
    report = check(tmp_path, "\ufeffa B-X\r\nb O \n\t\nc\rc O\nd O")
    assert told(report, "byte-order-mark", tmp_path) == [
        ("note", "begins with a byte order mark", (1,))
    ]
    assert told(report, "crlf", tmp_path) == [
        ("note", "1 line with the line end of Windows (CRLF)", (1,))
    ]
    assert told(report, "trailing-blank", tmp_path) == [
        ("note", "1 line with blanks or tabs at the end", (2,))
    ]
    assert told(report, "blank-separator", tmp_path) == [
        ("note", "1 line between sentences with nothing but blanks or tabs", (3,))
    ]
    assert told(report, "cr-inside", tmp_path) == [
        ("warning", "1 line with a carriage return inside (the line end of an old Mac?)", (4,))
    ]
    assert told(report, "last-line", tmp_path) == [("note", Says(), (5,))]


def test_a_carriage_return_at_the_end_of_a_file_is_no_line_end_of_windows(tmp_path: Path) -> None:
    report = check(tmp_path, "a B-X\rb O\r\r")
    assert told(report, "crlf", tmp_path) == []
    report = check(tmp_path, "a B-X\r\nb O\r")
    assert told(report, "crlf", tmp_path) == [
        ("note", "1 line with the line end of Windows (CRLF)", (1,))
    ]


def test_lines_that_are_not_odd_are_not_noted(tmp_path: Path) -> None:
    assert [finding.kind for finding in check(tmp_path, "").findings] == ["empty"]
    kinds = {"byte-order-mark", "crlf", "blank-separator", "trailing-blank", "last-line"}
    assert not kinds & {finding.kind for finding in check(tmp_path, GOOD).findings}
    (tmp_path / "wide.conll").write_bytes(GOOD.encode("utf-16"))
    wide = check_files([str(tmp_path / "wide.conll")], DataConfig(encoding="utf-16"))
    assert not kinds & {finding.kind for finding in wide.findings}


def test_utf_8_that_is_read_as_something_else_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "Mísia B-PER\n", encoding="latin-1")
    assert told(report, "encoding", tmp_path) == [
        ("warning", "it is read in latin-1, and all of it is UTF-8 too: is that its encoding?", ()),
    ]
    (tmp_path / "b.conll").write_bytes("café B-X\n".encode("latin-1"))
    (tmp_path / "c.conll").write_bytes(b"plain B-X\n")
    for name in ("b.conll", "c.conll"):
        others = check_files([str(tmp_path / name)], DataConfig(encoding="latin-1"))
        assert not told(others, "encoding", tmp_path)
