"""Ctrl-C and SIGTERM ask a run to end after its step; a second one ends it at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tagkit.cli.console import note

STOPPED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that a signal sets."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        note("ending after this step (again: at once)")
        stop.set()

    before = {number: signal.signal(number, handle) for number in STOPPED}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
