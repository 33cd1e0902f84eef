"""The fuzzers find nothing; and they would: a bug that is planted is found, kept and replayed."""

import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.formats.lines import fasttext
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, TagkitError

from .__main__ import main
from .case import Case, LawBroken, Target
from .engine import Room, bound_memory, case_of, check_message, fuzz, guarded, judge
from .samples import SAMPLES
from .targets import TARGETS

_SEED = 1
_QUICK = 40  # inputs of each target that needs no model, in the default suite
_SLOW = 30_000  # inputs of all targets together, each by its share
_WITHOUT_MODEL = [name for name, target in TARGETS.items() if target.warm is None]


def findings(target: Target, count: int) -> list[str]:
    """What is found among the first inputs of a target."""
    if target.warm:
        target.warm()
    with Room() as room, guarded():
        bound_memory()
        return [
            f"{finding.key} (input {number})\n{finding.detail}"
            for number, _, finding in fuzz(target, _SEED, 0, count, room)
        ]


@pytest.mark.parametrize("name", _WITHOUT_MODEL)
def test_a_few_inputs_break_nothing(name: str) -> None:
    assert findings(TARGETS[name], _QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs_break_nothing(name: str) -> None:
    whole = sum(target.share for target in TARGETS.values())
    count = max(1, _SLOW * TARGETS[name].share // whole)
    assert findings(TARGETS[name], count) == []


def test_every_format_is_fuzzed_in_reading_and_in_writing() -> None:
    assert SAMPLES.keys() == FORMATS.keys()
    assert {*FORMATS, *(f"write-{name}" for name in FORMATS)} <= TARGETS.keys()


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_valid_before_they_are_altered(name: str, tmp_path: Path) -> None:
    read = 0
    for number in range(60):
        sample = SAMPLES[name].make(Random(f"{name}{number}"))
        folder = tmp_path / str(number)
        for file, text in sample.files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(text.encode("utf-8", "replace"))
        data = DataConfig(format=name)
        source = Source(str(folder / sample.path), "utf-8")
        try:
            read += bool(
                list(FORMATS[name].records(source, ReaderOptions(data, with_tags=False)).items)
            )
        except TagkitError:
            continue
    assert read >= 40


@pytest.mark.parametrize("name", _WITHOUT_MODEL)
def test_the_same_seed_gives_the_same_input(name: str) -> None:
    target = TARGETS[name]
    one, again, other = (case_of(target, seed, 5) for seed in (1, 1, 2))
    assert one == again
    assert one != other


@pytest.mark.slow
def test_a_planted_bug_is_found_made_small_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fasttext._split

    def planted(line: str) -> tuple[tuple[str, ...], str]:
        if "\u200b" in line:
            raise IndexError("tuple index out of range")
        return whole(line)

    command = ["--target", "fasttext", "--inputs", "2000", "--findings", str(tmp_path / "found")]
    assert main(command) == 0
    with monkeypatch.context() as patched:
        patched.setattr(fasttext, "_split", planted)
        assert main(command) == 1
        (file,) = (tmp_path / "found").iterdir()
        said = capsys.readouterr().out
        assert "fasttext: IndexError in " in said
        assert f"python -m tests.fuzz --replay {file}" in said
        name, case = Case.from_json(file.read_text(encoding="utf-8"))
        assert name == "fasttext"
        assert sum(map(len, case.files.values())) < 60
        assert main(["--replay", str(file)]) == 1
        assert "IndexError: tuple index out of range" in capsys.readouterr().out
    assert main(["--replay", str(file)]) == 0


def _wait(_: Case, room: Path) -> None:
    time.sleep(5)


def _loop_that_catches_errors(_: Case, room: Path) -> None:
    while True:
        try:
            time.sleep(0.01)
        except Exception:  # as a careless reader does
            continue


def _ask_for_memory(_: Case, room: Path) -> None:
    bytearray(8 << 30)


def _warn(_: Case, room: Path) -> None:
    warnings.warn("odd", stacklevel=1)


def _write_elsewhere(_: Case, room: Path) -> None:
    (room / "new").write_text("x")


def _change_input(_: Case, room: Path) -> None:
    (room / "input").write_text("changed")


def _remove_input(_: Case, room: Path) -> None:
    (room / "input").unlink()


def _recurse(_: Case, room: Path) -> None:
    json.loads("[" * 1_000_000)


def _quote_errno(_: Case, room: Path) -> None:
    raise DataError("a: [Errno 21] Is a directory")


def _exit(_: Case, room: Path) -> None:
    sys.exit(3)


@pytest.mark.parametrize(
    ("run", "key"),
    [
        (_wait, "planted: over 0.2 s"),
        (_loop_that_catches_errors, "planted: over 0.2 s"),
        (_ask_for_memory, "planted: MemoryError in no frame of tagkit"),
        (_warn, "planted: UserWarning in no frame of tagkit"),
        (_write_elsewhere, "planted: files changed"),
        (_change_input, "planted: files changed"),
        (_remove_input, "planted: files changed"),
        (_recurse, "planted: RecursionError in no frame of tagkit"),
        (_quote_errno, "planted: a message says '[Errno' (no frame of tagkit)"),
        (_exit, "planted: SystemExit in no frame of tagkit"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_goes_wrong_is_a_finding(run: object, key: str) -> None:
    case = Case({"input": b"x", "out/keep": b"y"})
    target = Target("planted", lambda rng: case, run, share=1, outputs=("out",), seconds=0.2)  # type: ignore[arg-type]
    with Room() as room, guarded():
        bound_memory()
        finding = judge(target, case, room)
        assert finding is not None
        assert finding.key == key
        # The next one starts afresh.
        harmless = replace(target, run=lambda case, room: (room / "out/x").touch())
        assert judge(harmless, case, room) is None


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("a.txt:1: expected\tx", "a message has a control character"),
        ("a.txt:1: \x1b[31mred", "a message has a control character"),
        ("a.txt:1: \x9b", "a message has a control character"),
        ("a.txt: KeyError('x')", "a message says 'KeyError'"),
        ("a.toml: expected an instance of DataConfig", "a message says 'instance of '"),
        ("a.toml: Value error, x", "a message says 'Value error,'"),
        ("x" * 5000, "a message is too long"),
        ("x\n" * 30_000, "a message is too long"),
    ],
)  # fmt: skip
def test_a_message_that_is_not_for_people_is_a_finding(text: str, law: str) -> None:
    with pytest.raises(LawBroken) as caught:
        check_message(text)
    assert caught.value.law == law


def test_a_message_for_people_is_none() -> None:
    check_message("a.conll:3: expected 2 columns as on line 1, found 3: 'a\\tb\\x00'\nand 日本")


def test_a_case_is_the_same_behind_its_file() -> None:
    case = Case({"a/b": b"\x00\xff"}, {"text": "\ud800", "list": [1, None]})
    assert Case.from_json(case.to_json("columns", "why")) == ("columns", case)
