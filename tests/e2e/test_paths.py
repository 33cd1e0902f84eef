"""Paths that cannot be read: one line and exit status 1, in every command that takes a path."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
from says import Says, refuses

from tagkit.corpus.source.source import Source
from tagkit.errors import DataError, DeviceError

NOBODY = 65534
# What is given to each command, with PATH where the path belongs.
COMMANDS = {
    "train --train": ["train", "--train", "PATH", "-o", "out"],
    "train --dev": ["train", "--train", "train.conll", "--dev", "PATH", "-o", "out"],
    "train --test": ["train", "--train", "train.conll", "--test", "PATH", "-o", "out"],
    "train --config": ["train", "--config", "PATH"],
    "train --init-from": ["train", "--train", "train.conll", "--init-from", "PATH", "-o", "out"],
    "train vectors": ["train", "--train", "train.conll", "--set=embeddings.vectors=PATH", "-o",
                      "out"],
    "train --task classify": ["train", "--task", "classify", "--train", "PATH", "-o", "out"],
    "tune --train": ["tune", "--train", "PATH", "-o", "out"],
    "tune --dev": ["tune", "--train", "train.conll", "--dev", "PATH", "-o", "out"],
    "tune --config": ["tune", "--config", "PATH", "-o", "out"],
    "predict MODEL": ["predict", "PATH", "train.conll"],
    "predict FILE": ["predict", "model", "PATH"],
    "predict --input-format": ["predict", "model", "PATH", "--input-format", "columns"],
    "predict brat": ["predict", "model", "PATH", "--input-format", "brat"],
    "eval MODEL": ["eval", "PATH", "train.conll"],
    "eval FILE": ["eval", "model", "PATH"],
    "eval --gold": ["eval", "--gold", "PATH"],
    "eval --pred": ["eval", "--gold", "train.conll", "--pred", "PATH"],
    "predict --coverage": ["predict", "model", "PATH", "--coverage", "0.9", "--format", "jsonl"],
    "eval --train": ["eval", "--gold", "train.conll", "--pred", "train.conll", "--slices",
                     "--train", "PATH"],
    "eval --html": ["eval", "--gold", "PATH", "--pred", "train.conll", "--html", "out.html"],
    "eval --curve": ["eval", "--gold", "train.conll", "--pred", "train.conll", "--html",
                     "out.html", "--curve", "PATH"],
    "eval --audit": ["eval", "--gold", "train.conll", "--pred", "train.conll", "--html",
                     "out.html", "--audit", "PATH"],
    "eval of systems": ["eval", "--gold", "train.conll", "--pred", "train.conll", "--pred", "PATH"],
    "calibrate MODEL": ["calibrate", "PATH", "train.conll"],
    "calibrate --reset": ["calibrate", "PATH", "--reset"],
    "calibrate DEV": ["calibrate", "model", "PATH"],
    "audit": ["audit", "PATH"],
    "audit --dev": ["audit", "train.conll", "--dev", "PATH"],
    "audit --config": ["audit", "train.conll", "--config", "PATH"],
    "learning-curve --train": ["learning-curve", "--train", "PATH", "-o", "out"],
    "learning-curve --dev": ["learning-curve", "--train", "train.conll", "--dev", "PATH", "-o",
                             "out"],
    "learning-curve --config": ["learning-curve", "--config", "PATH", "-o", "out"],
    "benchmark MODEL": ["benchmark", "PATH", "train.conll"],
    "benchmark FILE": ["benchmark", "model", "PATH"],
    "convert": ["convert", "PATH", "-", "--to", "columns"],
    "convert parallel": ["convert", "PATH", "-", "--to", "columns", "--input-format", "parallel"],
    "convert folder": ["convert", "PATH", "-", "--to", "tsv", "--input-format", "folder"],
    "convert jsonl": ["convert", "PATH", "-", "--to", "columns", "--input-format", "jsonl"],
    "check": ["check", "PATH"],
    "check two": ["check", "train.conll", "PATH"],
    "check --fix": ["check", "PATH", "--fix", "fixed.conll"],
    "info": ["info", "PATH"],
}  # fmt: skip
PATHS = {
    "missing": "no/such.conll",
    "below a locked folder": "locked/file.conll",
    "a locked folder": "locked",
    "unreadable": "secret.conll",
    "unreadable text": "secret.txt",
    "of a long name": "x" * 300,
    "of a long name of a table": "x" * 300 + ".tsv",
    "a loop": "loop.conll",
    "below a loop": "loop.conll/file.conll",
    "below a file": "train.conll/file.conll",
    "an empty folder": "empty",
}
SLOW = ("tune --train", "tune --dev")  # each makes a database first


def is_tried(command: str, path: str) -> bool:
    return command not in SLOW or path in ("missing", "of a long name", "below a locked folder")


WORDS_OF_THE_SYSTEM = ("Errno", "Error(", "PosixPath", "Traceback", "embedded null", "OSError")


def run_all(cases: dict[str, list[str]]) -> dict[str, Any]:
    """Exit status and standard error of each command line, in this process."""
    from tagkit.cli.main import main

    found: dict[str, Any] = {}
    for name, arguments in cases.items():
        errors, output = io.StringIO(), io.TextIOWrapper(io.BytesIO())
        sys.argv = ["tagkit", *arguments]
        sys.stdin = io.TextIOWrapper(io.BytesIO())
        status: Any = 0
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
            try:
                main()
            except SystemExit as ended:
                status = ended.code
            except BaseException as error:
                status = f"{type(error).__name__}: {error}"
        found[name] = [status, errors.getvalue(), output.buffer.getvalue().decode()]
        shutil.rmtree("out", ignore_errors=True)
    return found


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that everybody may enter, with a corpus and with what nobody may read."""
    if not hasattr(os, "setuid"):
        pytest.skip("permissions are those of POSIX")
    folder = Path(tempfile.mkdtemp(prefix="tagkit-paths-"))
    tiny.corpus(folder)
    for name in ("secret.conll", "secret.txt"):
        shutil.copy(folder / "train.conll", folder / name)
    (folder / "locked").mkdir()
    shutil.copy(folder / "train.conll", folder / "locked" / "file.conll")
    (folder / "empty").mkdir()
    (folder / "loop.conll").symlink_to("pool.conll")
    (folder / "pool.conll").symlink_to("loop.conll")
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() else 0o666)
    for name in ("secret.conll", "secret.txt", "locked"):
        (folder / name).chmod(0)
    yield folder
    (folder / "locked").chmod(0o700)
    shutil.rmtree(folder)


