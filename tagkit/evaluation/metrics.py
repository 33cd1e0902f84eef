"""Precision, recall, F1 and accuracy: numbers first.

    precision = correct / predicted, recall = correct / gold, F1 = 2 P R / (P + R)
A span is correct when its start, end and label are (Jurafsky and Martin, "Sequence Labeling for
Parts of Speech and Named Entities", section on evaluation; Tjong Kim Sang and De Meulder 2003).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tagkit.text.schemes import stretches

Tags = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1, 0 to 1, and how many gold spans, tokens or texts there are."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class Averages:
    """Scores over all labels.

    Attributes:
        micro: of all decisions alike.
        macro: mean over labels.
        weighted: mean over labels, weighted by support.
    """

    micro: Score
    macro: Score
    weighted: Score


def span_score(gold: Tags, predicted: Tags) -> Score:
    """Micro averages of spans by the rules of conlleval; 0 where there are no spans at all."""
    correct = found = wanted = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = set(stretches(gold_tags)), set(stretches(predicted_tags))
        correct += len(gold_spans & predicted_spans)
        wanted += len(gold_spans)
        found += len(predicted_spans)
    return _ratio(correct, found, wanted)


def accuracy(gold: Tags, predicted: Tags) -> float:
    """Share of tokens whose tag is right, 0 to 1; 0 without tokens."""
    correct = total = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        correct += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
        total += len(gold_tags)
    return correct / total if total else 0.0


def label_scores(
    gold: Iterable[Iterable[str]], predicted: Iterable[Iterable[str]]
) -> tuple[dict[str, Score], Averages]:
    """Scores of each label, and their averages, where every item has some labels.

    Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", section on evaluation
    with more than two classes.

    Args:
        gold: labels of each item: of a token its tag, of a text its classes.
        predicted: as long as `gold`.
    """
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for gold_labels, predicted_labels in zip(gold, predicted, strict=True):
        ours, theirs = set(gold_labels), set(predicted_labels)
        wanted.update(ours)
        found.update(theirs)
        correct.update(ours & theirs)
    types = {
        label: _ratio(correct[label], found[label], wanted[label])
        for label in sorted(wanted.keys() | found.keys())
    }
    return types, averages(types, _ratio(correct.total(), found.total(), wanted.total()))


def averages(types: Mapping[str, Score], micro: Score) -> Averages:
    """The averages of some labels' scores, whose micro average is known."""
    scores = list(types.values())
    return Averages(
        micro=micro,
        macro=_mean(scores, [1] * len(scores), micro.support),
        weighted=_mean(scores, [score.support for score in scores], micro.support),
    )


def _ratio(correct: int, found: int, wanted: int) -> Score:
    precision = correct / found if found else 0.0
    recall = correct / wanted if wanted else 0.0
    f1 = 2 * correct / (found + wanted) if correct else 0.0
    return Score(precision, recall, f1, wanted)


def _mean(scores: Sequence[Score], weights: Sequence[int], support: int) -> Score:
    total = sum(weights)
    if not total:
        return Score(0.0, 0.0, 0.0, support)

    def mean(values: Iterable[float]) -> float:
        return sum(v * w for v, w in zip(values, weights, strict=True)) / total

    return Score(
        mean(score.precision for score in scores),
        mean(score.recall for score in scores),
        mean(score.f1 for score in scores),
        support,
    )
