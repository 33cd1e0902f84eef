"""`predict -o OUT`, stopped in any way, and gone on with: byte for byte what one run writes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tiny
from program import SMALL, Ended, Program
from says import Says

from tagkit.cli.main import main
from tagkit.inference.stream import stream
from tagkit.storage import OutputWriter


@pytest.fixture
def tagkit(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capsysbinary)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tagger and a classifier."""
    folder = tmp_path_factory.mktemp("models")
    tiny.corpus(folder)
    splits = ("train", "dev", "test")
    files = {
        "tag": [folder / f"{split}.conll" for split in splits],
        "classify": [*tiny.classified(folder).values()],
    }
    for task, corpora in files.items():
        named = [f"--{split}={file}" for split, file in zip(splits, corpora, strict=True)]
        with pytest.MonkeyPatch.context() as patch:
            arguments = ["train", "--task", task, *named, "-o", str(folder / task), "-q", *SMALL]
            patch.setattr(sys, "argv", ["tagkit", *arguments])
            with pytest.raises(SystemExit, match=r"^0$"):
                main()
    return folder


WORDS = "Ada Ben Rome Oslo visits leaves likes . in New York".split()


def sentences(seed: int, count: int = 40) -> list[list[str]]:
    dice = random.Random(seed)
    return [dice.choices(WORDS, k=dice.randint(1, 9)) for _ in range(count)]


def as_text(seed: int) -> str:
    return "".join(f"{' '.join(words)}\n" * (1 + (len(words) > 8)) for words in sentences(seed))


def as_columns(seed: int) -> str:
    """Its last sentence without the blank line that ends it."""
    rows = ("\n".join(f"{word}\tX" for word in words) for words in sentences(seed))
    return "# of a corpus\n\n-DOCSTART-\tX\n\n" + "\n\n".join(rows) + "\n"


def as_conllu(seed: int) -> str:
    return "".join(
        f"# sent_id = {number}\n"
        + "".join(f"{place}\t{word}" + 8 * "\t_" + "\n" for place, word in enumerate(words, 1))
        + "\n"
        for number, words in enumerate(sentences(seed))
    )


def as_jsonl(seed: int) -> str:
    records = ({"id": at, "text": " ".join(words)} for at, words in enumerate(sentences(seed)))
    return "".join(f"{json.dumps(record)}\n" for record in records)


def as_csv(seed: int) -> str:
    rows = (f'{at},"{" ".join(words)}"\n' for at, words in enumerate(sentences(seed)))
    return "number,text\n" + "".join(rows)


@dataclass(frozen=True)
class Case:
    """Files to predict, by name, and how."""

    files: dict[str, str]
    options: list[str] = field(default_factory=list)
    model: str = "tag"
    inputs: tuple[str, ...] = ()


CASES = {
    "text": Case({"a.txt": as_text(1)}),
    "columns": Case({"a.conll": as_columns(2), "b.conll": as_columns(3)}, ["--confidence"]),
    "conllu": Case({"a.conllu": as_conllu(4), "b.conllu": as_conllu(5)}),
    "json lines": Case({"a.jsonl": as_jsonl(6)}, ["--format", "jsonl", "--confidence"]),
    "json spans": Case({"a.jsonl": as_jsonl(7), "b.txt": as_text(8)}, ["--format", "jsonl-spans"]),
    "documents": Case({"d/a.txt": as_text(9), "d/b.txt": as_text(10)}, inputs=("d",)),
    "show": Case({"a.txt": as_text(11)}, ["--format", "show"]),
    "csv": Case({"a.csv": as_csv(12)}, ["--format", "csv", "--confidence"], "classify"),
    "classes": Case({"a.txt": as_text(13), "b.txt": ""}, ["--top", "2"], "classify"),
    "improbable": Case({"a.txt": as_text(14)}, ["--min-confidence", "0.6"]),
}


def command(case: Case, models: Path) -> list[str]:
    """The command for files that are put into the working folder."""
    for name, content in case.files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    return ["predict", str(models / case.model), *(case.inputs or case.files), *case.options,
            "-o", "out"]  # fmt: skip


