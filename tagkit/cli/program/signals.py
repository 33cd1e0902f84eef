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
    """Event that is set by a signal, once it has been polled.

    Before that nothing is being done that could be lost: a signal ends the program at once.

    Attributes:
        is_watched: whether it has been polled.
        number: of the signal.
    """

    def __init__(self) -> None:
        """Neither set nor polled."""
        super().__init__()
        self.is_watched = False
        self.number = int(signal.SIGINT)

    def is_set(self) -> bool:
        """Whether it is set; whoever asks will ask again."""
        self.is_watched = True
        return super().is_set()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Set it; raise where it is set, or was never polled."""
        if super().is_set() or not self.is_watched:
            # The second signal: the newest checkpoint is kept, and this step is lost. Or nothing
            # has been done yet.
            raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)
        self.number = number
        self.set()
        # Not through Python's stream: a handler may run inside a write to it, which cannot be
        # entered twice. Its reader may have ended too.
        with suppress(OSError):
            # On a terminal the line of progress stands where the cursor is.
            start = b"\n" if os.isatty(2) else b""
            os.write(2, start + b"ending after this step (a second signal ends at once)\n")


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """An event that a signal sets, once training has begun to look at it.

    Before that a signal ends the program at once, as it reads corpora, and may wait for a pipe.

    Raises:
        Interrupted: as the body did; its cause is the signal.
    """
    # An event, and not an exception: a step that is cut in two leaves weights half updated.
    stop = Stop()
    with _handling(stop.handle, [signal.SIGINT, *_ENDING]):
        try:
            yield stop
        except Interrupted as error:
            raise error from Ended(stop.number)


@contextmanager
def _handling(
    handle: Callable[[int, FrameType | None], None], numbers: list[signal.Signals]
) -> Iterator[None]:
    """Handle these signals; SIGHUP stays ignored under `nohup`.

    A handler runs wherever Python is: also in `__del__` or in the callback of a weak reference,
    whose exceptions are printed as ignored, and the program would go on. Such a signal is sent
    again.
    """
    if threading.current_thread() is not threading.main_thread():  # only it can handle signals
        yield
        return
    main, hook_before, resent = threading.get_ident(), sys.unraisablehook, list[threading.Timer]()

    def hook(ignored: "UnraisableHookArgs") -> None:
        error = ignored.exc_value
        if not isinstance(error, KeyboardInterrupt | Ended) or not hasattr(signal, "pthread_kill"):
            hook_before(ignored)  # what is no signal, or on Windows
            return
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        # By a thread, since what is raised in this function is swallowed too.
        resent.append(threading.Timer(_AGAIN_S, signal.pthread_kill, [main, number]))
        resent[-1].start()

    before = {
        number: signal.signal(number, handle)
        for number in numbers
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN
    }
    sys.unraisablehook = hook
    try:
        try:
            yield
        finally:
            while resent:  # while the handlers are there, also where the body has failed
                resent.pop().join()
    finally:
        sys.unraisablehook = hook_before
        for number, handler in before.items():
            signal.signal(number, handler)
