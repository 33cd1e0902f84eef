"""Scores of a language model: cross-entropy, perplexity, bits per character.

With p the probability of each unit given those before it, and the end of each line a unit too:

    cross-entropy  H = -1/N sum log p      nats a unit (Jurafsky and Martin, section 3.7)
    perplexity     exp(H)                  (the same 2021, chapter 9, eqs. 9.1 and 9.2)
    bits per character  N H / (ln 2 C)     C characters, the line feeds among them

Perplexities compare where units and text are the same; bits per character compare whatever the
units are.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tagkit.evaluation.reports.report import LANGUAGE, ReportOfParts, head_of
from tagkit.text.json_text import plain

_LONG = 1e12  # a perplexity from here on is shown by its first digits and its power of ten


@dataclass(frozen=True, slots=True)
class PairFigures:
    """How a model continues prefixes.

    Attributes:
        nats: negative log-likelihood of all continuations, each given its prefix.
        units: of continuations, their ends included.
        unknown: of these, how many the model does not know.
        exact: number of continuations that a greedy search writes exactly.
        pairs: number of all.
    """

    nats: float
    units: int
    unknown: int
    exact: int
    pairs: int

    def parts(self) -> dict[str, float]:
        """The scores by name; a perplexity that no float64 can hold is infinite."""
        return {
            "continuation_perplexity": perplexity(self.nats / max(1, self.units)),
            "exact_match": self.exact / max(1, self.pairs),
        }


@dataclass(frozen=True, slots=True)
class LanguageReport(ReportOfParts):
    """How probable a text is.

    Attributes:
        nats: negative log-likelihood of all units.
        units: that were predicted, the ends of lines included.
        unknown: of these, how many the model does not know: each counts as the unknown unit.
        characters: of the text, one for each end of a line included.
        lines: of the text, without blank ones.
        unit: what a unit is: "word", "character" or "bpe".
        context: "stream" where the state was carried from line to line, else "line".
        pairs: of lines that are a prefix and its continuation; None of plain text.
        counted: "all", or "continuation" where the numbers above are of continuations alone.
        cache: window, theta and share of a neural cache; None without one.
        files: that the lines are from, each a text by itself.
        classes_right: lines whose class is the one with the largest p(class) p(line | class); None
            of a model that knows no classes. Perplexities are given the class.
    """

    nats: float
    units: int
    unknown: int
    characters: int
    lines: int
    unit: str
    context: str
    pairs: PairFigures | None = None
    counted: str = "all"
    cache: Mapping[str, float] | None = None
    files: int = 1
    classes_right: int | None = None

    @property
    def cross_entropy(self) -> float:
        """In nats a unit."""
        return self.nats / max(1, self.units)

    @property
    def perplexity(self) -> float:
        """Of a unit; infinite where no float64 can hold it."""
        return perplexity(self.cross_entropy)

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
        """The scores by name, all of them finite, as checkpoints want them."""
        # In this order the largest float stands for what is not a number too.
        return {name: min(sys.float_info.max, value) for name, value in self._scores().items()}

    def _scores(self) -> dict[str, float]:
        return {
            "cross_entropy": self.cross_entropy,
            "perplexity": self.perplexity,
            "bits_per_character": self.bits_per_character,
            **(self.pairs.parts() if self.pairs else {}),
            **(
                {}
                if self.classes_right is None
                else {"class_accuracy": self.classes_right / max(1, self.lines)}
            ),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; a perplexity that no float64 can hold is None."""
        return {
            **head_of(self, LANGUAGE),
            **plain(self._scores()),
            "units": self.units,
            "unknown": self.unknown,
            "characters": self.characters,
            "lines": self.lines,
            "unit": self.unit,
            "context": self.context,
            # Reports of plain text in one file without a cache stay as they are.
            **({"files": self.files} if self.files > 1 else {}),
            **({"counted": self.counted, "exact": self.pairs.exact} if self.pairs else {}),
            **({"cache": dict(self.cache)} if self.cache else {}),
        }


def perplexity(nats: float) -> float:
    """Exponential of the cross-entropy of a unit, in nats; infinite if that has no float64.

    Jurafsky and Martin, "N-gram Language Models", section on perplexity and entropy.
    """
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def perplexity_text(perplexity: float) -> str:
    """A perplexity as people read it."""
    if perplexity > sys.float_info.max:
        return f"over {sys.float_info.max:.1e}"
    return f"{perplexity:,.2f}" if perplexity < _LONG else f"{perplexity:.4e}"
