"""How a model reads sources, and writes targets, in units of its own kinds.

A source is its units, its end, so that none is empty, then its features, each a symbol:

    "Bluff<tab>N;DAT;SG", in characters  ->  B  l  u  f  f  </s>  <tab>N  <tab>DAT  <tab>SG

No unit of a text has a tab, so that a feature is never taken for one. They come last: attention
that goes on from where it was begins with the first unit.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tagkit.nn.decoder import NOT_COPIED, RESERVED_UNITS, UNKNOWN_ID
from tagkit.text.byte_pairs import BytePairs, train_byte_pairs
from tagkit.text.json_text import checked_strings, kind_of
from tagkit.text.pairs import DELIMITER
from tagkit.text.units import END, UNKNOWN, CharacterUnits, Units, WordUnits

_PARTS = re.compile(r"[;,\s]+")  # between features, as SIGMORPHON and others write them


@dataclass(frozen=True)
class PairReading:
    """Units of sources and of targets.

    Attributes:
        source: that a source is cut into.
        target: that a target is cut into.
        units: that can be written, in the order of their ids, from `RESERVED_UNITS` on.
    """

    source: Units
    target: Units
    units: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Build the table of ids."""
        ids = {unit: number for number, unit in enumerate(self.units, RESERVED_UNITS)}
        object.__setattr__(self, "_ids", ids)

    def symbols(self, line: str) -> tuple[str, ...]:
        """What the encoder reads of a source, its features behind a tab."""
        text, _, features = line.partition(DELIMITER)
        parts = [DELIMITER + part for part in _PARTS.split(features) if part]
        return (*self.source.strings(text), END, *parts)

    def cut(self, target: str) -> list[str]:
        """The units of a target, without the end."""
        return self.target.strings(target)

    def unit_ids(self, units: Sequence[str], symbols: Sequence[str] = ()) -> list[int]:
        """Ids of the units of a target; with the symbols of its source, of those that it copies."""
        ids = self._ids
        beyond = self._beyond(symbols)
        return [ids[unit] if unit in ids else beyond.get(unit, UNKNOWN_ID) for unit in units]

    def copies(self, symbols: Sequence[str]) -> list[int]:
        """The unit that each symbol of a source means."""
        ids, beyond = self._ids, self._beyond(symbols)
        return [
            NOT_COPIED
            if symbol == END or symbol.startswith(DELIMITER)
            else ids[symbol]
            if symbol in ids
            else beyond[symbol]
            for symbol in symbols
        ]

    def _beyond(self, symbols: Sequence[str]) -> dict[str, int]:
        """Ids of the symbols that are no unit: behind all units, by their first place."""
        first = RESERVED_UNITS + len(self.units)
        found: dict[str, int] = {}
        for place, symbol in enumerate(symbols):
            if symbol not in self._ids and symbol != END and not symbol.startswith(DELIMITER):
                found.setdefault(symbol, first + place)
        return found

    def strings(self, ids: Iterable[int], symbols: Sequence[str]) -> list[str]:
        """The units with these ids, which are no end, written for a source of these symbols."""
        last = RESERVED_UNITS + len(self.units)
        return [
            UNKNOWN
            if id < RESERVED_UNITS
            else self.units[id - RESERVED_UNITS]
            if id < last
            else symbols[id - last]
            for id in ids
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "source": _to_dict(self.source), "target": _to_dict(self.target),
            "units": list(self.units),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Any) -> "PairReading":
        """What `to_dict` gave.

        Raises:
            TypeError: a part has the wrong type, or is missing.
            ValueError: there are no such units.
        """
        if not isinstance(values, dict):
            raise TypeError(f"pairs: expected an object, found {kind_of(values)}")
        units = checked_strings(values.get("units"), "pairs")
        if len({*units}) < len(units):
            raise ValueError("pairs: expected each unit once")
        return cls(_from_dict(values.get("source")), _from_dict(values.get("target")), units)


def learn_pairs(
    lines: Iterable[str],
    targets: Sequence[str],
    *,
    kinds: tuple[str, str],
    tokenizer: str,
    bpe_size: int,
    min_count: int,
) -> PairReading:
    """The units of a training corpus; if both sides are byte pairs, they share them.

    Args:
        lines: sources with their features.
        targets: of the corpus.
        kinds: of units, of sources and of targets.
        tokenizer: of words.
        bpe_size: number of byte pairs.
        min_count: occurrences of a unit that can be written.

    Raises:
        ConfigError: byte pairs need a package that is missing.
    """
    sources = [line.partition(DELIMITER)[0] for line in lines]
    shared = None
    if kinds == (BytePairs.kind, BytePairs.kind):
        shared = train_byte_pairs([*sources, *targets], bpe_size)

    def learn(kind: str, texts: Sequence[str]) -> Units:
        if kind == BytePairs.kind:
            return shared or train_byte_pairs(texts, bpe_size)
        if kind == CharacterUnits.kind:
            return CharacterUnits()
        return WordUnits("blanks" if kind == "tokens" else tokenizer)

    source, target = learn(kinds[0], sources), learn(kinds[1], targets)
    counts: Counter[str] = Counter()
    for text in targets:
        counts.update(target.strings(text))
    if isinstance(target, BytePairs):  # all of them, as new text has others
        counts.update(dict.fromkeys(target.names, 0))
        min_count = 0
    units = sorted((unit for unit, n in counts.items() if n >= min_count),
                   key=lambda unit: (-counts[unit], unit))  # fmt: skip
    return PairReading(source, target, tuple(units))


def _to_dict(units: Units) -> dict[str, Any]:
    if isinstance(units, BytePairs):
        return {"unit": units.kind, "merges": units.to_list()}
    if isinstance(units, WordUnits):
        return {"unit": units.kind, "tokenizer": units.tokenizer}
    return {"unit": units.kind}


def _from_dict(values: Any) -> Units:
    if not isinstance(values, dict):
        raise TypeError(f"pairs: expected an object, found {kind_of(values)}")
    match values.get("unit"):
        case BytePairs.kind:
            return BytePairs.from_list(values.get("merges"))
        case WordUnits.kind:
            if not isinstance(tokenizer := values.get("tokenizer"), str):
                raise TypeError(f"pairs: expected a tokenizer, found {kind_of(tokenizer)}")
            return WordUnits(tokenizer)
        case CharacterUnits.kind:
            return CharacterUnits()
    raise ValueError("pairs: expected a unit that is word, character or bpe")
