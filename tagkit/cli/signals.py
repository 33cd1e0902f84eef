"""Ctrl-C and SIGTERM ask a run to end after its step; a second one ends it at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that a signal sets."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        # Not through a stream, which may be in the midst of a line; its reader may have gone too.
        with suppress(OSError):
            os.write(2, b"ending soon (again: at once)\n")

    before = {number: signal.signal(number, handle) for number in STOPPED}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
