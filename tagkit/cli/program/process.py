"""The streams and signals of the process.

A closed or broken standard input, output or error is an error of one line. On Ctrl-C, SIGTERM and
SIGHUP every command cleans up, and its status names the signal; training and searching end after
the current step, and a second signal ends them at once.
"""

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

import typer

from tagkit.cli.program.messages import for_terminal
from tagkit.errors import Interrupted

_ESCAPE = "tagkit.escape"


def prepare_streams() -> None:
    """Have closed streams refuse what is read or written, and unencodable characters escaped.

    A descriptor that is closed would be given to the next file that is opened: what libraries
    write to standard error would go into a model or a corpus.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest that is free: those below are taken by now. The mode is the wrong one, so
            # that the system refuses its use.
            os.open(os.devnull, mode)
    # A tag or a word may have characters that the terminal's encoding lacks: they are escaped,
    # so that no output is lost.
    codecs.register_error(_ESCAPE, _escaped)
    sys.stdout = _prepared(sys.stdout, 1, _ESCAPE)
    if sys.stderr is not None:
        sys.stderr = _prepared(sys.stderr, 2, "backslashreplace")


def _prepared(stream: TextIO | None, number: int, errors: str) -> TextIO:
    """The stream of a descriptor, of which all that is written arrives or is refused.

    With PYTHONUNBUFFERED a stream has no buffer, and what the system does not take at once, as of a
    disk that becomes full, is lost without a word.
    """
    if stream is None or isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        encoding = stream.encoding if stream else "utf-8"
        # Beside the stream of before, which others, such as a handler of logging, may hold.
        return open(number, "w", 1, encoding, errors, closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)
    return stream  # which may be one of the program that runs this


def say(text: str) -> None:
    """A line to standard error, if it can still be written.

    Not through rich, which takes time to import; a terminal gets the line wrapped and coloured.
    """
    with suppress(OSError, ValueError):
        typer.echo(for_terminal(text, sys.stderr), err=True)


def finish(stream: TextIO | None) -> OSError | None:
    """Write what a stream still holds; the error where it cannot be written.

    Then what it holds is dropped: Python would write it again at exit, and print a traceback.
    """
    if stream is None or stream.closed:
        return None
    try:
        stream.flush()
    except OSError as error:
        with suppress(OSError), open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), stream.fileno())
        return error
    return None


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Characters that an encoding lacks as JSON escapes them, \uXXXX, in pairs beyond U+FFFF."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # JSON's escapes have four digits: a character beyond U+FFFF is two of them.
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    escapes = (f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return "".join(escapes), error.end


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
