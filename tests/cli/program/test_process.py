"""Signals end a command with their number, and leave nothing but what `predict` has done."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from marks import mostly_slow

from tagkit.cli.program.process import Ended, clean_up_on_signal, stop_on_signal


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("predict model - -o tagged", "SIGTERM"),
        pytest.param("predict model - -o tagged --workers 2", "SIGTERM", marks=pytest.mark.slow),
        pytest.param("predict model - -o tagged", "SIGHUP", marks=pytest.mark.slow),
        pytest.param("predict model - -o tagged", "SIGINT", marks=pytest.mark.slow),
        pytest.param("benchmark model test.conll --rounds 999", "SIGHUP", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_command_with_its_number_and_leaves_what_is_done_alone(
    model: Path, command: str, number: str
) -> None:
    before = sorted(Path().iterdir())
    # A process in the background of a shell ignores Ctrl-C, and so would what it starts.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    start += "from tagkit.cli.main import main; main()"
    program = [sys.executable, "-c", start, *command.split()]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        running.stdin.write(b"Ada\n")
        running.stdin.flush()
        if command.startswith("benchmark"):
            assert running.stderr.readline()  # what is measured
        while command.startswith("predict") and set(Path().iterdir()) == set(before):
            assert running.poll() is None
            time.sleep(0.05)
        if command.startswith("predict"):
            (beside,) = set(Path().iterdir()) - set(before)
            while not beside.stat().st_size:  # workers have begun when something is written
                assert running.poll() is None
                time.sleep(0.05)
        running.send_signal(getattr(signal, number))
        said = running.stderr.read().decode()
        assert running.wait(timeout=60) == 128 + getattr(signal, number)
    assert "Traceback" not in said
    if command.startswith("predict"):  # what is done is kept, and named
        kept = Path("tagged.partial")
        assert f"{kept}: has what was predicted before the signal, 2 lines" in said
        assert "--resume" not in said  # standard input cannot be read again
        assert kept.read_text() == "Ada\tB-PER\n\n"
        kept.unlink()
    assert sorted(Path().iterdir()) == before


# In the midst of a command: `end` takes the place of a function that it calls.
SIGNALLED = """
import os, signal
def end(*arguments):
    found = call(*arguments)
    os.kill(os.getpid(), {number})
    return found
{replace}
"""
SPAWN = "from multiprocessing import util; call, util.spawnv_passfds = util.spawnv_passfds, end"
TO_JSON = "from tagkit.text import json_text; call, json_text.to_json = json_text.to_json, end"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="wants signals of POSIX")
@pytest.mark.parametrize(
    ("command", "replace", "number"),
    [
        ("info model --json", TO_JSON, "SIGTERM"),
        ("info model --json", TO_JSON, "SIGHUP"),
        ("eval model test.conll --json", TO_JSON, "SIGTERM"),
        ("eval model test.conll --json", TO_JSON, "SIGHUP"),
        ("benchmark model test.conll --rounds 1 --json", TO_JSON, "SIGTERM"),
        # While the first worker is being started.
        ("predict model test.conll -o tagged --workers 2", SPAWN, "SIGTERM"),
        ("predict model test.conll -o tagged --workers 2", SPAWN, "SIGHUP"),
    ],
)
def test_a_signal_in_the_midst_of_a_command_is_one_line_and_its_status(
    model: Path, command: str, replace: str, number: str
) -> None:
    before = sorted(Path().rglob("*"))
    start = SIGNALLED.format(number=int(getattr(signal, number)), replace=replace)
    program = f"{start}from tagkit.cli.main import main; main()"
    # A process that is left would hold the pipes open until the time limit.
    ended = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr
    progress = (": read as ", " ...")  # of benchmark: what it measures
    said = [line for line in ended.stderr.splitlines() if not any(p in line for p in progress)]
    assert said == ["stopped"]
    assert (ended.returncode, ended.stdout) == (128 + getattr(signal, number), "")
    assert sorted(Path().rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_at_once_what_waits_for_a_corpus(tmp_path: Path, number: int) -> None:
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    start += "from tagkit.cli.main import main; main()"
    command = ["train", "--train", "-", "-o", str(tmp_path / "model"), "-q"]
    program = [sys.executable, "-c", start, *command]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        while not (tmp_path / "model").exists():  # its lock is there, and the corpus is due
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(number)
        assert running.wait(timeout=60) == 128 + number
        assert running.stderr.read() == b"stopped\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_training_looks_at_the_event_the_first_signal_sets_it(number: int) -> None:
    error = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Ended}[number]
    with stop_on_signal() as stop:
        with pytest.raises(error):
            signal.raise_signal(number)
        assert not stop.is_set()
        signal.raise_signal(number)
        assert stop.is_set()
        with pytest.raises(error):
            signal.raise_signal(number)


class Signalling:
    """An object at whose end a signal arrives, where Python swallows all exceptions."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("context", [clean_up_on_signal, stop_on_signal])
