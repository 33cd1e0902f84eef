"""A terminal of a given width in which the program runs in this process."""

import os
import re
import sys
import threading

import pytest

# Colours and other attributes of characters (SGR), and every control sequence.
COLOURS = re.compile(r"\x1b\[[0-9;]+m")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal: what is written to it is kept."""

    def __init__(self, columns: int) -> None:
        pty = pytest.importorskip("pty")  # Windows has none
        fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
        self._ours, theirs = pty.openpty()
        size = columns.to_bytes(2, sys.byteorder)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, (24).to_bytes(2, sys.byteorder) + size + bytes(4))
        self.stream = os.fdopen(theirs, "w", encoding="utf-8", errors="backslashreplace")
        self._parts: list[bytes] = []
        # A terminal that nobody reads is full after a few thousand characters.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while part := os.read(self._ours, 65536):
                self._parts.append(part)
        except OSError:  # the other end is closed
            pass

    def close(self) -> str:
        """Everything that was written."""
        self.stream.close()
        self._reader.join(10)
        os.close(self._ours)
        return b"".join(self._parts).decode()


def lines_of(written: str) -> list[str]:
    """The lines of a terminal, those that were written over among them."""
    return re.split(r"[\r\n]+", _CONTROL.sub("", written))
