"""Chunks of input are annotated in this process, or in several; outputs keep the input's order.

A worker is a process that calls a function for its parent, one request at a time. Each has a pipe
of its own, so that its death is noticed at any moment: when the last copy of the other end is
closed, reading ends with EOFError and writing with EPIPE. (With a queue shared by several workers,
one that is killed while it holds the queue's lock would block all others for ever.) A worker ends
when its parent does, however that ends.
"""

import io
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Literal, Self, TypeVar

from tagkit.errors import DataError, DeviceError, TagkitError
from tagkit.inference.predict.predictor import load
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.chunks import Chunk, Output
from tagkit.models.base.device import set_threads
from tagkit.models.base.memory import is_out_of_memory

# Time in which a worker must be ready. Several workers that read a large model from a slow disk at
# once take one or two minutes.
START_LIMIT_S = 300.0
_KILL_LIMIT_S = 10.0  # after SIGKILL only a process that waits for a broken disk still lives

# Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")
           if hasattr(signal, name)]  # fmt: skip

# "refused": lines of a TagkitError; "memory", "failed": a text; "answer": the function's result.
Kind = Literal["ready", "answer", "refused", "memory", "failed"]
Reply = tuple[Kind, Any]
Setup = TypeVar("Setup")
Request = TypeVar("Request")
Answer = TypeVar("Answer")

_WORKERS = "workers=..."
_REMEDY = f"; if memory is short, try fewer {_WORKERS}"
_SAFE_PATH = "PYTHONSAFEPATH"
_STARTING = threading.Lock()  # the environment is that of the whole program


@contextmanager
def _without_own_modules() -> Iterator[None]:
    """Processes that start do not look for modules in the current folder, such as a `types.py`.

    The interpreter of a worker does so before it has the search path of this one.
    """
    with _STARTING:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = before


@contextmanager
def _past_full_errors() -> Iterator[None]:
    """Processes start also where standard error cannot be written, as on a full disk.

    multiprocessing flushes it before, and what could not be written is still in its buffer.
    """
    kept = sys.stderr
    try:
        if kept is not None:
            kept.flush()
    except OSError:
        sys.stderr = io.StringIO()
    except ValueError:  # it is closed, which multiprocessing allows
        pass
    try:
        yield
    finally:
        sys.stderr = kept


