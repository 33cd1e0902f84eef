"""Several workers on one input: whatever befalls them, it ends with a message and in time."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tagkit.errors import DeviceError
from tagkit.inference.stream import worker_process as worker
from tagkit.inference.stream import workers
from tagkit.inference.stream.annotate import AnswerOptions
from tagkit.inference.stream.window import Line, Lines, Window
from tagkit.inference.stream.workers import WorkerConfig, WorkerPool

OPTIONS = AnswerOptions("columns", False, 0, None, 4, None)
CONFIG = WorkerConfig(Path("no model"), "cpu", "fp32", 1, OPTIONS)
WINDOW = Lines("a.txt", [Line("Ada", 1, 0)])


def hang_at_start(_: WorkerConfig) -> Callable[[Window], str]:
    time.sleep(60)
    return str


def hang_at_work(_: WorkerConfig) -> Callable[[Window], object]:
    return lambda _: time.sleep(60)


def repeat(_: WorkerConfig) -> Callable[[Lines], str]:
    def answer(window: Lines) -> str:
        time.sleep(0.05 if window.lines[0].number % 2 else 0)
        return window.lines[0].text

    return answer


def at_leisure(window: Lines) -> str:
    """In this process, where the others are slow or have ended."""
    time.sleep(0.1)
    return f"here {window.lines[0].text}"


def answer_many(pool: WorkerPool) -> None:
    for _ in range(200):
        list(pool.submit(WINDOW))


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_worker_are_refused(count: int) -> None:
    with pytest.raises(DeviceError) as caught:
        WorkerPool(count, CONFIG, str)
    assert str(caught.value) == f"workers: expected at least 1, found {count}"


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_windows(monkeypatch: pytest.MonkeyPatch) -> None:
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
        with pytest.raises(DeviceError, match="not ready after 1 sec"):
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
        with pytest.raises(DeviceError, match="a worker ended before its work was done"):
            list(pool.drain())
        with pytest.raises(DeviceError, match="a worker ended before its work was done"):
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
def test_this_process_and_the_others_share_the_windows(monkeypatch: pytest.MonkeyPatch) -> None:
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
        with pytest.raises(DeviceError, match="a worker could not start: no model"):
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
        with pytest.raises(DeviceError, match="Cannot allocate memory"):
            list(pool.submit(WINDOW))
    assert len(started) == 1
    assert not multiprocessing.active_children()


def test_one_worker_is_this_process() -> None:
    with WorkerPool(1, CONFIG, at_leisure) as pool:
        assert list(pool.submit(WINDOW)) == ["here Ada"]
        assert list(pool.drain()) == []
    assert not multiprocessing.active_children()
