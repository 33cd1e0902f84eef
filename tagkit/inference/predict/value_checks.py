"""Values that callers give, refused by the parameter's name; this module imports no torch."""

from numbers import Integral, Real
from typing import Any

from tagkit.errors import DataError
from tagkit.wording import clipped


def check_count(name: str, value: Any, least: int = 1, most: int = 2**31 - 1) -> None:
    """Refuse a value that is no whole number, or one below `least` or above `most`.

    Args:
        name: of the parameter; a setting if commands have a flag for it.
        value: given.
        least: that is allowed.
        most: that is allowed.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    # Also a number of NumPy. True is an int too, and 1 is not what it was meant for.
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least:
        found = clipped(repr(value))
        raise DataError(f"{name}: expected a whole number, at least {least}, found {found}")
    if value > most:  # the libraries below count in 32 or 64 bits
        found = clipped(repr(value))
        raise DataError(f"{name}: expected at most {most:,}, found {found}")


def check_probability(name: str, value: Any) -> None:
    """Refuse a value that is no number from 0 to 1.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    if not is_number(value) or not 0 <= value <= 1:
        raise DataError(f"{name}: expected a number from 0 to 1, found {clipped(repr(value))}")


def is_number(value: Any) -> bool:
    """Whether a value is a number, also one of NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_function(name: str, value: Any, taking: str) -> None:
    """Refuse what cannot be called.

    Args:
        name: of the parameter.
        value: given.
        taking: what the function is called with, for the message.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    if not callable(value):
        found = clipped(repr(value))
        raise DataError(f"{name}: expected a function that takes {taking}, found {found}")
