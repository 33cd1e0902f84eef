"""Reports as tables."""

import re
from pathlib import Path

from program import Program

from tagkit.cli.command_times import Measured
from tagkit.cli.reports import measured_lines
from tagkit.inference.benchmark import Speed


def test_a_matrix_is_printed_whole_or_as_its_largest_cells(tagkit: Program, tmp_path: Path) -> None:
    def compare(pairs: list[tuple[str, str]]) -> str:
        for name, side in (("gold", 0), ("found", 1)):
            rows = "".join(f"{pair[side]}\ttext {n}\n" for n, pair in enumerate(pairs))
            (tmp_path / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
        return tagkit("eval", "--gold", tmp_path / "gold.tsv", "--pred", tmp_path / "found.tsv").out

    small = compare([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    rows = [re.findall(r"[\w\\ ]+", line) for line in small.split("\n") if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [["a", "1", "1"], ["b", "0", "2"]]
    names = [chr(ord("a") + n) for n in range(12)]
    large = compare([*zip(names, names[1:] + names[:1], strict=True), ("b", "c"), ("a", "a")])
    rows = [re.findall(r"\w+", line) for line in large.split("\n") if "│" in line]
    assert rows[0] == ["b", "c", "2"]
    assert len(rows) == 10
    right = compare([("a", "a"), ("b", "b")])
    assert "│" not in right


def test_a_benchmark_is_printed_as_a_table_with_the_change_of_each_precision() -> None:
    speeds = (
        Speed("fp32", 0.9, {1: 10_000, 32: 50_000, 256: 90_000}, (0.5, 1.25, 2.0)),
        Speed("int8", 0.8951, {1: 11_000, 32: 60_000, 256: 99_000}, (0.4, 1.0, 1.5)),
    )
    lines = list(measured_lines(Measured(5000, 200, speeds, 2.0, 2.25, 3.5, 512.4, 1.84, 2)))
    assert [line.split() for line in lines[1:3]] == [
        ["fp32", "90.00", "+0.00", "10,000", "50,000", "90,000", "0.50", "1.25", "2.00"],
        ["int8", "89.51", "-0.49", "11,000", "60,000", "99,000", "0.40", "1.00", "1.50"],
    ]
    assert lines[0].index("p99") + 3 == len(lines[1])
    assert lines[4:] == [
        "tokens per second by sentences per batch; milliseconds for one sentence by itself",
        "corpus     200 sentences, 5,000 tokens",
        "threads    2",
        "start-up   2.25 s for one text, 0.25 s more than to import torch",
        "predict    3.50 s for the corpus, as a whole command",
        "memory     512 MB at its peak",
        "model      1.8 MB on disk",
    ]
