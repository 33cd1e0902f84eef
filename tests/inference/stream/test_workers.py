"""Several workers on one input: whatever befalls them, it ends with a message and in time."""

import importlib
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pydoc import locate  # makes a function of its name

import pytest
from kinds import asked
from says import Says, refuses

from tagkit.errors import DeviceError
from tagkit.inference.stream import workers
from tagkit.inference.stream import workers as worker
from tagkit.inference.stream.chunks import Chunk, Line, Lines
from tagkit.inference.stream.workers import Worker, WorkerConfig, WorkerPool

OPTIONS = asked(batch_size=4)
CONFIG = WorkerConfig(Path("no model"), "cpu", "fp32", 1, OPTIONS)
WINDOW = Lines("a.txt", [Line("Ada", 1, 0)])


def hang_at_start(_: WorkerConfig) -> Callable[[Chunk], str]:
    time.sleep(60)
    return str


def hang_at_work(_: WorkerConfig) -> Callable[[Chunk], object]:
    return lambda _: time.sleep(60)


def repeat(_: WorkerConfig) -> Callable[[Lines], str]:
    def answer(chunk: Lines) -> str:
        time.sleep(0.05 if chunk.lines[0].number % 2 else 0)
        return chunk.lines[0].text

    return answer


def at_leisure(chunk: Lines) -> str:
    """In this process, where the others are slow or have ended."""
    time.sleep(0.1)
    return f"here {chunk.lines[0].text}"


def answer_many(pool: WorkerPool) -> None:
    for _ in range(200):
        list(pool.submit(WINDOW))


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_worker_are_refused(count: int) -> None:
    with pytest.raises(DeviceError) as caught:
        WorkerPool(count, CONFIG, str)
    assert str(caught.value) == Says("workers", "1", count)


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_build_annotator", repeat)
    found: list[object] = []
    with WorkerPool(2, CONFIG, repeat(CONFIG)) as pool:
        for number in range(12):
            found += pool.submit(Lines("a.txt", [Line(str(number), number, 0)]))
            assert number - len(found) < 4  # two are being read, two wait
        found += pool.drain()
    assert found == [str(number) for number in range(12)]
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_workers_that_hang_at_their_start_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "START_LIMIT_S", 1.0)
    monkeypatch.setattr(workers, "_build_annotator", hang_at_start)
    begin_s = time.monotonic()
    with WorkerPool(2, CONFIG, at_leisure) as pool:
        with refuses(DeviceError, "1", "ready"):
            answer_many(pool)
    assert time.monotonic() - begin_s < 30
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_workers_that_are_killed_at_work_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_build_annotator", hang_at_work)
    with WorkerPool(2, CONFIG, at_leisure) as pool:
        list(pool.submit(WINDOW))
        while not pool._pending[0].elsewhere.running():
            time.sleep(0.01)
        for child in multiprocessing.active_children():
            os.kill(child.pid or 0, signal.SIGKILL)
        with refuses(DeviceError, "worker"):
            list(pool.drain())
        with refuses(DeviceError, "worker"):
            answer_many(pool)


def test_a_short_input_does_not_wait_for_the_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_build_annotator", hang_at_start)
    with WorkerPool(3, CONFIG, at_leisure) as pool:
        found = [*pool.submit(WINDOW), *pool.submit(WINDOW), *pool.drain()]
    assert found == ["here Ada", "here Ada"]
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_this_process_and_the_others_share_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_build_annotator", repeat)
    with WorkerPool(2, CONFIG, at_leisure) as pool:
        list(pool.submit(WINDOW))
        while not pool._pending[0].is_done:  # the other process has begun
            time.sleep(0.01)
        found = [output for _ in range(20) for output in pool.submit(WINDOW)]
        found += pool.drain()
    assert len(found) == 21
    assert set(found) == {"Ada", "here Ada"}


@pytest.mark.slow
def test_a_model_that_another_process_cannot_load_ends_the_work() -> None:
    with WorkerPool(2, CONFIG, at_leisure) as pool:
        with refuses(DeviceError, "worker"):
            answer_many(pool)


def test_leaving_does_not_wait_for_windows_that_are_being_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_build_annotator", hang_at_work)
    begin_s = time.monotonic()
    with WorkerPool(2, CONFIG, at_leisure) as pool:
        for _ in range(4):
            list(pool.submit(WINDOW))
    assert time.monotonic() - begin_s < 30
    assert not multiprocessing.active_children()


