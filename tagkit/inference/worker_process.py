"""A process of its own that answers questions, one at a time.

Each worker has a pipe to itself, so that its end is noticed whenever it comes: the pipe breaks. A
worker ends when the process that started it does, however that ends.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Literal, TypeVar

from tagkit.errors import DataError, DeviceError, TagkitError
from tagkit.wording import Message, Setting

# Seconds until a worker must be ready: reading a large model from a slow disk takes one or two
# minutes where several workers do it at once.
START_LIMIT_S = 300.0
_END_LIMIT_S = 10.0  # seconds until a worker that was killed has ended

# Signals that end a process; Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")
           if hasattr(signal, name)]  # fmt: skip

Kind = Literal["ready", "answer", "refused", "memory", "failed"]
Reply = tuple[Kind, Any]
Setup = TypeVar("Setup")
Question = TypeVar("Question")
Answer = TypeVar("Answer")

_WORKERS = Setting("workers")
_REMEDY = Message("; if memory is short, try fewer ", _WORKERS)


class Worker(Generic[Question, Answer]):
    """A process with a function that it has made itself, such as one that holds a model."""

    def __init__(self, make: Callable[[Setup], Callable[[Question], Answer]], setup: Setup) -> None:
        """Start the process; `make(setup)`, called there, is the function that answers.

        Raises:
            DeviceError: the process cannot be started.
        """
        # Forked processes would share the locks of torch's threads.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._ready = False
        try:
            with _signals_held():
                self._process.start()
            self._connection.send((make, setup))
        except BaseException as error:
            self.end()
            if not isinstance(error, OSError | MemoryError):
                raise
            raise DeviceError(
                Message(f"a worker cannot be started: {_text_of(error)}", _REMEDY)
            ) from None
        finally:
            theirs.close()  # with no other copy here the pipe breaks when the worker ends

    @property
    def pid(self) -> int | None:
        """Number of the process; None before it is there."""
        return self._process.pid

    def answer(self, question: Question) -> Answer:
        """What the worker's function returns for a question.

        Raises:
            DataError: what the function raised of the family of TagkitError, with its message.
            DeviceError: the worker could not start in time or at all, or has ended.
        """
        if not self._ready:
            self._wait_until_ready()
        try:
            self._connection.send(question)
            kind, value = self._connection.recv()
        except (OSError, EOFError):
            raise DeviceError(Message("a worker ended before its work was done", _REMEDY)) from None
        if kind == "refused":
            raise DataError(*value)
        if kind == "memory":
            raise DeviceError(Message(f"a worker is out of memory: {value}", _REMEDY))
        if kind == "failed":
            raise RuntimeError(f"in a worker:\n{value}")
        found: Answer = value
        return found

    def _wait_until_ready(self) -> None:
        try:
            if not self._connection.poll(START_LIMIT_S):
                self.end()
                raise DeviceError(
                    Message(
                        f"a worker was not ready after {START_LIMIT_S:,.0f} seconds and was ended; "
                        "try fewer ",
                        _WORKERS,
                        ", or a faster disk for the model",
                    )
                )
            kind, value = self._connection.recv()
        except (OSError, EOFError):
            raise DeviceError(Message("a worker ended before its work was done", _REMEDY)) from None
        if kind == "refused":
            raise DeviceError(Message("a worker could not start: ", value[0]), *value[1:])
        if kind != "ready":
            raise DeviceError(Message(f"a worker could not start: {value}", _REMEDY))
        self._ready = True

    def end(self) -> None:
        """End the process at once; who waits for an answer gets an error."""
        if self._process.pid is not None:
            self._process.kill()
            self._process.join(_END_LIMIT_S)
            # The pipe is left open: a thread that reads from it sees its end.


@contextmanager
def _signals_held() -> Iterator[None]:
    """Signals are handled after this context.

    A process that loses its parent while it is started ends with a traceback. To block signals
    would not do: any thread may receive one, and the main thread handles it.
    """
    received: list[int] = []
    handlers = {}
    try:
        if threading.current_thread() is threading.main_thread():  # which alone handles signals
            for number in _ENDING:
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: received.append(number))
        with _interrupt_blocked():
            yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """A process that is started in this context never receives Ctrl-C: its parent does."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection) -> None:
    """What the process does: make the function, then answer until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Whoever asked may be gone.
    with suppress(EOFError, OSError):
        try:
            # What is sent is imported only here, so that a failing import is reported.
            make, setup = connection.recv()
            answer = make(setup)
        except Exception as error:
            connection.send(_complaint(error, _text_of(error)))
            return
        connection.send(("ready", None))
        while True:
            connection.send(_reply(answer, connection.recv()))


def _reply(answer: Callable[[Question], Answer], question: Question) -> Reply:
    try:
        return "answer", answer(question)
    except Exception as error:
        return _complaint(error, traceback.format_exc())


def _complaint(error: Exception, failure: str) -> Reply:
    """What is reported of an error; `failure` is the text of one that nobody expected."""
    if isinstance(error, TagkitError):
        return "refused", error.lines
    # torch has an error of its own for a GPU alone.
    short = isinstance(error, MemoryError) or "memory" in str(error)
    return ("memory", _text_of(error)) if short else ("failed", failure)


def _text_of(error: Exception) -> str:
    """One line."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    lines = text.strip().splitlines()
    return lines[0] if lines else "out of memory"


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
