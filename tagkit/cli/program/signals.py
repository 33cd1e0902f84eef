"""What Ctrl-C, SIGTERM and SIGHUP do: every command cleans up, and its status names the signal.

Training and searching end after the current step; a second signal ends them at once.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from tagkit.errors import Interrupted

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# SIGHUP, sent when a terminal is closed, is unknown to Windows.
_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
STOPPED_BY_CTRL_C = 128 + signal.SIGINT
_AGAIN_S = 0.02  # after which a signal is sent again: what swallowed its exception has ended


class Ended(BaseException):
    """A signal that ends the program; like KeyboardInterrupt it passes every `except Exception`."""

    def __init__(self, number: int) -> None:
        """`number` of the signal."""
        super().__init__(number)
        self.number = number
        self.status = 128 + number


def status_of(error: Interrupted | KeyboardInterrupt | Ended) -> int:
    """Exit status of a program that was ended by a signal: 128 and the signal's number."""
    cause = error if isinstance(error, Ended) else error.__cause__
    return cause.status if isinstance(cause, Ended) else STOPPED_BY_CTRL_C


@contextmanager
def clean_up_on_signal() -> Iterator[None]:
    """Within this context SIGTERM and SIGHUP end the program by an exception, `Ended`.

    What is being written is removed on the way, which the system's default action would not do.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        raise Ended(number)

    with _handling(handle, _ENDING):
        yield


class Stop(threading.Event):
    """Event that records whether it has been polled.

    Attributes:
        is_watched: whether it has been. Before that nothing is being done that could be lost.
    """

    def __init__(self) -> None:
        """Neither set nor polled."""
        super().__init__()
        self.is_watched = False

    def is_set(self) -> bool:
        """Whether it is set; whoever asks will ask again."""
        self.is_watched = True
        return super().is_set()


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """An event that a signal sets, once training has begun to look at it.

    Before that a signal ends the program at once, as it reads corpora, and may wait for a pipe.

    Raises:
        Interrupted: as the body did; its cause is the signal.
    """
    # An event, and not an exception: a step that is cut in two leaves weights half updated.
    stop, is_stopping = Stop(), False
    received = [int(signal.SIGINT)]

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping or not stop.is_watched:
            # The second signal: the newest checkpoint is kept, and this step is lost. Or nothing
            # has been done yet.
            raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)
        is_stopping = True
        received[0] = number
        stop.set()
        # Not through Python's stream: a handler may run inside a write to it, which cannot be
        # entered twice. Its reader may have ended too.
        with suppress(OSError):
            # On a terminal the line of progress stands where the cursor is.
            start = b"\n" if os.isatty(2) else b""
            os.write(2, start + b"ending after this step (a second signal ends at once)\n")

    with _handling(handle, [signal.SIGINT, *_ENDING]):
        try:
            yield stop
        except Interrupted as error:
            raise error from Ended(received[0])


@contextmanager
def _handling(
    handle: Callable[[int, FrameType | None], None], numbers: list[signal.Signals]
) -> Iterator[None]:
    """Handle these signals; SIGHUP stays ignored under `nohup`."""
    if threading.current_thread() is not threading.main_thread():  # only it can handle signals
        yield
        return
    before = {
        number: signal.signal(number, handle)
        for number in numbers
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        with _resend_swallowed():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _resend_swallowed() -> Iterator[None]:
    """Send a signal again whose exception was raised where Python swallows all exceptions.

    A handler runs wherever Python is: also in `__del__` or in the callback of a weak reference,
    whose exceptions are printed as ignored, and the program would go on.
    """
    before, waiting = sys.unraisablehook, list[threading.Timer]()
    main = threading.get_ident()

    def send(number: int) -> None:
        if hasattr(signal, "pthread_kill"):  # not on Windows; ends what the main thread waits for
            signal.pthread_kill(main, number)
        else:
            signal.raise_signal(number)

    def hook(ignored: "UnraisableHookArgs") -> None:
        error = ignored.exc_value
        if not isinstance(error, KeyboardInterrupt | Ended):
            before(ignored)
            return
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        # By a thread, since what is raised in this function is swallowed too.
        waiting.append(threading.Timer(_AGAIN_S, send, [number]))
        waiting[-1].daemon = True
        waiting[-1].start()

    sys.unraisablehook = hook
    try:
        try:
            yield
        finally:
            while waiting:  # while the handlers are there, also where the body has failed
                waiting.pop().join()
    finally:
        if sys.unraisablehook is hook:  # and not one that the body has set
            sys.unraisablehook = before
