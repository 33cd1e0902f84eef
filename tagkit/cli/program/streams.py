"""Standard input, output and error: a closed or broken one is an error of one line."""

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

import typer

from tagkit.cli.program.terminal import for_terminal

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