class Worker(Generic[Request, Answer]):
    """A process that has built a function, such as one that holds a model, and calls it."""

    def __init__(self, make: Callable[[Setup], Callable[[Request], Answer]], setup: Setup) -> None:
        """Start the process; `make(setup)`, called there, returns the function.

        Raises:
            DeviceError: the process cannot be started.
        """
        # Not fork: the child would get torch's OpenMP pool without its threads, and any lock that
        # one of them held at that moment stays locked; nor can a forked process use CUDA.
        context = multiprocessing.get_context("spawn")
        self._connection, child_end = context.Pipe()
        # daemon: multiprocessing ends it at our exit if nobody has called `kill`.
        self._process = context.Process(target=_serve, args=(child_end,), daemon=True)
        self._ready = False
        try:
            with _without_own_modules(), _past_full_errors(), _signals_deferred():
                self._process.start()
            # Sent, not an argument of the process: arguments are unpickled before `_serve` runs,
            # where a failing import would end in a traceback.
            self._connection.send((make, setup))
        except BaseException as error:
            self.kill()
            if not isinstance(error, OSError | MemoryError):
                raise
            raise DeviceError(f"a worker cannot be started: {_text_of(error)}{_REMEDY}") from None
        finally:
            # As long as this process has a copy of the child's end open, the pipe does not break
            # when the child dies.
            child_end.close()

    @property
    def pid(self) -> int | None:
        """The process id; None if the process could not be started."""
        return self._process.pid

    def call(self, request: Request) -> Answer:
        """What the worker's function returns for a request.

        Raises:
            DataError: the function raised a TagkitError, whose message this has.
            DeviceError: the worker could not start in time or at all, or has ended.
            RuntimeError: the function raised another error, whose traceback this has.
        """
        self.wait_until_ready()
        try:
            self._connection.send(request)
            kind, value = self._connection.recv()
        except (OSError, EOFError):
            raise DeviceError(f"a worker ended before its work was done{_REMEDY}") from None
        if kind == "refused":
            raise DataError(*value)
        if kind == "memory":
            raise DeviceError(f"a worker is out of memory: {value}{_REMEDY}")
        if kind == "failed":
            raise RuntimeError(f"in a worker:\n{value}")
        found: Answer = value
        return found

    def wait_until_ready(self) -> None:
        """Return when the function is built.

        Raises:
            DeviceError: the worker could not start in time or at all, or has ended.
        """
        if self._ready:
            return
        try:
            if not self._connection.poll(START_LIMIT_S):
                self.kill()
                raise DeviceError(
                    f"a worker was not ready after {START_LIMIT_S:,.0f} seconds and was ended; try "
                    f"fewer {_WORKERS}, or a faster disk for the model"
                )
            kind, value = self._connection.recv()
        except (OSError, EOFError):
            raise DeviceError(f"a worker ended before its work was done{_REMEDY}") from None
        if kind == "refused":
            raise DeviceError(f"a worker could not start: {value[0]}", *value[1:])
        if kind != "ready":
            raise DeviceError(f"a worker could not start: {value}{_REMEDY}")
        self._ready = True

    def kill(self) -> None:
        """End the process at once; a thread that waits in `call` gets a DeviceError."""
        if self._process.pid is not None:
            # SIGKILL, since a worker that hangs in native code handles no other signal. It writes
            # no files, so nothing is left half done.
            self._process.kill()
            self._process.join(_KILL_LIMIT_S)
            # Our end of the pipe stays open: a thread that reads from it gets EOFError. Closed,
            # its descriptor's number could be reused, and the thread read from another file.


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Handle signals that arrive in this context after it.

    A child that loses its parent while Python starts in it ends with a traceback. Blocking the
    signals in this thread would not help: the system delivers a signal to any thread that does not
    block it (POSIX), and Python runs the handler in the main thread all the same.
    """
    received: list[int] = []
    handlers = {}
    try:
        if threading.current_thread() is threading.main_thread():  # others cannot set handlers
            for number in _ENDING:
                handler = signal.getsignal(number)
                # None: a handler not set by Python, which could not be put back. An ignored
                # signal (nohup) stays ignored.
                if handler not in (None, signal.SIG_IGN):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: received.append(number))
        with _sigint_blocked():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """A process started in this context does not receive Ctrl-C; its parent does, and ends it.

    The terminal sends SIGINT to every process in the foreground. The signal mask is inherited by
    fork and exec, so the signal is blocked in the child from its first instruction on.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Starting multiprocessing's resource tracker, which Process.start does if it is not running,
    # unblocks SIGINT in this thread: start it before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection) -> None:
    """The worker's main function: build the function, then call it until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where the mask is not inherited: Windows
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The pipe breaks when the parent is gone: nobody is left to report anything to.
    with suppress(EOFError, OSError):
        try:
            # Unpickling `make` imports its module here, inside `try`: a failing import is reported.
            make, setup = connection.recv()
            function = make(setup)
        except Exception as error:
            connection.send(_error_reply(error, _text_of(error)))
            return
        connection.send(("ready", None))
        while True:
            connection.send(_reply(function, connection.recv()))


def _reply(function: Callable[[Request], Answer], request: Request) -> Reply:
    try:
        return "answer", function(request)
    except Exception as error:
        return _error_reply(error, traceback.format_exc())


def _error_reply(error: Exception, failure: str) -> Reply:
    """The reply for an error; `failure` is the text for one that is a mistake in the program."""
    if isinstance(error, TagkitError):
        return "refused", error.lines  # lines, not the error: its arguments need not pickle
    return ("memory", _text_of(error)) if is_out_of_memory(error) else ("failed", failure)


def _text_of(error: Exception) -> str:
    """An error's message in one line."""
    # str(MemoryError()) is empty.
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    lines = text.strip().splitlines()
    return lines[0] if lines else "out of memory"


