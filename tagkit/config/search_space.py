"""What values a search may try: `0.001..0.01:log`, `50..300`, `lstm,gru`."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tagkit.config import (
    LARGEST,
    Config,
    option_names,
    toml_value,
    tunable_options,
    unknown_option,
)
from tagkit.errors import ConfigError
from tagkit.wording import quoted

FILE_OPTIONS = ("embeddings.vectors", "train.init_from")  # whose values are files or folders


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers from one to another.

    Attributes:
        low: the smallest.
        high: the largest.
        log: whether each order of magnitude is as likely as another.
        whole: whether whole numbers alone are meant.
    """

    low: float
    high: float
    log: bool
    whole: bool

    def samples(self) -> tuple[Any, ...]:
        """Values that must be right if all are to be: both ends, and an odd one between."""
        if self.whole:
            return int(self.low), int(self.high)
        # Golden section: a value between that is neither round nor a middle, in case only such
        # fail.
        return self.low, self.high, self.low + 0.618034 * (self.high - self.low)

    def __str__(self) -> str:
        """As it is given."""
        low, high, *_ = self.samples()
        return f"{low}..{high}{':log' if self.log else ''}"


@dataclass(frozen=True, slots=True)
class Choices:
    """Some values.

    Attributes:
        values: numbers, texts, true or false.
    """

    values: tuple[Any, ...]

    def samples(self) -> tuple[Any, ...]:
        """Values that must be right if all are to be."""
        return self.values

    def __str__(self) -> str:
        """As it is given."""
        return ",".join(
            str(value).lower() if isinstance(value, bool) else str(value) for value in self.values
        )


Space = Range | Choices


def parse_spaces(texts: Iterable[str]) -> dict[str, Space]:
    """Spaces by the option's dotted name, of texts such as `train.lr=0.001..0.01:log`.

    Raises:
        ConfigError: there is no such option, or the text is none of the kinds; all at once.
    """
    spaces: dict[str, Space] = {}
    problems = []
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            if not equals or not values:
                raise ValueError(f"expected section.key=values, found {quoted(text)}")
            if name not in option_names():
                raise ValueError(unknown_option(name))
            # Paths, limits of time and the like: see Option.tune.
            if name not in tunable_options(Config):
                raise ValueError(
                    f"{name} cannot be searched: trials compare how models learn one task from "
                    "one corpus"
                )
            if name in spaces:
                raise ValueError(f"{name} is named twice; give all of its values at once")
            spaces[name] = _parse(values)
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("spaces=...", problems)
    return spaces


def _parse(text: str) -> Space:
    values, _, scale = text.partition(":")
    low, dots, high = values.partition("..")
    # Without two dots it is a list, even of one value.
    if not dots:
        return Choices(tuple(_scalar(part) for part in text.split(",")))
    ends = _bounded(low), _bounded(high)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        raise ValueError(f"{quoted(text)}: expected two numbers on the sides of ..")
    if ends[0] >= ends[1]:
        raise ValueError(f"{quoted(text)}: expected a smaller number before .. than after it")
    if scale not in ("", "log"):
        raise ValueError(f"{quoted(text)}: expected :log or nothing after the numbers")
    # The logarithm of 0 is no number to draw from.
    if scale and ends[0] <= 0:
        raise ValueError(f"{quoted(text)}: expected numbers over 0 with :log")
    # 64..256 tries whole numbers, 0.1..0.5 real ones: what was written decides.
    whole = all(isinstance(end, int) for end in ends)
    return Range(float(ends[0]), float(ends[1]), bool(scale), whole)


def _scalar(text: str) -> Any:
    value = _bounded(text)
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"{quoted(text)}: expected a number, a text, true or false")
    return value


def _bounded(text: str) -> Any:
    """A value of TOML, which is no number that no option can have.

    Raises:
        ValueError: it is one.
    """
    # Optuna stores values in a database, whose integers have 64 bits.
    value = toml_value(text)
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{quoted(text)}: expected numbers of at most 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{quoted(text)}: expected finite numbers")
    return value
