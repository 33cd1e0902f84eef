"""Strict, exact, partial and type scores of spans: the four of SemEval-2013, task 9.1.

Segura-Bedmar, Martinez and Herrero-Zazo 2013, after MUC-5 (Chinchor and Sundheim 1993). Each gold
span is paired with one predicted span at most. Then a pair is, by the measure,

    strict    correct with the same boundaries and type, else incorrect
    exact     correct with the same boundaries, else incorrect
    partial   correct with the same boundaries, else partial: half a point
    ent_type  correct with the same type, else incorrect

A gold span without a partner is missed, a predicted one spurious, and

    precision = (correct + partial / 2) / predicted spans
    recall    = (correct + partial / 2) / gold spans

The names are nervaluate's. The definitions do not say which spans are a pair where several overlap:
here spans with the same boundaries are, then those that share most tokens, the first ones first.
nervaluate lets one prediction count for several gold spans, and does not find a span of one token
inside a longer one; where neither occurs the numbers are the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tagkit.evaluation.aligned import Aligned, overlap
from tagkit.text.json_text import Record
from tagkit.text.schemes import Stretch

MEASURES = ("strict", "exact", "partial", "ent_type")
Pair = tuple[Stretch | None, Stretch | None]  # gold and predicted; None where one has no partner


@dataclass(frozen=True, slots=True)
class Match(Record):
    """Counts of one measure, and the scores that follow from them.

    Attributes:
        correct: pairs that are right.
        incorrect: pairs that are wrong.
        partial: pairs that overlap, of the measure `partial`; 0 of others.
        missed: gold spans without a predicted one.
        spurious: predicted spans without a gold one.
        precision: 0 to 1; 0 without predicted spans.
        recall: 0 to 1; 0 without gold spans.
        f1: their harmonic mean; 0 where both are 0.
    """

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Matches(Record):
    """Scores of all measures.

    Attributes:
        micro: of all spans, by measure.
        types: of each label, by measure; a pair is counted for the label of its gold span.
    """

    micro: Mapping[str, Match]
    types: Mapping[str, Mapping[str, Match]]


def match(sentences: Iterable[Aligned]) -> Matches:
    """The four scores of predicted spans."""
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for sentence in sentences:
        if sentence.gold == sentence.predicted:  # no need to look for pairs
            for _, _, label in sentence.gold:
                counts[label].update(_RIGHT)
            continue
        for gold, predicted in pairs(sentence.gold, sentence.predicted):
            label = (gold or predicted or (0, 0, ""))[2]
            counts[label].update((name, _outcome(name, gold, predicted)) for name in MEASURES)
    total: Counter[tuple[str, str]] = Counter()
    for each in counts.values():
        total.update(each)
    return Matches(_scores(total), {label: _scores(counts[label]) for label in sorted(counts)})


def pairs(gold: Sequence[Stretch], predicted: Sequence[Stretch]) -> list[Pair]:
    """Which gold span is paired with which predicted one, each span once, in order of the text."""
    shared = [
        # Largest first: same boundaries, then most tokens in common, then the first in the text.
        ((ours[:2] == theirs[:2], overlap(ours, theirs)), ours, theirs)
        for ours in gold
        for theirs in predicted
        if overlap(ours, theirs)
    ]
    shared.sort(key=lambda each: each[0], reverse=True)  # stable
    partner: dict[Stretch, Stretch] = {}
    taken: set[Stretch] = set()
    for _, ours, theirs in shared:
        if ours not in partner and theirs not in taken:
            partner[ours] = theirs
            taken.add(theirs)
    found: list[Pair] = [(ours, partner.get(ours)) for ours in gold]
    found += [(None, theirs) for theirs in predicted if theirs not in taken]
    return sorted(found, key=lambda pair: (pair[0] or pair[1] or (0, 0, ""))[:2])


_RIGHT = [(name, "correct") for name in MEASURES]


def _outcome(measure: str, gold: Stretch | None, predicted: Stretch | None) -> str:
    if predicted is None:
        return "missed"
    if gold is None:
        return "spurious"
    same_boundaries, same_type = gold[:2] == predicted[:2], gold[2] == predicted[2]
    right = {
        "strict": same_boundaries and same_type,
        "exact": same_boundaries,
        "partial": same_boundaries,
        "ent_type": same_type,
    }[measure]
    if right:
        return "correct"
    return "partial" if measure == "partial" else "incorrect"


def _scores(counts: Counter[tuple[str, str]]) -> dict[str, Match]:
    return {name: _score(name, counts) for name in MEASURES}


def _score(name: str, counts: Counter[tuple[str, str]]) -> Match:
    correct, incorrect, partial, missed, spurious = (
        counts[name, outcome]
        for outcome in ("correct", "incorrect", "partial", "missed", "spurious")
    )
    paired, points = correct + incorrect + partial, correct + partial / 2
    predicted, gold = paired + spurious, paired + missed
    return Match(
        correct, incorrect, partial, missed, spurious,
        precision=points / predicted if predicted else 0.0,
        recall=points / gold if gold else 0.0,
        f1=2 * points / (predicted + gold) if points else 0.0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SurfaceScore(Record):
    """Precision, recall and F1 of distinct surface forms, 0 to 1, and how many are gold."""

    precision: float
    recall: float
    f1: float
    support: int


def surface_score(sentences: Iterable[Aligned]) -> SurfaceScore:
    """F1 of surface forms: each pair of a text and a type counts once, however often it occurs.

    Derczynski et al. 2017 (WNUT-17), after Derczynski et al. 2014: it measures how many different
    names a system finds, which frequent names would hide.
    """
    gold: set[tuple[str, str]] = set()
    predicted: set[tuple[str, str]] = set()
    for sentence in sentences:
        gold.update((sentence.text(span), span[2]) for span in sentence.gold)
        predicted.update((sentence.text(span), span[2]) for span in sentence.predicted)
    correct, both = len(gold & predicted), len(gold) + len(predicted)
    return SurfaceScore(
        correct / len(predicted) if predicted else 0.0,
        correct / len(gold) if gold else 0.0,
        2 * correct / both if correct else 0.0,
        len(gold),
    )
