"""Plain lines for people: errors, reports, and what is wrong with a command line.

Whatever comes from a file, a name or a label is displayed as text: what a terminal would obey is
escaped (`tagkit.wording`). Data, such as predictions and JSON, does not come by here.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from tagkit.wording import message_line, visible

# Phrases of the library that checks the options' values, and what they mean.
_PHRASES = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"Input should be a valid integer.*"), "expected a whole number"),
    (re.compile(r"Input should be a valid number.*"), "expected a number"),
    (re.compile(r"Input should be (?=greater|less)"), "expected a number "),
    (re.compile(r"Input should be "), "expected "),
)
# click's, wherever typer keeps it.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def show_lines(lines: Iterable[str]) -> None:
    """Lines for people, to standard output: they are what was asked for."""
    typer.echo("\n".join(visible(line) for line in lines))


class Commands(TyperGroup):
    """The commands, whose usage errors quote arguments safely."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with _quoting_safely():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command's arguments, and run it."""
        with _quoting_safely():
            return super().invoke(*args, **kwargs)


@contextmanager
def _quoting_safely() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        message = getattr(error, "message", None)
        if isinstance(message, str):
            error.message = message_line(_in_our_words(message))  # type: ignore[attr-defined]
        raise


def _in_our_words(message: str) -> str:
    for phrase, plain in _PHRASES:
        message = phrase.sub(plain, message)
    return message
