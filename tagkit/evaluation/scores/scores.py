"""Precision, recall, F1 and accuracy, counted in one pass over gold and predicted labels.

    precision = correct / predicted, recall = correct / gold, F1 = 2 P R / (P + R)

A span is correct when its start, end and label are (Jurafsky and Martin, "Sequence Labeling for
Parts of Speech and Named Entities", section on evaluation; Tjong Kim Sang and De Meulder 2003).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tagkit.text.json_text import Record
from tagkit.text.schemes import SpanTuple

Labels = Sequence[Sequence[str]]  # for each item the tags of a sentence, or the classes of a text


@dataclass(frozen=True, slots=True)
class Score(Record):
    """Precision, recall and F1, 0 to 1, and how many gold spans, tokens or texts there are."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of each label, and their averages.

    Attributes:
        types: by label, in alphabetical order.
        micro: over all decisions.
        macro: mean over labels.
        weighted: mean over labels, weighted by support.
    """

    types: Mapping[str, Score]
    micro: Score
    macro: Score
    weighted: Score

    def unknown(self, known: Collection[str] | None) -> dict[str, int]:
        """Gold labels that are not among the known ones, with their support; none for None."""
        if known is None:
            return {}
        # Only what gold holds: a label that the model alone knows is an error of precision, not a
        # gap.
        return {
            label: score.support
            for label, score in self.types.items()
            if label not in known and score.support
        }


@dataclass(slots=True)
class Counts:
    """Number of gold, predicted and correctly predicted decisions of each label."""

    gold: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    correct: Counter[str] = field(default_factory=Counter)

    def add(self, counts: "Counts", times: int = 1) -> None:
        """Count all of these decisions too, each of them several times."""
        for ours, theirs in (
            (self.gold, counts.gold),
            (self.predicted, counts.predicted),
            (self.correct, counts.correct),
        ):
            for label, number in theirs.items():
                ours[label] += number * times

    def table(self) -> ScoreTable:
        """The scores that follow from these numbers."""
        labels = sorted(self.gold.keys() | self.predicted.keys())
        types = {
            label: score_of(self.correct[label], self.predicted[label], self.gold[label])
            for label in labels
        }
        micro = score_of(self.correct.total(), self.predicted.total(), self.gold.total())
        scores = list(types.values())
        return ScoreTable(
            types=types,
            micro=micro,
            macro=_mean(scores, [1] * len(scores), micro.support),
            weighted=_mean(scores, [score.support for score in scores], micro.support),
        )


def count_spans(
    gold: Labels, predicted: Labels, spans_of: Callable[[Sequence[str]], list[SpanTuple]]
) -> Counts:
    """Counts of spans by label.

    Args:
        gold: the tags of each sentence.
        predicted: as long as `gold`.
        spans_of: finds the spans of a sentence's tags; none of them twice.
    """
    correct: list[str] = []
    missed: list[str] = []
    spurious: list[str] = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        ours = spans_of(gold_tags)
        # Most sentences of a good tagger: their spans are found once and need no comparison.
        if gold_tags == predicted_tags:
            correct += [label for _, _, label in ours]
            continue
        theirs = spans_of(predicted_tags)
        both = set(ours).intersection(theirs)
        correct += [label for _, _, label in both]
        missed += [span[2] for span in ours if span not in both]
        spurious += [span[2] for span in theirs if span not in both]
    return _counts(correct, missed, spurious)


def count_tokens(gold: Labels, predicted: Labels) -> Counts:
    """Counts of tokens by tag, where each token has one and each is a label of its own."""
    correct: list[str] = []
    missed: list[str] = []
    spurious: list[str] = []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        if gold_tags == predicted_tags:
            correct += gold_tags
            continue
        # Every wrong token is two errors: a gold tag is missed, another one is spurious.
        for ours, theirs in zip(gold_tags, predicted_tags, strict=True):
            if ours == theirs:
                correct.append(ours)
            else:
                missed.append(ours)
                spurious.append(theirs)
    return _counts(correct, missed, spurious)


def _counts(correct: list[str], missed: list[str], spurious: list[str]) -> Counts:
    # Dev is scored after each epoch, so the long list, of what is right, is counted only once.
    right = Counter(correct)
    counts = Counts(gold=right.copy(), predicted=right.copy(), correct=right)
    counts.gold.update(missed)
    counts.predicted.update(spurious)
    return counts


def count_classes(gold: Labels, predicted: Labels) -> Counts:
    """Counts of texts by class, where each text has any number of different classes.

    Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", section on evaluation
    with more than two classes.
    """
    counts = Counts()
    for gold_labels, predicted_labels in zip(gold, predicted, strict=True):
        # Sets: a class that a file names twice for one text is one decision.
        ours, theirs = set(gold_labels), set(predicted_labels)
        counts.gold.update(ours)
        counts.predicted.update(theirs)
        counts.correct.update(ours & theirs)
    return counts


def token_accuracy(gold: Labels, predicted: Labels) -> float:
    """Share of tokens whose tag is right, 0 to 1; 0 without tokens."""
    correct = total = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        total += len(gold_tags)
        if gold_tags == predicted_tags:  # one comparison in C for the whole sentence
            correct += len(gold_tags)
        else:
            correct += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
    return correct / total if total else 0.0


def score_of(correct: float, predicted: int, gold: int) -> Score:
    """The scores that follow from numbers of decisions, some half correct; 0 where a number is."""
    precision = correct / predicted if predicted else 0.0
    recall = correct / gold if gold else 0.0
    # The same as 2PR / (P + R), rounded once: two epochs with the same counts in other
    # proportions of P and R get the same F1 to the last bit, so the earlier one stays the best.
    f1 = 2 * correct / (predicted + gold) if correct else 0.0
    return Score(precision, recall, f1, gold)


def _mean(scores: Sequence[Score], weights: Sequence[int], support: int) -> Score:
    total = sum(weights)
    if not total:  # no label at all, or none in gold: 0 by convention, as in seqeval
        return Score(0.0, 0.0, 0.0, support)

    def mean(values: Iterable[float]) -> float:
        return sum(v * w for v, w in zip(values, weights, strict=True)) / total

    # The macro F1 is the mean of the labels' F1, not the F1 of mean precision and mean recall.
    return Score(
        mean(score.precision for score in scores),
        mean(score.recall for score in scores),
        mean(score.f1 for score in scores),
        support,
    )
