"""Windows of input are annotated in this process, or in several; outputs keep the input's order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from tagkit.errors import DeviceError
from tagkit.inference.predict.predictor import load
from tagkit.inference.stream.annotate import AnswerOptions
from tagkit.inference.stream.annotators import WindowAnnotator, annotator_of
from tagkit.inference.stream.window import Output, Window
from tagkit.inference.stream.worker_process import Worker
from tagkit.models.base.device import set_threads


class SerialWorker:
    """Annotates each window in this process, as soon as it is submitted."""

    def __init__(self, annotator: WindowAnnotator) -> None:
        """`annotator` holds the model."""
        self._annotator = annotator

    def submit(self, window: Window) -> Iterator[Output]:
        """Hand over a window; yields the outputs that are ready, in the order of the windows."""
        yield self._annotator.annotate(window)

    def drain(self) -> Iterator[Output]:
        """Yield the outputs that are still due: none here."""
        yield from ()


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What a worker process needs to load the model itself.

    It is sent through a pipe: paths and options, not the model, which each process reads from the
    disk faster than it could be pickled and copied.

    Attributes:
        model: folder of the model.
        device: as in `load`.
        precision: as in `load`.
        threads: torch's threads in each worker.
        options: what is written for each text.
    """

    model: Path
    device: str
    precision: str
    threads: int
    options: AnswerOptions


@dataclass(slots=True)
class _Pending:
    """A window whose output is due: from another process, or from this one."""

    window: Window
    elsewhere: Future[Output]
    here: Output | None = None

    @property
    def is_done(self) -> bool:
        """Whether `output` returns at once."""
        return self.here is not None or self.elsewhere.done()

    def output(self) -> Output:
        """The output, or the error of the other process; waits for it."""
        return self.elsewhere.result() if self.here is None else self.here


class WorkerPool:
    """Annotates windows in several processes, of which this is one.

    The others load the model meanwhile: a short input is finished before they have begun.
    """

    def __init__(
        self, workers: int, config: WorkerConfig, annotate: Callable[[Window], Output]
    ) -> None:
        """The other processes start when the first window is submitted.

        Args:
            workers: number of processes, this one included.
            config: of the other processes.
            annotate: called in this process, with the model that it has loaded.

        Raises:
            DeviceError: fewer than one worker.
        """
        if workers < 1:
            raise DeviceError(f"workers: expected at least 1, found {workers}")
        self._others = workers - 1
        self._config = config
        self._annotate_here = annotate
        self._workers: list[Worker[Window, Output]] = []
        self._starting: list[Future[None]] = []
        self._idle: SimpleQueue[Worker[Window, Output]] = SimpleQueue()
        # One thread per process waits for its answer (and releases the GIL while it does), so each
        # process gets its next window at once, whatever the caller is doing. Not
        # ProcessPoolExecutor: it cannot say in time that a worker hangs while it loads the model.
        self._threads = ThreadPoolExecutor(max(1, self._others))
        # Windows that may be pending: one at work and one waiting for each process. The bound keeps
        # memory constant when the input is read faster than it is annotated.
        self._max_pending = 2 * workers
        self._pending: deque[_Pending] = deque()  # in the order of the input

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; pending windows are dropped."""
        # Order matters: cancelling first keeps a thread whose process is killed from taking the
        # next window; only when the processes are dead do the threads end, so they are joined last.
        for pending in self._pending:
            pending.elsewhere.cancel()
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def submit(self, window: Window) -> Iterator[Output]:
        """Hand over a window; yields the outputs that are ready, in the order of the windows.

        Raises:
            DataError: a window cannot be read.
            DeviceError: a worker cannot start, or has ended.
        """
        if not self._others:
            yield self._annotate_here(window)
            return
        if not self._workers:  # an empty input starts no process
            self._start()
        self._pending.append(_Pending(window, self._threads.submit(self._annotate, window)))
        # The first window decides: a later one that is ready earlier waits for its turn.
        while self._pending and (
            self._pending[0].is_done or len(self._pending) > self._max_pending
        ):
            yield from self._first()

    def drain(self) -> Iterator[Output]:
        """Yield the outputs that are still due, waiting for them."""
        while self._pending:
            yield from self._first()

    def _first(self) -> Iterator[Output]:
        """The output of the first window, if it is ready or all others are being annotated.

        Otherwise this process annotates a window that no other one has begun.
        """
        for started in self._starting:
            if started.done():
                started.result()  # raises the error of a process that could not start
        if not self._pending[0].is_done:
            for pending in self._pending:
                if pending.elsewhere.cancel() and pending.here is None:
                    pending.here = self._annotate_here(pending.window)
                    return
        yield self._pending.popleft().output()

    def _start(self) -> None:
        # All processes are started before the first is waited for: they load the model in parallel.
        for _ in range(self._others):
            self._workers.append(Worker(_build_annotator, self._config))
        # A thread takes no window until a process is ready for it.
        self._starting = [self._threads.submit(self._await, worker) for worker in self._workers]

    def _await(self, worker: Worker[Window, Output]) -> None:
        try:
            worker.wait_until_ready()
        finally:  # also a dead worker: its thread would wait for one forever
            self._idle.put(worker)

    def _annotate(self, window: Window) -> Output:
        worker = self._idle.get()
        try:
            return worker.call(window)
        finally:  # also a dead worker: the next window then gets its error rather than no worker
            self._idle.put(worker)


def _build_annotator(config: WorkerConfig) -> Callable[[Window], Output]:
    """The function that a worker process calls; runs in that process."""
    set_threads(config.threads)
    predictor = load(config.model, config.device, config.precision)
    return annotator_of(predictor, config.options).annotate
