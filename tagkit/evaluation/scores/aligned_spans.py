"""Gold and predicted spans of the same words, sentence by sentence: what analyses work on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tagkit.evaluation.scores.scores import Labels
from tagkit.text.records import Sentence
from tagkit.text.schemes import SpanTuple


@dataclass(frozen=True, slots=True)
class Aligned:
    """A sentence with its gold and its predicted spans.

    Attributes:
        words: its tokens.
        gold: (start, end, label) of each gold span, in order, none overlapping another.
        predicted: the same of predicted spans.
        lines: number of each token's line in the gold file, from 1; empty where not known.
    """

    words: Sequence[str]
    gold: Sequence[SpanTuple]
    predicted: Sequence[SpanTuple]
    lines: Sequence[int] = ()

    def text(self, span: SpanTuple) -> str:
        """The words of a span, with blanks between them."""
        return " ".join(self.words[span[0] : span[1]])

    def line_of(self, token: int) -> int:
        """The line of a token in the gold file, from 1; 0 where it is not known."""
        return self.lines[token] if self.lines else 0


def align(
    sentences: Iterable[Sentence],
    gold: Labels,
    predicted: Labels,
    spans_of: Callable[[Sequence[str]], list[SpanTuple]],
) -> Iterator[Aligned]:
    """The spans of gold and predicted tags.

    Args:
        sentences: with words and lines.
        gold: the gold tags of each.
        predicted: the predicted tags.
        spans_of: finds the spans of a sentence's tags, as conlleval does or in strict mode.
    """
    for sentence, ours, theirs in zip(sentences, gold, predicted, strict=True):
        found = tuple(spans_of(ours))
        # Most sentences of a good tagger are right: their spans are found once.
        others = found if theirs == ours else tuple(spans_of(theirs))
        yield Aligned(sentence.words, found, others, sentence.lines)


def overlap(one: SpanTuple, other: SpanTuple) -> int:
    """How many tokens two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def overlapping(
    gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]
) -> Iterator[tuple[int, int]]:
    """The places of the gold and the predicted span of each pair that shares a token, in order.

    Spans of one side are in order and do not overlap, so that each side is gone through once.
    """
    first = 0  # predicted spans before it end before this gold span, and so before later ones
    for i, ours in enumerate(gold):
        while first < len(predicted) and predicted[first][1] <= ours[0]:
            first += 1
        for j in range(first, len(predicted)):
            if predicted[j][0] >= ours[1]:
                break
            yield i, j
