"""`tagkit benchmark`: speed, latency, memory."""

import json
import sys
from pathlib import Path

import pytest
from peaks import peak_mb
from program import Program
from says import Says

from tagkit.cli.commands import benchmark as command_times
from tagkit.cli.commands.benchmark import PROGRAM, CommandTimes, measured_lines
from tagkit.errors import DataError
from tagkit.inference.score.benchmark import Speed


@pytest.mark.slow
def test_benchmark_tells_speed_latency_memory_and_what_fewer_bits_cost(
    tagkit: Program, model: Path, home: Path
) -> None:
    found = json.loads(
        tagkit("benchmark", model, home / "test.conll", "--rounds", "1", "--json").out
    )
    assert (found["sentences"], found["tokens"]) == (20, 104)
    assert [speed["precision"] for speed in found["speeds"]] == ["fp32", "bf16", "int8"]
    report = json.loads(tagkit("eval", model, home / "test.conll", "--json").out)
    assert found["speeds"][0]["score"] == pytest.approx(report["micro"]["f1"])
    for speed in found["speeds"]:
        assert list(speed["tokens_per_s"]) == ["1", "32", "256"]
        assert all(rate > 0 for rate in speed["tokens_per_s"].values())
        assert 0 < speed["latency_ms"][0] <= speed["latency_ms"][1] <= speed["latency_ms"][2]
    assert min(found["torch_s"], found["startup_s"], found["command_s"]) > 0.3
    # That of the command alone, although this process is larger.
    assert found["peak_mb"] == pytest.approx(
        peak_mb("predict", model, home / "test.conll"), rel=0.1
    )
    assert 0 < found["model_mb"] < 1
    refused = tagkit("benchmark", model, home / "none.conll")
    assert (refused.code, refused.err) == (1, Says(home, "none.conll"))


@pytest.mark.slow
def test_the_columns_of_a_table_are_named_as_elsewhere(
    tagkit: Program, intents: Path, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id;body;kind\n1;hello there , Ada .;greet\n2;goodbye now;leave\n", "utf-8")
    columns = ["--text-column", "body", "--label-column", "kind"]
    ended = tagkit("benchmark", intents / "model", table, "--rounds", "1", "--json", *columns)
    found = json.loads(ended.out)
    assert found["sentences"] == 2
    assert found["command_s"] > 0
    score = json.loads(tagkit("eval", intents / "model", table, "--json", *columns).out)
    assert found["speeds"][0]["score"] == score["accuracy"]


WITHOUT_TORCH = ["-c", "import sys; sys.exit('importing ...\\nlibtorch.so: cannot open')"]
KILLED = ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (WITHOUT_TORCH, ("importing ...", "libtorch.so: cannot open")),
        (KILLED, (f"{sys.executable}: ended with status -9 and no message",)),
        # Its last line, the peak, is no part of the message.
        (["-c", PROGRAM, "predict", "none", "none.txt"],
         (Says("none: ", "tagkit train"),)),
    ],
)  # fmt: skip
def test_the_error_of_a_program_that_fails_is_the_whole_of_its_message(
    program: list[str], lines: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as failed:
        command_times._runs([sys.executable, *program], 1)
    assert failed.value.lines == lines


def test_a_benchmark_is_printed_as_a_table_with_the_change_of_each_precision() -> None:
    speeds = (
        Speed("fp32", 0.9, {1: 10_000, 32: 50_000, 256: 90_000}, (0.5, 1.25, 2.0)),
        Speed("int8", 0.8951, {1: 11_000, 32: 60_000, 256: 99_000}, (0.4, 1.0, 1.5)),
    )
    lines = list(measured_lines(CommandTimes(5000, 200, speeds, 2.0, 2.25, 3.5, 512.4, 1.84, 2)))
    assert [line.split() for line in lines[1:3]] == [
        ["fp32", "90.00", "+0.00", "10,000", "50,000", "90,000", "0.50", "1.25", "2.00"],
        ["int8", "89.51", "-0.49", "11,000", "60,000", "99,000", "0.40", "1.00", "1.50"],
    ]
    assert lines[0].index("p99") + 3 == len(lines[1])
    assert max(map(len, lines)) < 80
    assert lines[4:] == [
        "tokens per second by sentences per batch; milliseconds for a sentence alone",
        "corpus     200 sentences, 5,000 tokens",
        "threads    2",
        "start-up   2.25 s for one text; importing torch alone takes 2.00 s",
        "predict    3.50 s for the corpus, as a whole command",
        "memory     512 MB at its peak",
        "model      1.8 MB on disk",
    ]