def answers_of(place: Path, commands: Sequence[str]) -> dict[str, Any]:
    """What commands say of each path; as a user whom permissions bind."""
    cases = {
        f"{command}: {name}": [word.replace("PATH", path) for word in COMMANDS[command]]
        for command in commands
        for name, path in PATHS.items()
        if is_tried(command, name)
    }
    program = (
        "import json, os, sys, test_paths\n"
        "cases = json.load(sys.stdin)\n"
        # What is imported late has to be imported while Python's own folders can be read.
        "warm = {name: words for name, words in cases.items() if name.endswith(': missing')}\n"
        "test_paths.run_all(warm)\n"
        f"os.geteuid() or os.setuid({NOBODY})\n"
        "print(json.dumps(test_paths.run_all(cases)))\n"
    )
    here = Path(__file__).parent
    folders = [str(here), str(here.parent / "support"), *filter(None, sys.path)]
    ended = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(cases), capture_output=True, text=True,
        cwd=place, env={**os.environ, "PYTHONPATH": os.pathsep.join(folders), "HOME": str(place)},
        timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def is_open_to_all(folder: Path) -> bool:
    """Whether another user can read what is in a folder."""
    return all(part.stat().st_mode & 0o5 == 0o5 for part in (folder, *folder.parents))


LIGHT = [name for name in COMMANDS if name.startswith(("check", "convert", "train --config"))]
HEAVY = [name for name in COMMANDS if name not in LIGHT]  # those that import torch


def cases_of(commands: Sequence[str]) -> list[tuple[str, str]]:
    return [(command, name) for command in commands for name in PATHS if is_tried(command, name)]


@pytest.fixture(scope="module")
def light(place: Path) -> dict[str, Any]:
    return answers_of(place, LIGHT)


@pytest.fixture(scope="module")
def heavy(place: Path) -> dict[str, Any]:
    from tagkit.training.trainer import train

    train(tiny.small(place, "train.max_epochs=1"))
    for path in [place / "model", *(place / "model").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return answers_of(place, HEAVY)


def is_one_clear_line(command: str, status: Any, errors: str, output: str) -> None:
    assert status == 1, errors
    # `check` reports what it cannot read among its findings, on standard output.
    said = output if command.startswith("check") and "error:" not in errors else errors
    lines = [line for line in said.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, said
    assert len(lines[0]) < 1000
    assert not any(word in said for word in WORDS_OF_THE_SYSTEM), said


@pytest.mark.parametrize(("command", "path"), cases_of(LIGHT))
def test_a_path_that_cannot_be_read_is_one_line_and_status_1(
    light: dict[str, Any], command: str, path: str
) -> None:
    is_one_clear_line(command, *light[f"{command}: {path}"])


def test_a_locked_folder_is_named_rather_than_a_file_that_may_be_in_it(
    light: dict[str, Any],
) -> None:
    _, errors, _ = light["convert: a locked folder"]
    assert errors == Says("Permission")


@pytest.mark.slow
@pytest.mark.parametrize(("command", "path"), cases_of(HEAVY))
def test_so_it_is_in_commands_with_a_model(heavy: dict[str, Any], command: str, path: str) -> None:
    if command.startswith("tune") and not is_open_to_all(Path(sys.prefix)):
        pytest.skip("another user cannot read the files that Optuna makes a study of")
    is_one_clear_line(command, *heavy[f"{command}: {path}"])


def test_a_path_with_nul_is_refused_in_a_sentence() -> None:
    with refuses(DataError, "NUL", "opened"):
        next(Source("a\0b.conll", "utf-8").pieces())


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:99999999999", "cuda:٣", "", "CPU", "mps"])
def test_an_unknown_device_is_answered_with_those_that_there_are(name: str) -> None:
    from tagkit.models.base.device import choose_device

    with refuses(DeviceError, "'auto'", "'cpu'", "'cuda'", "'cuda:N'"):
        choose_device(name)
