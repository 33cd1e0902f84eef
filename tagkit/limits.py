"""Sizes that the commands and the library share, and checks of numbers that callers give."""

from tagkit.errors import DataError
from tagkit.wording import clipped

BATCH_SIZE = 128  # sentences a batch of prediction
# Tokens of such a batch, padding included: bounds memory if sentences are long.
BATCH_TOKENS = 16_384
MAX_LENGTH = 4096  # words; longer sentences are tagged in windows
MAX_LINE_CHARS = 100_000_000  # of one line, or of a text in a file of its own; more is refused
# Words of a window of input. Sentences are sorted by length within it, so it must hold several
# batches for padding to be small; its size also bounds memory, and the work that a worker gets at a
# time.
WINDOW_WORDS = 20_000
MAX_UNITS = 200  # of a generated text
EPSILON = 0.7  # of the weights of an audit: Wang et al. 2019, chosen on CoNLL-2003
# Of a neural cache; chosen on dev text of the Penn Treebank. Grave et al. 2017 have theta 0.3 and
# lambda 0.1 there.
CACHE_WINDOW, CACHE_THETA, CACHE_SHARE = 500, 0.4, 0.15
CACHE_THETA_MAX = 1_000_000
# Texts that are generated at once, and hypotheses of a beam: each has a score for every unit.
MAX_SAMPLES, MAX_BEAM = 10_000, 1_000
# Threads of the CPU, and processes of a command: where none are left, a system ends the program.
MAX_THREADS = 1024


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