def test_where_the_second_process_is_refused_the_first_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = multiprocessing.process.BaseProcess.start
    started: list[object] = []

    def refuse_the_second(process: multiprocessing.process.BaseProcess) -> None:
        if started:
            raise OSError(12, "Cannot allocate memory")
        started.append(process)
        start(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse_the_second)
    monkeypatch.setattr(workers, "_build_annotator", hang_at_work)
    with WorkerPool(3, CONFIG, at_leisure) as pool:
        with refuses(DeviceError, "allocate"):
            list(pool.submit(WINDOW))
    assert len(started) == 1
    assert not multiprocessing.active_children()


def test_one_worker_is_this_process() -> None:
    with WorkerPool(1, CONFIG, at_leisure) as pool:
        assert list(pool.submit(WINDOW)) == ["here Ada"]
        assert list(pool.drain()) == []
    assert not multiprocessing.active_children()


REMEDY = "if memory is short, try fewer workers=..."


def test_a_worker_answers_in_a_process_of_its_own() -> None:
    one: Worker[str, int] = Worker(locate, "builtins.eval")
    try:
        assert one.call("1 + 1") == 2
        pid = one.call("__import__('os').getpid()")
        assert pid == one.pid != os.getpid()
    finally:
        one.kill()
    assert one.pid not in [child.pid for child in multiprocessing.active_children()]


def test_a_worker_that_is_not_ready_in_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "START_LIMIT_S", 0.5)
    one: Worker[int, int] = Worker(time.sleep, 60)  # type: ignore[arg-type]
    with pytest.raises(DeviceError) as caught:
        one.call(1)
    assert str(caught.value) == (Says("0", "seconds"))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("make", "setup", "message"),
    [
        (os._exit, 3, f"a worker ended before its work was done; {REMEDY}"),
        (
            importlib.import_module,
            "no_such_module",
            f"a worker could not start: No module named 'no_such_module'; {REMEDY}",
        ),
        (bytes, 10**15, f"a worker could not start: out of memory; {REMEDY}"),
        (open, "/no/such/file", f"a worker could not start: No such file or directory; {REMEDY}"),
    ],
)
def test_a_worker_that_cannot_start_says_why(make: object, setup: object, message: str) -> None:
    one: Worker[int, int] = Worker(make, setup)  # type: ignore[arg-type]
    try:
        with pytest.raises(DeviceError) as caught:
            one.call(1)
    finally:
        one.kill()
    assert str(caught.value) == message


def test_a_worker_that_is_killed_at_work_is_noticed() -> None:
    one: Worker[float, None] = Worker(locate, "time.sleep")
    one.call(0)
    assert one.pid
    threading.Timer(0.2, os.kill, (one.pid, signal.SIGKILL)).start()
    for _ in range(2):  # and asking again is no worse
        with refuses(DeviceError, "worker"):
            one.call(60)
    one.kill()


def answer_and_die(seconds: float) -> Callable[[int], bytes]:
    def answer(size: int) -> bytes:
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return bytes(size)

    return answer


# Of half a second that the answer takes: before it is sent, and while it is.
@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.05, 0.15, 0.2, 0.25, 0.3])
def test_a_worker_that_is_killed_while_it_answers_is_noticed(seconds: float) -> None:
    one: Worker[int, bytes] = Worker(answer_and_die, seconds)
    with suppress(DeviceError):  # or it has answered
        assert len(one.call(200_000_000)) == 200_000_000
        one.call(0)
    one.kill()


def test_a_worker_out_of_memory_says_so_and_answers_the_next_question() -> None:
    one: Worker[int, bytes] = Worker(locate, "builtins.bytes")
    try:
        with pytest.raises(DeviceError) as caught:
            one.call(10**15)
        assert str(caught.value) == f"a worker is out of memory: out of memory; {REMEDY}"
        assert one.call(2) == b"\0\0"
    finally:
        one.kill()


def test_a_mistake_in_the_program_keeps_its_traceback() -> None:
    one: Worker[object, object] = Worker(operator.attrgetter, "name")
    try:
        with refuses(RuntimeError, "AttributeError"):
            one.call(1)
    finally:
        one.kill()


def test_a_process_that_the_system_refuses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)
    with pytest.raises(DeviceError) as caught:
        Worker(locate, "time.sleep")
    assert str(caught.value) == Says(REMEDY, "allocate")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


