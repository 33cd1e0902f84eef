"""Byte pair encoding: text as units that are learnt from a corpus, none of which is unknown.

The most frequent pair of neighbouring units is merged into a new unit, again and again (Gage 1994
for compression; Sennrich, Haddow and Birch 2016 for words; Jurafsky and Martin 2024, chapter 2,
"Byte-Pair Encoding"). The first units are the 256 bytes of UTF-8 (Radford et al. 2019), so every
text has units. No unit crosses the start of a word; a word has the blank before it. Of pairs that
are equally frequent the one whose left unit is older is merged, then the one whose right unit is:
units are numbered by age, the bytes in the order of their signs.

In names of units each byte has a visible sign, as in GPT-2: "Ġ" is a blank, "Ã©" the two of "é".
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tagkit.errors import ConfigError
from tagkit.text.json_text import checked_strings
from tagkit.text.units import Unit, Units
from tagkit.wording import LONE_SURROGATE, quoted

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BYTES = 256
_MIN_COUNT = 2  # occurrences of a pair that is merged: what is seen once helps nobody


def _signs() -> tuple[str, ...]:
    """The sign of each byte: Latin-1 where that can be seen, else the next of U+0100 and on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in seen else next(others)) for byte in range(BYTES))


SIGNS = _signs()
_BYTE_OF = {sign: byte for byte, sign in enumerate(SIGNS)}


@dataclass(frozen=True)
class BytePairs(Units):
    """Byte pair encoding with the merges that a corpus gave.

    Attributes:
        merges: pairs of units that are merged, the first that was learnt first.
    """

    merges: tuple[tuple[str, str], ...]
    kind: ClassVar[str] = "bpe"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All units, in the order of age: the bytes, then what each merge makes."""
        # Two merges may make the same unit: "ab" + "c" and "a" + "bc".
        made = (left + right for left, right in self.merges)
        return tuple(dict.fromkeys([*sorted(SIGNS), *made]))

    def cut(self, line: str) -> list[Unit]:
        """The units of a line, whose stretches follow each other without gaps.

        A character of several bytes may be in several units: it belongs to the one that has its
        first byte, and a unit that begins no character is an empty stretch.
        """
        strings = self.strings(line)
        # How many characters have begun before each byte, and before the end.
        begun = [0]
        if line.isascii():
            begun = list(range(len(line) + 1))
        else:
            for byte in _clean(line).encode():
                # A byte 10xxxxxx continues a character.
                begun.append(begun[-1] + (byte & 0xC0 != 0x80))
        units, place = [], 0
        for text in strings:
            after = place + len(text)
            # A character has begun before the byte after its first one.
            units.append(Unit(text, begun[place], begun[after]))
            place = after
        return units

    def strings(self, line: str) -> list[str]:
        """The units of a line; a lone half of a surrogate pair is read as U+FFFD."""
        found: list[str] = self._tokenizer.encode(_clean(line), add_special_tokens=False).tokens
        return found

    def join(self, units: Sequence[str]) -> str:
        """The text of units, exactly; bytes that are no UTF-8 are read as U+FFFD."""
        # Units that a language model draws need not be the bytes of whole characters.
        return bytes(_BYTE_OF[sign] for unit in units for sign in unit).decode(errors="replace")

    def to_list(self) -> list[str]:
        """The merges as strings, for JSON; no unit holds a blank."""
        return [f"{left} {right}" for left, right in self.merges]

    @classmethod
    def from_list(cls, values: Any) -> "BytePairs":
        """What `to_list` gave.

        Raises:
            TypeError: it is no list of strings.
            ValueError: a merge is of units that there are not, or is there twice.
        """
        merges: dict[tuple[str, str], None] = {}
        known = set(SIGNS)
        for text in checked_strings(values, "merges"):
            left, blank, right = text.partition(" ")
            if not blank or left not in known or right not in known:
                raise ValueError(
                    f"merges: expected two units, each a byte or an earlier merge, found "
                    f"{quoted(text)}"
                )
            if (left, right) in merges:
                raise ValueError(f"merges: expected each once, found {quoted(text)} again")
            merges[left, right] = None
            known.add(left + right)
        return cls(tuple(merges))

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        vocabulary = {name: number for number, name in enumerate(self.names)}
        return _byte_level(vocab=vocabulary, merges=list(self.merges))

    def __getstate__(self) -> dict[str, Any]:
        """The merges alone: all else follows from them, in a worker process too."""
        return {"merges": self.merges}


def train_byte_pairs(lines: Iterable[str], size: int) -> BytePairs:
    """The merges that a corpus gives; the same lines give the same merges.

    Memory is for distinct words: the lines may be those of a file that is larger than it.

    Args:
        lines: of the corpus.
        size: number of units, the 256 bytes among them; fewer where the corpus has fewer pairs.

    Raises:
        ConfigError: the package `tokenizers` is missing.
    """
    tokenizer = _byte_level()
    from tokenizers import trainers

    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=_MIN_COUNT,
        initial_alphabet=list(SIGNS),
        show_progress=False,
        special_tokens=[],
    )
    tokenizer.train_from_iterator(map(_clean, lines), trainer)
    # The library gives its merges in its file alone, which is JSON.
    import json

    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return BytePairs(tuple((left, right) for left, right in merges))


def _byte_level(**model: Any) -> "Tokenizer":
    """The library's tokenizer, which works in one thread.

    Raises:
        ConfigError: the package is missing.
    """
    # Threads of the library outlive a call, and it warns where a process with threads is forked.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers
    except ImportError:
        raise ConfigError(
            "data.unit=bpe", ["needs the package tokenizers: install tagkit[bpe]"]
        ) from None
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return tokenizer


def _clean(line: str) -> str:
    """The line with U+FFFD for each lone half of a surrogate pair, which UTF-8 cannot write."""
    if line.isascii():
        return line
    return LONE_SURROGATE.sub("\ufffd", line)
