"""The kinds of units that `data.unit` names: how each is learnt, and made again from a model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tagkit.text.byte_pairs import BytePairs, train_byte_pairs
from tagkit.text.units import CharacterUnits, Units, WordUnits


@dataclass(frozen=True, slots=True)
class UnitKind:
    """A row of `UNIT_KINDS`.

    Attributes:
        name: of one unit, as messages have it.
        learn: texts of a corpus, and the number of byte pairs, -> units. Only byte pairs read the
            texts.
        load: merges, as JSON has them, -> units that stand in place of words or of their
            characters; None for words themselves.
    """

    name: str
    learn: Callable[[Iterable[str], int], Units]
    load: Callable[[Any], Units] | None


# The keys are the values that the configuration allows for `data.unit`.
UNIT_KINDS: dict[str, UnitKind] = {
    WordUnits.kind: UnitKind("word", lambda texts, size: WordUnits("blanks"), None),
    CharacterUnits.kind: UnitKind(
        "character", lambda texts, size: CharacterUnits(), lambda merges: CharacterUnits()
    ),
    BytePairs.kind: UnitKind("byte pair", train_byte_pairs, BytePairs.from_list),
}
