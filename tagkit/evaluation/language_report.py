"""Scores of a language model: cross-entropy, perplexity, bits per character.

With p the probability of each unit given those before it, and the end of each line a unit too:

    cross-entropy  H = -1/N sum log p      nats a unit (Jurafsky and Martin, section 3.7)
    perplexity     exp(H)                  (the same, section 3.3; eq. 13.8 for recurrent networks)
    bits per character  N H / (ln 2 C)     C characters, the line feeds among them

Perplexities compare where units and text are the same; bits per character compare whatever the
units are.
"""

import math
from dataclasses import dataclass
from typing import Any

from tagkit.evaluation.report import LANGUAGE

_MOST_NATS = 700.0  # exp of more is infinite in float64, which JSON does not have


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """How probable a text is.

    Attributes:
        nats: negative log-likelihood of all units.
        units: that were predicted, the ends of lines included.
        unknown: of these, how many the model does not know: each counts as the unknown unit.
        characters: of the text, one for each end of a line included.
        lines: of the text, without blank ones.
        unit: what a unit is: "word", "character" or "bpe".
        context: "stream" where the state was carried from line to line, else "line".
    """

    nats: float
    units: int
    unknown: int
    characters: int
    lines: int
    unit: str
    context: str

    @property
    def cross_entropy(self) -> float:
        """In nats a unit."""
        return self.nats / max(1, self.units)

    @property
    def perplexity(self) -> float:
        """Of a unit."""
        return math.exp(min(self.cross_entropy, _MOST_NATS))

    @property
    def bits_per_character(self) -> float:
        """Of the text, whatever its units are."""
        return self.nats / math.log(2) / max(1, self.characters)

    @property
    def headline(self) -> float:
        """The cross-entropy, which is better where it is lower."""
        return self.cross_entropy

    @property
    def measure(self) -> str:
        """Name of the headline."""
        return "cross-entropy"

    def parts(self) -> dict[str, float]:
        """The scores by name."""
        return {
            "cross_entropy": self.cross_entropy,
            "perplexity": self.perplexity,
            "bits_per_character": self.bits_per_character,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "kind": LANGUAGE,
            "measure": self.measure,
            "headline": self.headline,
            **self.parts(),
            "units": self.units,
            "unknown": self.unknown,
            "characters": self.characters,
            "lines": self.lines,
            "unit": self.unit,
            "context": self.context,
        }
