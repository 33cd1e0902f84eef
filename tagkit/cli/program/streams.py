"""Standard input, output and error: a closed or broken one is an error of one line."""

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO, TypeVar

import typer

from tagkit.cli.program.terminal import for_terminal

_ESCAPE = "tagkit.escape"
_Stream = TypeVar("_Stream")


class _Closed(io.RawIOBase):
    """The replacement for a stream that the caller has closed."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        # The system's error for a descriptor that is not open.
        raise OSError(errno.EBADF, "it is closed")

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


class _Unbuffered(io.TextIOBase):
    """A closed standard output: refuses each piece at once, keeps nothing to be written at exit."""

    buffer = _Closed()

    def write(self, text: str) -> int:
        return self.buffer.write(text)


def prepare_streams() -> None:
    """Have closed streams refuse what is read or written, and unencodable characters escaped.

    A descriptor that is closed would be given to the next file that is opened: what libraries
    write to standard error would go into a model or a corpus.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest that is free: those below are taken by now
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed()))
    if sys.stdout is None:
        sys.stdout = _Unbuffered()
    # A tag or a word may have characters that the terminal's encoding lacks: they are escaped,
    # so that no output is lost.
    codecs.register_error(_ESCAPE, _escaped)
    sys.stdout, sys.stderr = _whole(sys.stdout), _whole(sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPE)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _whole(stream: _Stream) -> _Stream | io.TextIOWrapper:
    """The stream, such that all that is written arrives, or is refused with an error.

    With PYTHONUNBUFFERED a stream has no buffer, and what the system does not take at once, as of a
    disk that becomes full, is lost without a word.
    """
    # One that a program has put in its place is the program's own.
    if stream not in (sys.__stdout__, sys.__stderr__) or not isinstance(stream, io.TextIOWrapper):
        return stream
    if not isinstance(stream.buffer, io.RawIOBase):
        return stream
    # Not detached from the stream: others, such as a handler of logging, may hold that.
    buffer = io.BufferedWriter(stream.buffer)
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=True)


def say(text: str) -> None:
    """A line to standard error, if it can still be written.

    Not through rich, which takes time to import; a terminal gets the line wrapped and coloured.
    """
    with suppress(OSError, ValueError):
        typer.echo(for_terminal(text, sys.stderr), err=True)


def finish_output() -> OSError | None:
    """Write what standard output still holds; the error where it cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return error
    except ValueError:  # it is closed already
        pass
    return None


def discard_output() -> None:
    """Keep Python silent when it flushes the streams at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and _fails(stream):
            with suppress(OSError, ValueError):
                # The interpreter flushes again at exit, and would print a traceback.
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)


def _fails(stream: TextIO) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        return True
    return False


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Characters that an encoding lacks as JSON escapes them, \uXXXX, in pairs beyond U+FFFF."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # JSON's escapes have four digits: a character beyond U+FFFF is two of them.
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    escapes = (f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return "".join(escapes), error.end
