"""Several workers on one input: whatever befalls them, it ends with a message and in time."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tagkit.errors import DeviceError
from tagkit.inference import worker_process as worker
from tagkit.inference import workers
from tagkit.inference.annotate import AnswerOptions
from tagkit.inference.window import Line, Lines, Window
from tagkit.inference.workers import WorkerConfig, WorkerPool

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


def answer(pool: WorkerPool, window: Window) -> list[object]:
    return [*pool.submit(window), *pool.drain()]


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_worker_are_refused(count: int) -> None:
    with pytest.raises(DeviceError) as caught:
        WorkerPool(count, CONFIG)
    assert str(caught.value) == f"workers: expected at least 1, found {count}"


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_build_annotator", repeat)
    found: list[object] = []
    with WorkerPool(2, CONFIG) as pool:
        for number in range(12):
            found += pool.submit(Lines("a.txt", [Line(str(number), number, 0)]))
            assert number - len(found) < 4  # two are being read, two wait
        found += pool.drain()
    assert found == [str(number) for number in range(12)]
    assert not multiprocessing.active_children()


def test_workers_that_hang_at_their_start_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "START_LIMIT_S", 1.0)
    monkeypatch.setattr(workers, "_build_annotator", hang_at_start)
    begin_s = time.monotonic()
    with WorkerPool(2, CONFIG) as pool, pytest.raises(DeviceError, match="not ready after 1 sec"):
        answer(pool, WINDOW)
    assert time.monotonic() - begin_s < 30
    assert not multiprocessing.active_children()


def test_workers_that_are_killed_at_work_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_build_annotator", hang_at_work)
    with WorkerPool(2, CONFIG) as pool:
        list(pool.submit(WINDOW))
        for child in multiprocessing.active_children():
            os.kill(child.pid or 0, signal.SIGKILL)
        with pytest.raises(DeviceError, match="a worker ended before its work was done"):
            list(pool.drain())
        with pytest.raises(DeviceError, match="a worker ended before its work was done"):
            answer(pool, WINDOW)


def test_leaving_does_not_wait_for_windows_that_are_being_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_build_annotator", hang_at_work)
    begin_s = time.monotonic()
    with WorkerPool(2, CONFIG) as pool:
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
    with WorkerPool(2, CONFIG) as pool, pytest.raises(DeviceError, match="Cannot allocate memory"):
        list(pool.submit(WINDOW))
    assert len(started) == 1
    assert not multiprocessing.active_children()
