"""The sizes of a learning curve: numbers of sentences, or shares of the training corpus."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any

from tagkit.errors import ConfigError, DataError
from tagkit.evaluation.analysis.power_law import MIN_SIZES
from tagkit.wording import clipped, plural, quoted

Size = int | float | Fraction | str

_SIZES = 5  # by default: the whole corpus, and parts of it
_SMALLEST_SHARE = 1 / 16  # so that each is twice the one before
_SMALLEST = 10  # sentences; a model of fewer has learnt by chance what it knows


def parse_size(text: str) -> int | Fraction:
    """A number of sentences, or a share such as 1/8, as text has it.

    Raises:
        ConfigError: it is something else.
    """
    try:
        return Fraction(text) if "/" in text else int(text)
    except (ValueError, ZeroDivisionError):
        raise ConfigError(
            "sizes=...",
            [f"expected numbers of sentences, or shares such as 1/8, found {quoted(text)}"],
        ) from None


def _size(given: Any) -> int | Fraction:
    """A number of sentences; a fraction if it is a share, as every number with a point is.

    Raises:
        ConfigError: it is neither.
    """
    if isinstance(given, str):
        return parse_size(given)
    if isinstance(given, Fraction):
        return given
    if isinstance(given, Integral) and not isinstance(given, bool):  # NumPy's too
        return int(given)
    if isinstance(given, float) and math.isfinite(given):
        return Fraction(str(given))  # 0.1 is a tenth
    raise ConfigError(
        "sizes=...",
        [f"expected numbers of sentences, or shares such as 1/8, found {clipped(repr(given))}"],
    )


def usual_counts(total: int, path: str, unit: str) -> tuple[int, ...]:
    """Five sizes, each as many times the one before; arguments as of `counts_of`.

    Raises:
        DataError: the corpus has no room for so many.
    """
    smallest = max(_SMALLEST, total * _SMALLEST_SHARE)
    if total < _SMALLEST + _SIZES - 1:
        has = f"{path}: has {plural(total, unit)} to train on"
        raise DataError(f"{has}: expected at least {_SMALLEST + _SIZES - 1} for a learning curve")
    growth = (total / smallest) ** (1 / (_SIZES - 1))  # 2 in all but small corpora
    return tuple(round(smallest * growth**power) for power in range(_SIZES))


def counts_of(sizes: Sequence[Size], total: int, path: str, unit: str) -> tuple[int, ...]:
    """The sizes as numbers of sentences.

    Args:
        sizes: numbers of sentences, or shares of the training corpus.
        total: number of its sentences.
        path: of it, for messages.
        unit: what a sentence is called.

    Raises:
        ConfigError: they are too few or do not increase, or one is no size.
        DataError: the corpus is too small for them.
    """
    # From Python a single size may come, which is one too few as well.
    is_one = isinstance(sizes, str) or not isinstance(sizes, Iterable)
    given = [_size(each) for each in ([sizes] if is_one else sizes)]
    for size in given:
        if size <= 0 or (isinstance(size, Fraction) and size > 1):
            raise ConfigError(
                "sizes=...", [f"expected numbers above 0 and shares up to 1, found {size}"]
            )
    counts = tuple(round(size * total) if isinstance(size, Fraction) else size for size in given)
    found = ", ".join(f"{count:,}" for count in counts)
    if len(counts) < MIN_SIZES:
        found = found or "none"
        raise ConfigError("sizes=...", [f"expected at least {MIN_SIZES} sizes, found {found}"])
    has = f"{path}: has {plural(total, unit)} to train on"
    if counts[0] < _SMALLEST:
        raise DataError(
            f"{has}; parts of {found} are too small: expected at least {_SMALLEST} in the "
            "smallest. Name other sizes"
        )
    if any(after <= before for before, after in pairwise(counts)):
        raise ConfigError("sizes=...", [f"expected increasing sizes, found {found}"])
    if counts[-1] > total:
        raise DataError(f"{has}, fewer than the largest of sizes={found}")
    return counts