@pytest.mark.parametrize("seconds", [0, 5])  # whether the body ends before it is sent again
def test_a_signal_whose_exception_python_swallows_comes_again(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    context: Callable[[], AbstractContextManager[object]],
    seconds: int,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)  # not that of pytest
    # `clean_up_on_signal` leaves SIGINT to Python, which has no handler where it was ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    error = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Ended}[number]

    def end() -> None:
        with context():
            Signalling(number)
            time.sleep(seconds)

    try:
        with pytest.raises(error):
            end()
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == ""
    assert sys.unraisablehook is sys.__unraisablehook__


def test_a_signal_in_the_callback_of_a_weak_reference_comes_again() -> None:
    references = []

    def end() -> None:
        watched = {1, 2}
        references.append(weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGTERM)))
        with clean_up_on_signal():
            del watched
            time.sleep(5)

    with pytest.raises(Ended):
        end()


def test_other_exceptions_that_python_swallows_are_shown_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: shown.append(ignored.exc_type))

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    with clean_up_on_signal():
        Failing()
    assert shown == [ValueError]


resource = pytest.importorskip("resource")  # of Unix

PROBLEMS = {"/dev/full": "No space left on device", "&-": "Bad file descriptor"}


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error_message(model: Path) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()'"
    lines = "Ada visits Rome.\n" * 5000
    shell = f"{program} predict {model} --threads=1 | head -n 1"
    ended = subprocess.run(
        shell, shell=True, input=lines.encode(), capture_output=True, timeout=120, check=False
    )
    assert ended.stdout == b"Ada\tB-PER\n"
    assert b"Traceback" not in ended.stderr
    assert b"BrokenPipe" not in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("command", "target"),
    mostly_slow(
        # Of the first two one imports torch, which takes seconds, and one does not.
        [("predict model train.conll", "/dev/full"),
         ("eval --gold test.conll --pred test.conll --json", "&-"),
         ("predict model train.conll", "&-"),
         ("eval --gold test.conll --pred test.conll --json", "/dev/full"),
         *((command, target)
           for command in ("info model", "info model --json", "eval model test.conll",
                           "benchmark model test.conll --rounds 1",
                           "benchmark model test.conll --rounds 1 --json")
           for target in PROBLEMS)],
        always=2,
    ),
)  # fmt: skip
def test_a_full_disk_behind_standard_output_is_one_line(
    model: Path, command: str, target: str
) -> None:
    program = f"{sys.executable} -c 'from tagkit.cli.main import main; main()' {command}"
    ended = subprocess.run(
        f"{program} >{target}", shell=True, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last == f"error: standard output: cannot be written: {PROBLEMS[target]}"
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("unbuffered", [[], ["-u"]])
def test_who_holds_the_streams_of_before_can_still_write_to_them(unbuffered: list[str]) -> None:
    code = (
        "import logging, sys; logging.basicConfig(format='%(message)s')\n"
        "from tagkit.cli.program.process import prepare_streams; prepare_streams()\n"
        "logging.warning('held'); print('new'); sys.__stdout__.write('old\\n')"
    )
    ended = subprocess.run(
        [sys.executable, *unbuffered, "-c", code],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("new\nold\n", "held\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_of_which_the_system_takes_a_part_is_an_error(
    tmp_path: Path, unbuffered: str
) -> None:
    code = "from tagkit.cli.main import main; main()"
    with (tmp_path / "out").open("wb") as out:
        ended = subprocess.run(
            [sys.executable, "-c", code, "config"],
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
            # Compiled modules would be cut off as well, and kept.
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"},
            # Of a write beyond that the system takes the first part, and says how much.
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
        )  # fmt: skip
    assert (ended.returncode, (tmp_path / "out").stat().st_size) == (1, 5000)
    assert ended.stderr == "error: standard output: cannot be written: File too large\n"
