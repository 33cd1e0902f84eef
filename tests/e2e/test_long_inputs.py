"""Long lines, open quotes and packed files: each reader keeps its limit."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from read_files import items_of, refusal
from says import Says

from tagkit.corpus.formats.table import FORMATS


@pytest.mark.parametrize("name", [name for name in FORMATS if not FORMATS[name].many_files])
@pytest.mark.parametrize("size", [1001, 300_000])
def test_a_line_over_the_limit_is_refused_by_every_reader(
    tmp_path: Path, name: str, size: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\n" + b"x" * size)
    assert refusal(path, format=name, max_line_chars=1000) == (Says("a:2", "1,000", "shorter"))


def test_a_line_of_just_the_limit_is_read_also_between_others(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\n" + b"x" * 1000 + b"\nb\n")
    assert len(items_of(path, format="text", max_line_chars=1000)) == 3
    path.write_bytes(b"a\n" + b"x" * 1001 + b"\nb\n")
    assert Says("a:2") == refusal(path, format="text", max_line_chars=1000)


def test_many_short_lines_are_no_long_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"short line\n" * 50_000)
    assert len(items_of(path, format="text", max_line_chars=1000)) == 50_000


def test_texts_in_files_of_their_own_have_the_limit_too(tmp_path: Path) -> None:
    for label in ("neg", "pos"):
        (tmp_path / "classes" / label).mkdir(parents=True)
        (tmp_path / "classes" / label / "1.txt").write_bytes(b"short\n" * 200)
    assert Says("1.txt:1", "1,000", "shorter") == refusal(tmp_path / "classes", max_line_chars=1000)
    pair = tmp_path / "pair"
    pair.mkdir()
    (pair / "a.txt").write_bytes(b"short\n" * 200)
    (pair / "a.ann").write_bytes(b"")
    assert Says("1,000", "characters").within(refusal(pair, max_line_chars=1000))
    (pair / "a.txt").write_bytes(b"short\n")
    (pair / "a.ann").write_bytes(b"T" * 1001)
    assert Says("a.ann:1").within(refusal(pair, max_line_chars=1000))


def test_a_line_of_a_parallel_file_has_the_limit_too(tmp_path: Path) -> None:
    for name, content in (("seq.in", "a"), ("seq.out", "O" * 1001)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert "seq.out:1: " in refusal(tmp_path, max_line_chars=1000)


@pytest.mark.parametrize("line", ['","\n', "word\n"])
def test_a_quote_that_is_not_closed_does_not_take_the_whole_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\nfine,x\n"' + line * 1000, encoding="utf-8", newline="")
    assert refusal(path, format="csv", max_line_chars=1000) == (Says("a.csv:3", "1,000", "quote"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["columns", "csv", "auto", "jsonl", "tsv"])
def test_a_packed_bomb_is_refused_in_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"a" * (1 << 20))
    program = (
        "from tagkit.cli.commands.benchmark import own_peak_mb\n"
        "from tagkit.corpus.lint.summary import summarise\n"
        "from tagkit.config import DataConfig\n"
        "before = own_peak_mb()\n"
        f"found = summarise({str(path)!r}, DataConfig(format={name!r}, max_line_chars=5_000_000))\n"
        "print(own_peak_mb() - before, found.refusal)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    grown, _, told = ended.stdout.partition(" ")
    assert Says("1", "5,000,000", "characters").within(told)
    assert float(grown) < 60  # MB; unpacked it has 200
