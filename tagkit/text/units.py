"""Units of text: what a network reads one after another, words, characters or byte pairs.

Each kind cuts a line into units and joins them again:

    word         stretches of the line, as a tokenizer of `text.tokenizer` finds them
    character    code points (not grapheme clusters: their number is open, and none would be cut)
    bpe          pairs of bytes that were merged; in `text.byte_pairs`
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NamedTuple

from tagkit.text.tokenizer import TOKENIZERS

END = "</s>"  # the unit at the end of a line, which a language model predicts as any other
UNKNOWN = "<unk>"  # how a unit is shown that the training corpus lacks


class Unit(NamedTuple):
    """A unit of a line, in code points; a tuple, as a line has thousands of them.

    Attributes:
        text: its name in a vocabulary.
        start: offset of its first character in the line.
        end: offset after its last character; `start` where it has none of its own.
    """

    text: str
    start: int
    end: int


class Units(ABC):
    """A way to cut lines into units.

    Attributes:
        kind: the value of data.unit.
    """

    kind: ClassVar[str]

    @abstractmethod
    def cut(self, line: str) -> list[Unit]:
        """The units of a line, in order; none overlap."""

    def strings(self, line: str) -> list[str]:
        """The texts of the units alone, which is faster."""
        return [unit.text for unit in self.cut(line)]

    @abstractmethod
    def join(self, units: Sequence[str]) -> str:
        """The line that has these units."""


@dataclass(frozen=True)
class WordUnits(Units):
    """Words, as a tokenizer finds them; `join` puts a blank between them.

    Attributes:
        tokenizer: a name in `TOKENIZERS`. A corpus that is tokenised already has "blanks".
    """

    tokenizer: str
    kind: ClassVar[str] = "word"

    def cut(self, line: str) -> list[Unit]:
        """The tokens of the line, those of all its sentences."""
        found = chain.from_iterable(TOKENIZERS[self.tokenizer](line))
        return [Unit(token.text, token.start, token.end) for token in found]

    def strings(self, line: str) -> list[str]:
        """The tokens."""
        # str.split knows the same blanks as str.isspace, by which the tokenizer splits.
        return line.split() if self.tokenizer == "blanks" else super().strings(line)

    def join(self, units: Sequence[str]) -> str:
        """The words with a blank between them: the line, if that had no other blanks."""
        return " ".join(units)


@dataclass(frozen=True)
class CharacterUnits(Units):
    """Code points; blanks are units too, so that `join` is exact."""

    kind: ClassVar[str] = "character"

    def cut(self, line: str) -> list[Unit]:
        """Each code point."""
        return [Unit(char, place, place + 1) for place, char in enumerate(line)]

    def strings(self, line: str) -> list[str]:
        """Each code point."""
        return list(line)

    def join(self, units: Sequence[str]) -> str:
        """The line itself."""
        return "".join(units)
