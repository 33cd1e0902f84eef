"""Windows are annotated in this process, or in several at once; their order is kept."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from tagkit.annotator import Annotator, AnswerOptions, Output, Window
from tagkit.device import set_threads
from tagkit.errors import DataError, DeviceError, TagkitError
from tagkit.predictor import load


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
        """Processes begin when the first window comes."""
        # Forked processes would share the locks of torch's threads.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, context, _begin, (hire,))
        self._most = 2 * workers  # one for each to do, and one to go on with
        self._given: deque[Future[Output | tuple[str, ...]]] = deque()

    def __enter__(self) -> "Team":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; windows that wait are dropped."""
        self._pool.shutdown(cancel_futures=True)

    def give(self, window: Window) -> Iterator[Output]:
        """Hand over a window; what is ready comes back, in the order of the windows."""
        self._given.append(self._pool.submit(_annotate, window))
        while self._given and (len(self._given) > self._most or self._given[0].done()):
            yield self._next()

    def rest(self) -> Iterator[Output]:
        """What has not come back yet."""
        while self._given:
            yield self._next()

    def _next(self) -> Output:
        try:
            found = self._given.popleft().result()
        except BrokenProcessPool:
            raise DeviceError(
                "a worker ended before its work was done; if memory is short, try fewer --workers"
            ) from None
        if isinstance(found, tuple):
            raise DataError(*found)
        return found


_annotator: Annotator | None = None  # of a worker, which has one for its life


def _begin(hire: Hire) -> None:
    global _annotator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that hired it hears Ctrl-C
    set_threads(hire.threads)
    _annotator = Annotator(load(hire.model, hire.device, hire.precision), hire.options)


def _annotate(window: Window) -> Output | tuple[str, ...]:
    """The output, or the lines of the message on what is wrong with the input."""
    assert _annotator is not None
    try:
        return _annotator.annotate(window)
    except TagkitError as error:
        return error.lines
