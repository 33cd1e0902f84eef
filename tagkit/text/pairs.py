"""A prefix and its continuation in one line, as units of one sequence.

    prefix <tab> continuation  ->  units of the prefix, DELIMITER, units of the continuation

A language model that has learnt such lines summarises, answers or translates: it reads a prefix and
the delimiter, and what it predicts next is the continuation (Liu et al. 2018; Jurafsky and Martin
2021, section 9.9, contextual generation).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tagkit.text.json_text import from_json
from tagkit.text.units import Unit, Units
from tagkit.wording import quoted

# The unit between the two. No text has it: a line with another tab is refused, words are without
# blanks, and byte pairs have a visible sign for each byte.
DELIMITER = "\t"


@dataclass(frozen=True)
class PairUnits(Units):
    """Units of a prefix and of its continuation, each cut by itself.

    Attributes:
        units: of either.
    """

    units: Units
    kind: ClassVar[str] = "pair"

    def cut(self, line: str) -> list[Unit]:
        """The units of a line; those of a prefix alone where it has no tab."""
        found: list[Unit] = []
        start = 0
        for side in line.split(DELIMITER):
            if start:
                found.append(Unit(DELIMITER, start - 1, start))
            found += [
                Unit(unit.text, start + unit.start, start + unit.end)
                for unit in self.units.cut(side)
            ]
            start += len(side) + 1
        return found

    def strings(self, line: str) -> list[str]:
        """The texts of the units alone."""
        return _by_side(line, self.units.strings)

    def join(self, units: Sequence[str]) -> str:
        """The line that has these units."""
        sides: list[list[str]] = [[]]
        for unit in units:
            if unit == DELIMITER:
                sides.append([])
            else:
                sides[-1].append(unit)
        return DELIMITER.join(map(self.units.join, sides))


def pair_problem(line: str) -> str | None:
    """Why a line is not a pair; None where it is one, or is blank."""
    sides = line.split(DELIMITER)
    if len(sides) == 1 and not line.strip():
        return None
    expected = "expected a prefix and its continuation with one tab between them"
    if len(sides) != 2:
        found = "none" if len(sides) == 1 else f"{len(sides) - 1}"
        return f"{expected}, found {found}: {quoted(line)}"
    for name, side in zip(("prefix", "continuation"), sides, strict=True):
        if not side.strip():
            return f"{expected}, found an empty {name}: {quoted(line)}"
    return None


def prefix_problem(line: str) -> str | None:
    """Why nothing of a line can be continued; None where its prefix can, or where it is blank."""
    prefix, *others = line.split(DELIMITER)
    expected = "expected a prefix, or a prefix and a continuation with one tab between them"
    if len(others) > 1:
        return f"{expected}, found {len(others)}: {quoted(line)}"
    if others and not prefix.strip():
        return f"{expected}, found an empty prefix: {quoted(line)}"
    if not others and _is_record(prefix):
        return (
            f"{expected}, found JSON: {quoted(line)}; write its text as a line, or a tab behind "
            "JSON that is a prefix itself"
        )
    return None


def _is_record(line: str) -> bool:
    """Whether a line is one of JSON Lines, whose text alone would be a prefix."""
    if not line.lstrip().startswith(("{", "[")):
        return False
    try:
        found = from_json(line.encode())
    except ValueError:
        return False
    records = found if isinstance(found, list) else [found]
    return bool(records) and all(isinstance(each, dict) for each in records)


def within(units: Units) -> Units:
    """The units of each side of a pair; of other lines the units as they are."""
    return units.units if isinstance(units, PairUnits) else units


def _by_side(line: str, cut: Callable[[str], list[str]]) -> list[str]:
    first, *others = map(cut, line.split(DELIMITER))
    return [*first, *(unit for side in others for unit in (DELIMITER, *side))]
