"""Numbers that callers give, refused by the parameter's name; this module imports no torch."""

from tagkit.errors import DataError
from tagkit.wording import clipped


def check_count(name: str, value: int, least: int = 1, most: int = 2**31 - 1) -> None:
    """Refuse a whole number below `least` or above `most`.

    Args:
        name: of the parameter; a setting if commands have a flag for it.
        value: given.
        least: that is allowed.
        most: that is allowed.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    # The libraries below count in 32 or 64 bits.
    limit = f"a whole number, at least {least}" if value < least else f"at most {most:,}"
    if not least <= value <= most:
        raise DataError(f"{name}: expected {limit}, found {clipped(repr(value))}")


def check_probability(name: str, value: float) -> None:
    """Refuse a number that is not from 0 to 1; NaN is not.

    Raises:
        DataError: it is refused; the message has the parameter's name.
    """
    if not 0 <= value <= 1:
        raise DataError(f"{name}: expected a number from 0 to 1, found {clipped(repr(value))}")
