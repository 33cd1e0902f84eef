"""Files that cannot be read, wholly or in part, and those that can be read once."""

import gzip
import os
import threading
from pathlib import Path

import pytest
from lint_reports import check, told
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.lint.check import check_files

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_every_line_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, "a O\nb\nc O\n\nd O O\ne B-X\n")
    message = "expected 2 columns as on line 1, found"
    assert told(report, "unreadable", tmp_path) == [
        ("error", f"{message} 1: 'b'", (2,)),
        ("error", f"{message} 3: 'd O O'", (5,)),
    ]
    assert report.files[0].tokens == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a O\n\xff O\n", "byte 0xff at 4 is not utf-8 (invalid start byte). Name the file's"),
        (b"\x1f\x8b\x00", "the gzip file is cut short"),
        (b"", "holds no sentence"),
        (b"\n\n", "holds no sentence"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_the_others_are_checked(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "bad.conll").write_bytes(content)
    (tmp_path / "good.conll").write_text(GOOD, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("bad.conll", "none.conll", "good.conll")]
    report = check_files(paths, DataConfig())
    errors = [f for f in report.findings if f.severity == "error"]
    assert [Path(f.file).name for f in errors] == ["bad.conll", "none.conll"]
    assert message in errors[0].message
    assert errors[1].message == "no such file"
    assert [Path(facts.file).name for facts in report.files] == ["good.conll"]


def test_utf_16_without_its_mark_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_bytes(b"a B-X\n")
    path = str(tmp_path / "a.conll")
    (finding,) = check_files([path], DataConfig(encoding="utf-16")).findings
    assert (finding.severity, finding.message, finding.lines) == (
        "error",
        Says("16", "data.encoding"),
        (1,),
    )


def test_spans_that_fit_no_tokens_are_errors(tmp_path: Path) -> None:
    line = '{"text": "New York", "spans": [[1, 3, "A"]]}\n{"text": "ab", "spans": [[0, 2, "A"]]}\n'
    report = check(tmp_path, {"a.jsonl": line})
    ((severity, message, lines),) = told(report, "unreadable", tmp_path)
    assert (severity, lines) == ("error", (1,))
    assert Says("'ew'", "1", "3", "token").within(message)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(GOOD,))
    writer.start()
    report = check_files([str(tmp_path / "pipe")], DataConfig())
    writer.join(10)
    assert report.files[0].sentences == 2


@pytest.mark.parametrize("cut", [5, 40, 200])
def test_a_damaged_gzip_file_is_a_finding_in_any_encoding(tmp_path: Path, cut: int) -> None:
    rows = "".join(f"w{n * 7919 % 1000}é B-X\n\n" for n in range(2000))
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(rows.encode())[:-cut])
    for encoding in ("utf-8", "latin-1", "cp1252"):
        report = check_files([str(path)], DataConfig(encoding=encoding, format="columns"))
        assert [
            f.message for f in report.findings if f.message.endswith("the gzip file is cut short")
        ]


def test_texts_without_blanks_are_counted_by_their_tokens(tmp_path: Path) -> None:
    text = "这家餐厅的菜很好吃。"
    train = f"good\t{text}\nbad\tnot so good\n"
    report = check(tmp_path, {"train.tsv": train, "dev.tsv": f"good\t{text}\nbad\tx y z\n"})
    assert [facts.tokens for facts in report.files] == [len(text) + 3] * 2
    messages = [finding.message for finding in report.findings]
    assert any("1 text of 5 tokens or more" in message for message in messages), messages