@contextmanager
def stopping(at: int) -> Iterator[list[str]]:
    """Ctrl-C comes right after a write of the output; what is written before is collected."""
    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        write = OutputWriter.__call__

        def stopped(self: OutputWriter, text: str) -> None:
            write(self, text)
            written.append(text)
            if len(written) == at:
                raise KeyboardInterrupt

        patch.setattr(OutputWriter, "__call__", stopped)
        yield written


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stream, "WINDOW_WORDS", 40)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", CASES)
def test_stopped_at_any_write_and_resumed_it_is_one_run_byte_for_byte(
    tagkit: Program, models: Path, name: str
) -> None:
    arguments = command(CASES[name], models)
    with stopping(0) as writes:
        whole = tagkit(*arguments)
    assert whole.code == 0
    expected = Path("out").read_bytes()
    Path("out").unlink()
    before = sorted(os.listdir())
    assert len(writes) > 4
    for at in {1, 2, len(writes) // 2, len(writes)}:
        with stopping(at):
            stopped = tagkit(*arguments)
        assert stopped.code == 130
        if at > 2:  # else not all of a chunk may be there
            assert Says("out.partial", "--resume").within(stopped.err.splitlines())
        assert not Path("out").exists()
        with stopping(2):  # and once more
            tagkit(*arguments, "--resume")
        resumed = tagkit(*arguments, "--resume")
        assert resumed.code == 0
        assert Path("out").read_bytes() == expected
        assert resumed.err.splitlines()[-1:] == whole.err.splitlines()[-1:]  # what was removed
        Path("out").unlink()
        for path in Path().glob("out.partial*"):  # where less than a chunk was written
            assert at <= 2
            path.unlink()
        assert sorted(os.listdir()) == before


@pytest.fixture
def half(
    tagkit: Program, models: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: None
) -> list[str]:
    """A command that was stopped in its middle."""
    arguments = command(CASES["text"], models)
    with stopping(6):
        assert tagkit(*arguments).code == 130
    return arguments


def test_what_an_earlier_command_has_answered_is_not_predicted_again(
    tagkit: Program, half: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def words_of(*arguments: str) -> int:
        counted = []
        annotate = stream.SerialWorker.submit

        def submit(self: Any, chunk: Any) -> Any:
            counted.append(len(chunk.lines))
            return annotate(self, chunk)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream.SerialWorker, "submit", submit)
            assert tagkit(*arguments).code == 0
        return sum(counted)

    rest, all_lines = words_of(*half, "--resume"), words_of(*half)
    assert 0 < rest < all_lines * 0.7


def changed_input(half: list[str]) -> list[str]:
    Path("a.txt").write_text("Eve" + Path("a.txt").read_text()[3:])
    return half


def shorter_input(half: list[str]) -> list[str]:
    Path("a.txt").write_text("Ada\n")
    return half


def changed_output(half: list[str]) -> list[str]:
    Path("out.partial").write_text("x" + Path("out.partial").read_text()[1:])
    return half


def other_model(half: list[str]) -> list[str]:
    return [*half[:1], half[1].replace("tag", "classify"), *half[2:]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed_input, ["out.partial", "inputs", "changed"]),
        (shorter_input, ["out.partial", "inputs", "changed"]),
        (changed_output, ["out.partial", "remove it"]),
        (other_model, ["out.partial", "differs in model"]),
        (lambda half: [*half, "--confidence"], ["out.partial", "differs in --confidence"]),
        (lambda half: [*half[:2], "b.txt", *half[3:]], ["out.partial", "differs in inputs"]),
        (lambda half: [*half[:-2], "-o", "out.html"], ["html", "--resume"]),
        (lambda half: [*half[:-2], "-o", "out.gz"], ["out.gz", "packed", "--resume"]),
        (lambda half: half[:-2], ["standard output", "--resume"]),
        (lambda half: [*half[:2], "-", *half[3:]], ["standard input", "--resume"]),
    ],
)
def test_anything_that_has_changed_is_refused_in_one_sentence_and_nothing_is_lost(
    tagkit: Program, half: list[str], change: Any, said: list[str]
) -> None:
    Path("b.txt").write_text("Ada\n")
    arguments = change(half)
    kept = Path("out.partial").read_bytes()
    ended = tagkit(*arguments, "--resume", "-q")
    assert ended.code == 1
    assert ended.err.splitlines()[0] == Says("error: ", *said)
    assert ended.err.count("\n") == 1
    found = Path("out.partial").read_bytes()  # perhaps without what no chunk has ended
    assert found == kept[: len(found)]
    assert len(found) > len(kept) / 2
    assert not Path("out").exists()


