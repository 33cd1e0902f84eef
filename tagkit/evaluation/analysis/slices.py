"""For which spans a tagger works: F1 by what training has seen, by length and by frequency.

A tagger that has learnt names by heart scores well on names of the training corpus and badly on
new ones (Augenstein, Derczynski and Bontcheva 2017); an F1 over all of them hides it. Each span,
gold or predicted, is in one slice of each division:

    seen with this label     its words are a span of the training corpus with the same label
    seen with another label  they are a span there, but with other labels
    seen in part             one of its words at least is in a span there
    unseen                   none of its words is
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from tagkit.evaluation.scores.scores import Counts, Labels, Score
from tagkit.evaluation.scores.spans import Aligned
from tagkit.text.json_text import Record
from tagkit.text.schemes import SpanTuple

SEEN = ("seen with this label", "seen with another label", "seen in part", "unseen")
_SPAN_LENGTHS = (1, 2, 3)  # and longer
_SENTENCE_LENGTHS = (10, 20, 40)  # at most so many tokens; and longer
_FREQUENCIES = (9, 99, 999)  # spans of a type in training


@dataclass(slots=True)
class SeenSpans:
    """The spans of a training corpus, by their words.

    Attributes:
        labels: of each text, in which words have a blank between them.
        words: all words of spans.
        types: how many spans each label has.
    """

    labels: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    words: set[str] = field(default_factory=set)
    types: Counter[str] = field(default_factory=Counter)

    def add(self, words: Sequence[str], spans: Iterable[SpanTuple]) -> None:
        """Take the spans of a sentence."""
        for start, end, label in spans:
            inside = words[start:end]
            self.labels[" ".join(inside)].add(label)
            self.words.update(inside)
            self.types[label] += 1

    def slice_of(self, sentence: Aligned, span: SpanTuple) -> str:
        """Which of `SEEN` a span is."""
        labels = self.labels.get(sentence.text(span))
        if labels:
            return SEEN[0] if span[2] in labels else SEEN[1]
        inside = sentence.words[span[0] : span[1]]
        return SEEN[2] if any(word in self.words for word in inside) else SEEN[3]


@dataclass(frozen=True, slots=True)
class Slices(Record):
    """Scores of the slices of each division; a slice without spans is left out.

    Attributes:
        seen: by `SEEN`; None without a training corpus.
        frequency: by the number of spans that training has of the type; None without one.
        span_length: by tokens of the span.
        sentence_length: by tokens of its sentence.
    """

    seen: Mapping[str, Score] | None
    frequency: Mapping[str, Score] | None
    span_length: Mapping[str, Score]
    sentence_length: Mapping[str, Score]

    def divisions(self) -> dict[str, Mapping[str, Score]]:
        """By what the spans are divided, in words; none without training, or without spans."""
        divisions = {
            "the words in training": self.seen,
            "the spans of the type in training": self.frequency,
            "tokens of the span": self.span_length,
            "tokens of the sentence": self.sentence_length,
        }
        return {title: scores for title, scores in divisions.items() if scores}


def slice_scores(sentences: Sequence[Aligned], seen: SeenSpans | None) -> Slices:
    """F1 by slice.

    Args:
        sentences: of the corpus.
        seen: the spans of the training corpus; None where it is not known.
    """
    by_seen: dict[str, Score] | None = None
    by_frequency: dict[str, Score] | None = None
    if seen is not None:
        types = seen.types
        by_seen = _scores(sentences, seen.slice_of, SEEN)
        by_frequency = _scores(
            sentences,
            lambda _, span: _range(types[span[2]], _FREQUENCIES, "0"),
            _ranges(_FREQUENCIES, "0"),
        )
    return Slices(
        seen=by_seen,
        frequency=by_frequency,
        span_length=_scores(
            sentences,
            lambda _, span: _range(span[1] - span[0], _SPAN_LENGTHS),
            _ranges(_SPAN_LENGTHS),
        ),
        sentence_length=_scores(
            sentences,
            lambda sentence, _: _range(len(sentence.words), _SENTENCE_LENGTHS),
            _ranges(_SENTENCE_LENGTHS),
        ),
    )


def _scores(
    sentences: Iterable[Aligned],
    slice_of: Callable[[Aligned, SpanTuple], str],
    order: Sequence[str],
) -> dict[str, Score]:
    counts = Counts()
    for sentence in sentences:
        # A prediction is in the slice of its own words and label: precision is of such spans.
        gold = {span: slice_of(sentence, span) for span in sentence.gold}
        predicted = {span: slice_of(sentence, span) for span in sentence.predicted}
        counts.gold.update(gold.values())
        counts.predicted.update(predicted.values())
        counts.correct.update(name for span, name in gold.items() if span in predicted)
    found = counts.table().types
    return {name: found[name] for name in order if name in found}


@cache
def _ranges(bounds: tuple[int, ...], lowest: str = "") -> list[str]:
    """Names of the ranges that end at the bounds, and of the last one, which has no end."""
    starts = [1, *(bound + 1 for bound in bounds)]
    names = [str(a) if a == b else f"{a} to {b}" for a, b in zip(starts, bounds, strict=False)]
    return [lowest] * bool(lowest) + [*names, f"{starts[-1]:,} or more"]


def _range(value: int, bounds: tuple[int, ...], lowest: str = "") -> str:
    if lowest and not value:
        return lowest
    return _ranges(bounds)[bisect_left(bounds, value)]


@dataclass(frozen=True, slots=True)
class WordAccuracy(Record):
    """Accuracy of the tags of words that training has, and of others, 0 to 1; and how many."""

    known: float
    unknown: float
    known_tokens: int
    unknown_tokens: int

    def rows(self) -> Iterator[tuple[str, float, int]]:
        """Each kind of word, its accuracy, and how many there are."""
        yield "known words", self.known, self.known_tokens
        yield "unknown words", self.unknown, self.unknown_tokens


def word_accuracy(
    words: Iterable[Sequence[str]], gold: Labels, predicted: Labels, vocabulary: set[str]
) -> WordAccuracy:
    """Accuracy of plain labels by whether the word is in the training corpus."""
    right, total = [0, 0], [0, 0]
    for each, ours, theirs in zip(words, gold, predicted, strict=True):
        for word, tag, found in zip(each, ours, theirs, strict=True):
            known = word in vocabulary
            total[known] += 1
            right[known] += tag == found
    shares = [a / b if b else 0.0 for a, b in zip(right, total, strict=True)]
    return WordAccuracy(shares[True], shares[False], total[True], total[False])
