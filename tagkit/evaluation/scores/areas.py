"""Areas under curves of predicted probabilities, which ask for no threshold.

    ROC               hit rate by false-alarm rate: the chance that a text with a class has a higher
                      probability of it than one without, equal ones counted as half (Fawcett 2006)
    precision-recall  precision by recall: the mean of precisions, weighted by the steps in recall
                      (average precision; Davis and Goadrich 2006 on why not by straight lines)

Each class is judged by itself against all others; one that all texts have, or none, has no area.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagkit.evaluation.scores.scores import Labels
from tagkit.text.json_text import Record
from tagkit.text.records import LabelScore

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Areas(Record):
    """Areas under two curves, 0 to 1; a guess has 0.5 under ROC, and the class's share of texts."""

    roc: float
    precision_recall: float


@dataclass(frozen=True, slots=True)
class ClassAreas(Record):
    """Areas of each class, in alphabetical order, and their means."""

    macro: Areas
    types: Mapping[str, Areas]


def roc_area(probabilities: Floats, correct: Flags) -> float:
    """The Mann-Whitney statistic of (predictions,), some of which are right and some wrong."""
    _, places, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    # Equal probabilities share the mean of their ranks, which count from 1.
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    right, wrong = int(correct.sum()), int((~correct).sum())
    return float((ranks[correct].sum() - right * (right + 1) / 2) / (right * wrong))


def precision_recall_area(probabilities: Floats, correct: Flags) -> float:
    """The sum over thresholds of precision x step in recall, of (predictions,), some right."""
    values, places = np.unique(-probabilities, return_inverse=True)  # the highest first
    # (thresholds,) predictions at each distinct probability, and the right ones among them
    kept, right = (np.bincount(places, weights, len(values)) for weights in (None, correct))
    return float((right * np.cumsum(right) / np.cumsum(kept)).sum() / right.sum())


def class_areas(gold: Labels, scores: Sequence[Sequence[LabelScore]]) -> ClassAreas | None:
    """The areas of all classes of which every text has a probability; None without any.

    Args:
        gold: classes of each text.
        scores: of each text classes with their probabilities, in any order.
    """
    found = [{each.label: each.probability for each in of_text} for of_text in scores]
    types = {}
    for label in sorted(set(found[0]).intersection(*found)) if found else ():
        correct = np.array([label in labels for labels in gold])
        if 0 < correct.sum() < len(correct):
            probabilities = np.array([of_text[label] for of_text in found])
            types[label] = Areas(
                roc_area(probabilities, correct), precision_recall_area(probabilities, correct)
            )
    if not types:
        return None
    pairs = np.array([[each.roc, each.precision_recall] for each in types.values()])
    return ClassAreas(Areas(*map(float, pairs.mean(0))), types)
