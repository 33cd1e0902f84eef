"""Gold and predicted spans of the same words, sentence by sentence: what analyses work on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tagkit.evaluation.scores import Labels
from tagkit.text.schemes import Stretch


@dataclass(frozen=True, slots=True)
class Aligned:
    """A sentence with its gold and its predicted spans.

    Attributes:
        words: its tokens.
        gold: (start, end, label) of each gold span, in order, none overlapping another.
        predicted: the same of predicted spans.
        line: of its first token in the gold file, from 1; 0 where it is not known.
    """

    words: Sequence[str]
    gold: Sequence[Stretch]
    predicted: Sequence[Stretch]
    line: int = 0

    def text(self, span: Stretch) -> str:
        """The words of a span, with blanks between them."""
        return " ".join(self.words[span[0] : span[1]])


def align(
    words: Iterable[Sequence[str]],
    gold: Labels,
    predicted: Labels,
    spans_of: Callable[[Sequence[str]], list[Stretch]],
    lines: Iterable[int] | None = None,
) -> Iterator[Aligned]:
    """The spans of gold and predicted tags.

    Args:
        words: of each sentence.
        gold: its gold tags.
        predicted: its predicted tags.
        spans_of: finds the spans of a sentence's tags, as conlleval does or in strict mode.
        lines: of each sentence's first token; None where it is not known.
    """
    numbers = lines if lines is not None else (0 for _ in gold)
    for each, ours, theirs, line in zip(words, gold, predicted, numbers, strict=True):
        found = tuple(spans_of(ours))
        # Most sentences of a good tagger are right: their spans are found once.
        yield Aligned(each, found, found if theirs == ours else tuple(spans_of(theirs)), line)


def overlap(one: Stretch, other: Stretch) -> int:
    """How many tokens two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))
