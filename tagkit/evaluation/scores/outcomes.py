"""Predictions with their probabilities, each right or wrong: what calibration is measured on.

spans     each predicted span; right if gold has one of exactly these tokens and this type
tokens    the label of each token
texts     the most probable class of each text
classes   each class of each text, where it may have several; right if the text has it
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagkit.evaluation.scores.scores import Labels
from tagkit.text.records import LabelScore, Span
from tagkit.text.schemes import SpanTuple

SPANS, TOKENS, TEXTS, CLASSES = "spans", "tokens", "texts", "classes"


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Predictions of one kind.

    Attributes:
        name: what was predicted: "spans", "tokens", "texts" or "classes".
        probabilities: of each prediction, 0 to 1.
        correct: whether it is right.
        gold: number of those that gold has, found or not.
    """

    name: str
    probabilities: npt.NDArray[np.float64]
    correct: npt.NDArray[np.bool_]
    gold: int

    def __len__(self) -> int:
        """Number of predictions."""
        return len(self.probabilities)


def span_outcomes(
    gold: Iterable[Sequence[SpanTuple]], predicted: Iterable[Sequence[tuple[SpanTuple, float]]]
) -> Outcomes:
    """Predicted spans, each with its probability, beside the gold spans of the same sentences."""
    pairs: list[tuple[float, bool]] = []
    total = 0
    for ours, theirs in zip(gold, predicted, strict=True):
        total += len(ours)
        known = set(ours)
        pairs += [(probability, span in known) for span, probability in theirs]
    return _judged(SPANS, pairs, total)


def with_places(spans: Iterable[Span]) -> list[tuple[SpanTuple, float]]:
    """Spans of a prediction as `span_outcomes` takes them; without a probability it is 1."""
    return [
        (
            (span.start, span.end, span.label),
            1.0 if span.probability is None else span.probability,
        )
        for span in spans
    ]


def token_outcomes(
    gold: Labels, predicted: Labels, probabilities: Iterable[Sequence[float]]
) -> Outcomes:
    """The predicted label of each token."""
    pairs = [
        (probability, ours == theirs)
        for sides in zip(gold, predicted, probabilities, strict=True)
        for ours, theirs, probability in zip(*sides, strict=True)
    ]
    return _judged(TOKENS, pairs, len(pairs))


def class_outcomes(
    gold: Labels, scores: Iterable[Sequence[LabelScore]], *, several: bool
) -> Outcomes:
    """The classes of texts.

    Args:
        gold: the classes of each text.
        scores: of each text its classes with their probabilities, the most probable first.
        several: whether a text may have several classes; each is then judged by itself.
    """
    pairs = [
        (score.probability, score.label in ours)
        for ours, found in zip(gold, scores, strict=True)
        for score in (found if several else found[:1])
    ]
    return _judged(CLASSES if several else TEXTS, pairs, sum(map(len, gold)))


def _judged(name: str, pairs: Sequence[tuple[float, bool]], gold: int) -> Outcomes:
    probabilities, correct = zip(*pairs, strict=True) if pairs else ((), ())
    return Outcomes(name, np.array(probabilities, dtype=float), np.array(correct, dtype=bool), gold)
