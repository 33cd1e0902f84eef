"""How a model reads units in place of words, or of a word's characters.

A classifier reads the units of a text one after another: they stand where its words stood. A tagger
has one vector a word, for tags, spans and offsets are those of words; there units stand where the
characters stood, and the recurrent network over them makes the word's vector, as Heinzerling and
Strube (2019) combine the subword units of a word for tagging. Either way a word is cut by itself
with a blank before it, as inside a text: it is the same units wherever it stands.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from tagkit.features import Ids
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.json_text import kind_of
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.text.units import Units


@dataclass(frozen=True)
class UnitReading:
    """Units that a model reads.

    Attributes:
        units: characters or byte pairs.
        instead_of: what the units stand for: "words" of a text, or "characters" of a word.
    """

    units: Units
    instead_of: Literal["words", "characters"]

    def cut(self, word: str) -> list[str]:
        """The units of a word; there is at least one, the blank before it."""
        return self.units.strings(f" {word}")

    @property
    def known(self) -> tuple[str, ...] | None:
        """All units that there are; None where that is for the corpus to say."""
        return self.units.names if isinstance(self.units, BytePairs) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        merges = {"merges": self.units.to_list()} if isinstance(self.units, BytePairs) else {}
        return {"unit": self.units.kind, "instead_of": self.instead_of, **merges}

    @classmethod
    def from_dict(cls, values: Any) -> "UnitReading":
        """What `to_dict` gave.

        Raises:
            TypeError: a part has the wrong type, or is missing.
            ValueError: there is no such unit, or the merges contradict each other.
        """
        if not isinstance(values, dict):
            raise TypeError(f"units: expected an object, found {kind_of(values)}")
        unit, instead_of = values.get("unit"), values.get("instead_of")
        if instead_of not in ("words", "characters"):
            raise ValueError('units: expected instead_of to be "words" or "characters"')
        kind = UNIT_KINDS.get(unit) if isinstance(unit, str) else None
        if kind is None or kind.load is None:
            raise ValueError('units: expected unit to be "character" or "bpe"')
        return cls(kind.load(values.get("merges")), instead_of)


def cut_all(words: Sequence[str], cut: Callable[[str], Sequence[str]]) -> tuple[list[str], Ids]:
    """The units of words, one word after another, and (words,) how many each word has.

    Args:
        words: in the order of the text.
        cut: a word into units; each distinct word is cut once.
    """
    known = {word: cut(word) for word in dict.fromkeys(words)}
    parts = [known[word] for word in words]
    return list(chain.from_iterable(parts)), np.fromiter(map(len, parts), np.int64, len(parts))


def learn_units(
    kind: str, instead_of: Literal["words", "characters"], words: Iterable[str], size: int
) -> UnitReading | None:
    """The units that data.unit names; None for words.

    Args:
        kind: "word", "character" or "bpe".
        instead_of: what they stand for.
        words: of the training corpus, each as often as it occurs there.
        size: number of byte pairs.

    Raises:
        ConfigError: the package `tokenizers` is missing.
    """
    row = UNIT_KINDS[kind]
    if row.load is None:
        return None
    return UnitReading(row.learn((f" {word}" for word in words), size), instead_of)