def test_an_error_beyond_what_is_done_can_be_corrected_or_skipped(
    tagkit: Program, models: Path, small_chunks: None
) -> None:
    good, bad = as_jsonl(1), '{"text": 5}\n'
    Path("a.jsonl").write_text(good)
    Path("b.jsonl").write_text(bad + good)
    arguments = ["predict", models / "tag", "a.jsonl", "b.jsonl", "-o", "out.jsonl"]
    stopped = tagkit(*arguments)
    assert stopped.code == 1
    assert stopped.err.splitlines()[-1] == Says("out.jsonl.partial", "--resume", "--on-bad-record")
    tagkit(*arguments[:-1], "other.jsonl", "--on-bad-record", "skip")
    assert tagkit(*arguments, "--resume", "--on-bad-record", "skip").code == 0
    assert Path("out.jsonl").read_bytes() == Path("other.jsonl").read_bytes()


def test_without_an_unfinished_output_it_begins(tagkit: Program, half: list[str]) -> None:
    assert tagkit(*half[:-1], "new", "--resume").code == 0
    assert Path("out.partial").exists()
    assert len(Path("new").read_text().split("\n\n")) > 10


PROGRAM = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tagkit.inference.stream import journal, stream
stream.WINDOW_WORDS, journal._EVERY_S = 200, 0.0
from tagkit.cli.main import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "workers"),
    [("text", "2"), ("columns", "1"), ("conllu", "2"), ("json lines", "1"), ("csv", "2")],
)
def test_killed_at_random_moments_and_resumed_it_is_one_run(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, workers: str
) -> None:
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    long = {}
    for each, content in case.files.items():
        head, end, rest = content.partition("\n")  # a table has one
        is_table = name == "csv"
        long[each] = (head + end) * is_table + f"{rest if is_table else content}\n" * 80
    arguments = command(Case(long, case.options, case.model), models)
    program = [sys.executable, "-c", PROGRAM, *arguments]
    subprocess.run(program, capture_output=True, check=True)
    expected = Path("out").read_bytes()
    Path("out").unlink()
    dice, kills = random.Random(name), 0
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
        running = subprocess.Popen(
            [*program, "--resume", "--workers", workers], stderr=subprocess.PIPE
        )
        size, manifest = 0, Path("out.partial.manifest")
        before = manifest.stat().st_size if manifest.exists() else 0
        while running.poll() is None and size <= before:
            time.sleep(0.01)
            size = manifest.stat().st_size if manifest.exists() else 0
        time.sleep(dice.random() * 0.3)
        running.send_signal(number)
        running.communicate(timeout=120)
        if running.returncode == 0:
            break
        kills += 1
        assert running.returncode in (-number, 128 + number)
        assert Path("out.partial").exists()
        assert not Path("out").exists()
    assert kills
    if not Path("out").exists():
        subprocess.run([*program, "--resume"], capture_output=True, check=True)
    assert Path("out").read_bytes() == expected
    assert not [*Path().glob("out.partial*")]


def test_two_commands_do_not_go_on_with_one_output(
    tagkit: Program, half: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")  # of Unix
    with open("out.partial", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ended: Ended = tagkit(*half, "--resume")
    assert (ended.code, ended.err) == (1, Says("out.partial", "another process"))
