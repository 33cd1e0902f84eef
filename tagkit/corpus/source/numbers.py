"""Numbers of tokens as files have them: a cell of a column, a list of JSON."""

from collections.abc import Sequence
from typing import Any

from tagkit.wording import clipped, quoted

Vectors = tuple[tuple[tuple[float, ...], ...], ...]  # as of `Sentence`
_LARGEST = 3.4028234663852886e38  # of 32 bits, as a model has them
_REMEDY = "correct it, or leave it out of data.vector_columns"


def numbers_of(cell: str) -> tuple[float, ...]:
    """The numbers of a cell, with commas between them.

    Raises:
        ValueError: it holds something else; the message is the reason, in words.
    """
    try:
        found = tuple(map(float, cell.split(",")))
    except ValueError:
        found = ()
    # float takes 1_000 for a number, and digits of other scripts.
    if not _are_numbers(found) or "_" in cell or not cell.isascii():
        expected = "expected a number, or several with commas between them"
        raise ValueError(f"{expected}, found {quoted(cell)}; {_REMEDY}")
    return found


def numbers_under(values: Any, key: str, length: int) -> tuple[tuple[float, ...], ...]:
    """The numbers of each token, from a list with a number or a list of numbers for each.

    Args:
        values: of JSON.
        key: that they stand under.
        length: number of tokens.

    Raises:
        ValueError: they are something else; the message is the reason, in words.
    """
    expected = f"{key}: expected a number, or a list of them, for each of the {length} tokens"
    if not isinstance(values, list) or len(values) != length:
        count = f" {len(values)} values:" if isinstance(values, list) else ""
        raise ValueError(f"{expected}, found{count} {clipped(repr(values))}; {_REMEDY}")
    found = [tuple(each) if isinstance(each, list) else (each,) for each in values]
    for odd in (each for each in found if not _are_numbers(each)):
        raise ValueError(f"{expected}, found {clipped(repr(odd))}; {_REMEDY}")
    return tuple(tuple(map(float, each)) for each in found)


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether there are some, all of them finite: for Python true is 1, and NaN a number."""
    return len(values) > 0 and all(
        type(each) in (int, float) and abs(each) <= _LARGEST for each in values
    )
