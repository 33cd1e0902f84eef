"""What is asked of a model for each text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tagkit.limits import BATCH_SIZE, MAX_LENGTH
from tagkit.value_checks import check_count, check_probability
from tagkit.wording import plural

SPANS, LABELS, CLASSES = "span", "label", "class"


@dataclass(slots=True)
class Removed:
    """How many predictions were removed, of how many.

    Attributes:
        counts: removed ones and all, of `SPANS`, `LABELS` and `CLASSES`.
    """

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, unit: str, removed: int, total: int) -> None:
        """Count some more of a unit."""
        before = self.counts.get(unit, (0, 0))
        self.counts[unit] = (before[0] + removed, before[1] + total)

    def merge(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count those of another one."""
        for unit, (removed, total) in counts.items():
            self.add(unit, removed, total)

    def text(self, minimum: float) -> str:
        """'removed 3 of 20 spans and 1 of 8 classes below 0.8'."""
        parts = (
            f"{removed:,} of {plural(total, unit)}"
            for unit, (removed, total) in self.counts.items()
        )
        return f"removed {' and '.join(parts) or 'nothing'} below {minimum:g}"


def ignore(_: object) -> None:
    """The default of `on_long` and `on_removed`; does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionOptions:
    """What is predicted for each text, and how.

    Attributes:
        batch_size: maximum number of sentences in a batch, or of documents.
        confidence: whether to compute probabilities.
        max_length: maximum number of words in a sentence; a tagger reads longer ones in overlapping
            windows, whose tags are joined as described in `tagkit.text.windows`.
        threshold: minimum class probability for a label; None for the configured one, or, if each
            text has one class, for the most probable class whatever its probability.
        min_confidence: probability from which on a predicted span, label or class is kept; None to
            keep all. Tags of spans that are not kept become O, plain labels "_".
        beam: hypotheses of the search for a string; None for a greedy search.
        max_units: most units of a string; None for the default.
        on_long: called with the number of words of each longer sentence.
        on_removed: called with what was not kept; its `counts` are removed ones and all.
    """

    batch_size: int = BATCH_SIZE
    confidence: bool = False
    max_length: int = MAX_LENGTH
    threshold: float | None = None
    min_confidence: float | None = None
    beam: int | None = None
    max_units: int | None = None
    on_long: Callable[[int], None] = ignore
    on_removed: Callable[[Removed], None] = ignore

    def check(self) -> None:
        """Refuse numbers that are out of range.

        Raises:
            DataError: there is one; the message has its name.
        """
        check_count("batch_size", self.batch_size)
        check_count("max_length", self.max_length)
        for name in ("threshold", "min_confidence"):
            value = getattr(self, name)
            if value is not None:
                check_probability(name, value)
