"""Windows are annotated in this process, or in several at once; their order is kept."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tagkit.errors import DeviceError
from tagkit.inference.annotate import Annotator, AnswerOptions, Output, Window
from tagkit.inference.predictor import load
from tagkit.inference.worker_process import Worker
from tagkit.models.device import set_threads


class Alone:
    """Annotates each window when it comes."""

    def __init__(self, annotator: Annotator) -> None:
        """With a model of this process."""
        self._annotator = annotator

    def give(self, window: Window) -> Iterator[Output]:
        """Hand over a window; what is ready comes back, in the order of the windows."""
        yield self._annotator.annotate(window)

    def rest(self) -> Iterator[Output]:
        """What has not come back yet."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Hire:
    """What a worker needs to know.

    Attributes:
        model: folder.
        device: as `load` has it.
        precision: likewise.
        threads: of each worker.
        options: of the answers.
    """

    model: Path
    device: str
    precision: str
    threads: int
    options: AnswerOptions


class Team:
    """Annotates windows in several processes, each with the model loaded."""

    def __init__(self, workers: int, hire: Hire) -> None:
        """Processes begin when the first window comes.

        Raises:
            DeviceError: fewer than one worker.
        """
        if workers < 1:
            raise DeviceError(f"workers: expected at least 1, found {workers}")
        self._count = workers
        self._hire = hire
        self._workers: list[Worker[Window, Output]] = []
        self._idle: SimpleQueue[Worker[Window, Output]] = SimpleQueue()
        # A thread waits for each process, so that no process waits while windows are at hand.
        self._threads = ThreadPoolExecutor(workers)
        self._limit = 2 * workers  # windows under way: one in each process, and the next one
        self._given: deque[Future[Output]] = deque()

    def __enter__(self) -> "Team":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; windows that wait are dropped."""
        for future in self._given:
            future.cancel()
        for worker in self._workers:
            worker.end()
        self._threads.shutdown(cancel_futures=True)

    def give(self, window: Window) -> Iterator[Output]:
        """Hand over a window; what is ready comes back, in the order of the windows.

        Raises:
            DataError: a window cannot be read.
            DeviceError: a worker cannot start, or has ended.
        """
        if not self._workers:
            self._start()
        self._given.append(self._threads.submit(self._annotate, window))
        while self._given and (len(self._given) > self._limit or self._given[0].done()):
            yield self._given.popleft().result()

    def rest(self) -> Iterator[Output]:
        """What has not come back yet."""
        while self._given:
            yield self._given.popleft().result()

    def _start(self) -> None:
        for _ in range(self._count):
            self._workers.append(Worker(_annotator_of, self._hire))
            self._idle.put(self._workers[-1])

    def _annotate(self, window: Window) -> Output:
        worker = self._idle.get()
        try:
            return worker.answer(window)
        finally:
            self._idle.put(worker)


def _annotator_of(hire: Hire) -> Callable[[Window], Output]:
    """What a worker answers with."""
    set_threads(hire.threads)
    return Annotator(load(hire.model, hire.device, hire.precision), hire.options).annotate
