"""Scores of strings that a model has written.

    exact match             share of strings that are a reference, letter for letter
    edit distance           units to be inserted, deleted or replaced, the mean over strings
    unit error rate         all of these, as a share of the units of the references: of phones the
                            phone error rate, of words the word error rate
    character error rate    the same of characters
    BLEU, chrF              of words and byte pairs, by sacrebleu (Papineni et al. 2002; Popovic
                            2015)

Of several references the nearest one counts.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tagkit.evaluation.reports.report import ReportOfParts, head_of
from tagkit.text.units import CharacterUnits, Units

STRINGS = "strings"  # `kind` of the report
MEASURE = "exact match"
# Parts that `train.metric` may name, with names for people; larger is better.
PARTS = MappingProxyType({"exact_match": MEASURE, "chrf": "chrF", "bleu": "BLEU"})


@dataclass(frozen=True, slots=True)
class StringReport(ReportOfParts):
    """Scores of strings.

    Attributes:
        pairs: their number.
        exact: how many are a reference.
        edits: units between all strings and their nearest references.
        units: of these references.
        character_edits: characters between them.
        characters: of these references.
        unit: what a unit is: "word", "character" or "bpe".
        bleu: 0 to 1; None of characters, and without sacrebleu.
        chrf: 0 to 1, likewise.
        references: of each pair.
        right: whether its string is one of them.
    """

    pairs: int
    exact: int
    edits: int
    units: int
    character_edits: int
    characters: int
    unit: str
    bleu: float | None = None
    chrf: float | None = None
    references: Sequence[tuple[str, ...]] = field(default=(), compare=False, repr=False)
    right: Sequence[bool] = field(default=(), compare=False, repr=False)

    @property
    def headline(self) -> float:
        """The share of exact matches."""
        return self.exact / max(1, self.pairs)

    @property
    def measure(self) -> str:
        """Name of the headline."""
        return MEASURE

    def parts(self) -> dict[str, float]:
        """The scores by name."""
        found = {
            "exact_match": self.headline,
            "edit_distance": self.edits / max(1, self.pairs),
            "unit_error_rate": self.edits / max(1, self.units),
            "character_error_rate": self.character_edits / max(1, self.characters),
        }
        for name, score in (("bleu", self.bleu), ("chrf", self.chrf)):
            if score is not None:
                found[name] = score
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        counts = {"pairs": self.pairs, "exact": self.exact, "unit": self.unit}
        return {**head_of(self, STRINGS), **self.parts(), **counts}


def string_report(
    gold: Sequence[tuple[str, ...]], predicted: Sequence[str], units: Units
) -> StringReport:
    """A report on strings.

    Args:
        gold: references of each, one at least.
        predicted: the strings.
        units: in which they are compared.
    """
    edits = total = character_edits = characters = 0
    right = [found in references for references, found in zip(gold, predicted, strict=True)]
    for references, found in zip(gold, predicted, strict=True):
        cut = units.strings(found)
        distance, length = min(
            (edit_distance(cut, own), len(own)) for own in map(units.strings, references)
        )
        edits, total = edits + distance, total + length
        distance, length = min((edit_distance(found, each), len(each)) for each in references)
        character_edits, characters = character_edits + distance, characters + length
    bleu = chrf = None
    if not isinstance(units, CharacterUnits):
        bleu, chrf = _translation(gold, predicted)
    return StringReport(
        len(predicted), sum(right), edits, total, character_edits, characters, units.kind, bleu,
        chrf, gold, right,
    )  # fmt: skip


def _translation(
    gold: Sequence[tuple[str, ...]], predicted: Sequence[str]
) -> tuple[float | None, float | None]:
    """BLEU and chrF, 0 to 1; None of each without sacrebleu."""
    try:
        from sacrebleu import corpus_bleu, corpus_chrf
    except ImportError:
        return None, None
    # sacrebleu wants the first reference of all strings, then the second: None where there is none.
    most = max(map(len, gold), default=1)
    references: list[Any] = [
        [each[at] if at < len(each) else None for each in gold] for at in range(most)
    ]
    strings = [*predicted]
    return (
        corpus_bleu(strings, references).score / 100,
        corpus_chrf(strings, references).score / 100,
    )


def edit_distance(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """The least number of insertions, deletions and substitutions between two sequences.

    Levenshtein 1966; Jurafsky and Martin, section on minimum edit distance.
    """
    if len(left) < len(right):
        left, right = right, left
    # What both begin or end with costs nothing: most predictions are nearly right.
    start, shortest = 0, len(right)
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    row = list(range(len(right) + 1))
    for number, one in enumerate(left, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(right, 1):
            changed = before + (one != other)
            before = row[place]
            row[place] = min(changed, before + 1, row[place - 1] + 1)
    return row[-1]
