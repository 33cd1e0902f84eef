"""A token of a raw text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of a text.

    Attributes:
        text: its characters.
        start: offset of the first of them, in code points.
        end: offset after the last of them.
    """

    text: str
    start: int
    end: int