def _end_with_parent() -> None:
    """End this process when its parent has ended; runs in a thread."""
    # The pipe alone is not enough: a worker that computes does not look at it. The sentinel is a
    # descriptor that becomes readable when the parent ends, by SIGKILL too.
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)  # sys.exit would end this thread only


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
    """A chunk whose output is due: from another process, or from this one."""

    chunk: Chunk
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
    """Annotates chunks in several processes, of which this is one.

    The others load the model meanwhile: a short input is finished before they have begun.
    """

    def __init__(
        self, workers: int, config: WorkerConfig, annotate: Callable[[Chunk], Output]
    ) -> None:
        """The other processes start when the first chunk is submitted.

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
        self._workers: list[Worker[Chunk, Output]] = []
        self._starting: list[Future[None]] = []
        self._idle: SimpleQueue[Worker[Chunk, Output]] = SimpleQueue()
        # One thread per process waits for its answer (and releases the GIL while it does), so each
        # process gets its next chunk at once, whatever the caller is doing. Not
        # ProcessPoolExecutor: a worker that is killed while it sends its answer blocks it for ever,
        # as it keeps the other end of the common pipe open; and it cannot end one that hangs.
        self._threads = ThreadPoolExecutor(max(1, self._others))
        # Chunks that may be pending: one at work and one waiting for each process. The bound keeps
        # memory constant when the input is read faster than it is annotated.
        self._max_pending = 2 * workers
        self._pending: deque[_Pending] = deque()  # in the order of the input

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; pending chunks are dropped."""
        # Order matters: cancelling first keeps a thread whose process is killed from taking the
        # next chunk; only when the processes are dead do the threads end, so they are joined last.
        for pending in self._pending:
            pending.elsewhere.cancel()
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)

    def submit(self, chunk: Chunk) -> Iterator[Output]:
        """Hand over a chunk; yields the outputs that are ready, in the order of the chunks.

        Raises:
            DataError: a chunk cannot be read.
            DeviceError: a worker cannot start, or has ended.
        """
        if not self._others:
            yield self._annotate_here(chunk)
            return
        if not self._workers:  # an empty input starts no process
            self._start()
        self._pending.append(_Pending(chunk, self._threads.submit(self._annotate, chunk)))
        # The first chunk decides: a later one that is ready earlier waits for its turn.
        while self._pending and (
            self._pending[0].is_done or len(self._pending) > self._max_pending
        ):
            yield from self._first()

    def drain(self) -> Iterator[Output]:
        """Yield the outputs that are still due, waiting for them."""
        while self._pending:
            yield from self._first()

    def _first(self) -> Iterator[Output]:
        """The output of the first chunk, if it is ready or all others are being annotated.

        Otherwise this process annotates a chunk that no other one has begun.
        """
        for started in self._starting:
            if started.done():
                started.result()  # raises the error of a process that could not start
        if not self._pending[0].is_done:
            for pending in self._pending:
                if pending.elsewhere.cancel() and pending.here is None:
                    pending.here = self._annotate_here(pending.chunk)
                    return
        yield self._pending.popleft().output()

    def _start(self) -> None:
        # All processes are started before the first is waited for: they load the model in parallel.
        for _ in range(self._others):
            self._workers.append(Worker(_build_annotator, self._config))
        # A thread takes no chunk until a process is ready for it.
        self._starting = [self._threads.submit(self._await, worker) for worker in self._workers]

    def _await(self, worker: Worker[Chunk, Output]) -> None:
        try:
            worker.wait_until_ready()
        finally:  # also a dead worker: its thread would wait for one forever
            self._idle.put(worker)

    def _annotate(self, chunk: Chunk) -> Output:
        worker = self._idle.get()
        try:
            return worker.call(chunk)
        finally:  # also a dead worker: the next chunk then gets its error rather than no worker
            self._idle.put(worker)


def _build_annotator(config: WorkerConfig) -> Callable[[Chunk], Output]:
    """The function that a worker process calls; runs in that process."""
    set_threads(config.threads)
    predictor = load(config.model, config.device, config.precision)
    return Annotator(predictor, config.options).annotate
