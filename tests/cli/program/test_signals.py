"""Signals end a command with their number, and leave nothing."""

import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tagkit.cli.program.signals import Ended, clean_up_on_signal, stop_on_signal


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
def test_a_signal_ends_a_command_with_its_number_and_leaves_nothing(
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
        assert running.stderr.readline()  # how the input is read, or what is measured
        if command.startswith("predict"):
            (beside,) = set(Path().iterdir()) - set(before)
            while not beside.stat().st_size:  # workers have begun when something is written
                assert running.poll() is None
                time.sleep(0.05)
        running.send_signal(getattr(signal, number))
        said = running.stderr.read().decode()
        assert running.wait(timeout=60) == 128 + getattr(signal, number)
    assert "Traceback" not in said
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
