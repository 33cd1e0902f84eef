"""The sizes of a learning curve: numbers of sentences, or shares of the training corpus."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from tagkit.errors import ConfigError, DataError
from tagkit.evaluation.analysis.power_law import MIN_SIZES
from tagkit.wording import clipped, plural

Size = int | float | Fraction | str

_SIZES = 5  # by default: the whole corpus, and parts of it
_SMALLEST_SHARE = 1 / 16  # so that each is twice the one before
_SMALLEST = 10  # sentences; a model of fewer has learnt by chance what it knows


def as_size(given: Size) -> int | Fraction:
    """A number of sentences; a fraction if it is a share, as all with a point or a stroke are.

    Raises:
        ConfigError: it is neither.
    """
    text = str(given)  # 0.1 is a tenth
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = f"found {clipped(repr(given))}"
        expected = f"expected numbers of sentences, or shares such as 1/8, {found}"
        raise ConfigError("sizes=...", [expected]) from None
    is_share = isinstance(given, Fraction) or "/" in text or "." in text
    return share if is_share else int(share)


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


def counts_of(sizes: Sequence[Size] | None, total: int, path: str, unit: str) -> tuple[int, ...]:
    """The sizes as numbers of sentences.

    Args:
        sizes: numbers of sentences, or shares of the training corpus; None for the usual ones.
        total: number of its sentences.
        path: of it, for messages.
        unit: what a sentence is called.

    Raises:
        ConfigError: they are too few or do not increase, or one is no size.
        DataError: the corpus is too small for them.
    """
    if sizes is None:
        return usual_counts(total, path, unit)
    given = [as_size(each) for each in sizes]
    counts = tuple(round(size * total) if isinstance(size, Fraction) else size for size in given)
    found = ", ".join(f"{count:,}" for count in counts)
    wrong = [size for size in given if size <= 0 or (isinstance(size, Fraction) and size > 1)]
    problem = ""
    if wrong:
        problem = f"expected numbers above 0 and shares up to 1, found {wrong[0]}"
    elif len(counts) < MIN_SIZES:
        problem = f"expected at least {MIN_SIZES} sizes, found {found or 'none'}"
    elif any(after <= before for before, after in pairwise(counts)):
        problem = f"expected increasing sizes, found {found}"
    if problem:
        raise ConfigError("sizes=...", [problem])
    has = f"{path}: has {plural(total, unit)} to train on"
    if counts[0] < _SMALLEST:
        small = f"too small: expected at least {_SMALLEST} in the smallest. Name other "
        raise DataError(f"{has}; parts of {found} are {small}sizes=...")
    if counts[-1] > total:
        raise DataError(f"{has}, fewer than the largest of sizes={found}")
    return counts
