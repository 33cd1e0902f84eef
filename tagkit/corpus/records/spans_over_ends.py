"""Spans over what ends a sentence, which are found where the gold spans are known alone.

Where a corpus is read with its spans, no sentence ends within one. Prediction of raw text does not
know them: a model may score well on such a corpus, and find none of these spans in the same texts.
"""

from bisect import bisect_right
from collections.abc import Sequence

from tagkit.text.records import Document
from tagkit.wording import plural, quoted


class SpansOverEnds:
    """Spans over what ends a sentence where nobody knows of them, as in prediction."""

    def __init__(self) -> None:
        """None is counted yet."""
        self.spans = self.over_ends = 0
        self._first = ""

    def add(self, document: Document, ends: Sequence[int]) -> None:
        """Count a document's spans; sentences would end before the tokens at `ends`."""
        self.spans += len(document.spans or ())
        ordered = sorted(ends)
        for span in document.spans or () if ordered else ():
            after = bisect_right(ordered, span.start)
            if after < len(ordered) and ordered[after] < span.end:
                self.over_ends += 1
                self._first = self._first or span.text

    def notes(self, name: str) -> list[str]:
        """A sentence about them, if there are any in the corpus of this name."""
        if not self.over_ends:
            return []
        hold = "holds" if self.over_ends == 1 else "hold"
        such = f"{quoted(self._first, 40)}{' for one' if self.over_ends > 1 else ''}"
        spans = f"{self.over_ends:,} of {plural(self.spans, 'span')}"
        return [
            f"{name}: {spans} {hold} what ends a sentence in prediction, which cannot find such "
            f"spans in raw text: {such}"
        ]