PARENT = """
import signal, sys, time
from pydoc import locate
from tagkit.inference.stream.workers import Worker
if __name__ == "__main__":
    one = Worker(locate, "time.sleep")
    one.call(0)
    print(one.pid, flush=True)
    one.call(60)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="wants /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(PARENT, encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stdout
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.send_signal(number)
    _, errors = parent.communicate(timeout=30)
    # Only the parent hears Ctrl-C: one traceback, not one from each worker.
    assert errors.count("Traceback") == (number == signal.SIGINT)
    end_s = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < end_s:
        time.sleep(0.02)
    assert not is_running(pid)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="wants /proc")
def test_ctrl_c_in_the_terminal_reaches_the_parent_alone() -> None:
    one: Worker[float, None] = Worker(locate, "time.sleep")
    assert one.pid
    os.kill(one.pid, signal.SIGINT)  # while it starts
    try:
        one.call(0)
        os.kill(one.pid, signal.SIGINT)
        one.call(0)
    finally:
        one.kill()


# `MOMENT` is a function that a worker's start calls: the signal comes before it, or after it.
STARTING = """
import os, signal, sys, threading, time
from multiprocessing import resource_tracker, spawn, util
from multiprocessing.connection import Connection
from pydoc import locate
from tagkit.cli.program.process import Ended, clean_up_on_signal
from tagkit.inference.stream.workers import Worker

def end():
    os.kill(os.getpid(), signal.NUMBER)
    time.sleep(0.05)  # until it is received

def interrupted(owner, name, when):
    call = getattr(owner, name)
    def calls(*args, **kwargs):
        if when == "before":
            end()
        found = call(*args, **kwargs)
        if when == "after":
            end()
        return found
    setattr(owner, name, calls)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()  # it receives signals too
    resource_tracker.ensure_running()
    interrupted(MOMENT)
    try:
        with clean_up_on_signal():
            Worker(locate, "time.sleep").call(0)
    except Ended as error:
        sys.exit(error.status)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="wants signals of POSIX")
@pytest.mark.parametrize(
    ("moment", "number", "status"),
    [
        ("spawn, 'get_preparation_data', 'before'", "SIGTERM", 143),
        ("util, 'spawnv_passfds', 'before'", "SIGHUP", 129),
        ("util, 'spawnv_passfds', 'after'", "SIGTERM", 143),
        ("util, 'spawnv_passfds', 'after'", "SIGINT", 130),
        ("Connection, 'send', 'before'", "SIGTERM", 143),
        ("Connection, 'send', 'after'", "SIGTERM", 143),
        ("Connection, 'poll', 'before'", "SIGTERM", 143),
    ],
)
def test_a_signal_while_a_worker_is_started_leaves_no_traceback_and_no_process(
    moment: str, number: str, status: int, tmp_path: Path
) -> None:
    program = tmp_path / "parent.py"
    text = STARTING.replace("MOMENT", moment).replace("NUMBER", number)
    program.write_text(text, encoding="utf-8")
    # Whoever is left holds the pipe of standard error open: the time limit notices it.
    ended = subprocess.run(
        [sys.executable, str(program)], stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert ended.stderr == ""
    assert ended.returncode == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_handlers_of_signals_are_the_same_after_a_worker_was_started(
    number: signal.Signals,
) -> None:
    before = signal.getsignal(number)
    one: Worker[float, None] = Worker(locate, "time.sleep")
    one.kill()
    assert signal.getsignal(number) is before


# What multiprocessing imports before it has the search path of the program that starts it.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["types", "struct", "signal"])
def test_a_worker_imports_nothing_from_the_current_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('a module of the user')\n", "utf-8")
    code = (
        "import sys\nif __name__ == '__main__':\n"
        "    from pydoc import locate\n"
        "    from tagkit.inference.stream.workers import Worker\n"
        "    one = Worker(locate, 'builtins.eval')\n    print(one.call('1 + 1'))\n    one.kill()\n"
        "    import os\n    print(os.environ.get('PYTHONSAFEPATH'))\n"
    )
    program = tmp_path / "elsewhere" / "program.py"
    program.parent.mkdir()
    program.write_text(code, "utf-8")
    ended = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (ended.stdout, ended.stderr) == ("2\nNone\n", "")


def test_a_worker_starts_where_standard_error_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with open(tmp_path / "log", "w") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    one: Worker[str, int] = Worker(locate, "builtins.eval")
    try:
        assert one.call("1 + 1") == 2
    finally:
        one.kill()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_worker_starts_where_standard_error_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "w")
    monkeypatch.setattr(sys, "stderr", full)
    print("a note", file=full)
    one: Worker[str, int] = Worker(locate, "builtins.eval")
    try:
        assert one.call("1 + 1") == 2
        assert sys.stderr is full
    finally:
        one.kill()
        monkeypatch.undo()
        with refuses(OSError, "space"):
            full.close()
