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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tagkit.evaluation.scores.aligned import Aligned, overlap, overlapping
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
    counts: Counter[tuple[str, str]] = Counter()  # by label and kind of pair
    for sentence in sentences:
        gold, predicted = sentence.gold, sentence.predicted
        if gold != predicted:
            # Equal spans are always a pair, which no other span can be part of.
            both = set(gold).intersection(predicted)
            others = ([span for span in side if span not in both] for side in (gold, predicted))
            for ours, theirs in pairs(*others):
                counts[(ours or theirs or (0, 0, ""))[2], _kind(ours, theirs)] += 1
            gold = [*both]
        for _, _, label in gold:
            counts[label, "same"] += 1
    labels = sorted({label for label, _ in counts})
    types = {label: Counter({kind: counts[label, kind] for kind in _OUTCOMES}) for label in labels}
    total: Counter[str] = Counter()
    for each in types.values():
        total.update(each)
    return Matches(_scores(total), {label: _scores(each) for label, each in types.items()})


def pairs(gold: Sequence[Stretch], predicted: Sequence[Stretch]) -> list[Pair]:
    """Which gold span is paired with which predicted one, each span once, in order of the text."""
    shared = [
        # Largest first: same boundaries, then most tokens in common, then the first in the text.
        ((gold[i][:2] == predicted[j][:2], overlap(gold[i], predicted[j])), gold[i], predicted[j])
        for i, j in overlapping(gold, predicted)
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


# What each kind of pair is by each of the `MEASURES`.
_OUTCOMES = {
    "same": ("correct", "correct", "correct", "correct"),
    "other type": ("incorrect", "correct", "correct", "incorrect"),
    "other boundaries": ("incorrect", "incorrect", "partial", "correct"),
    "both other": ("incorrect", "incorrect", "partial", "incorrect"),
    "missed": ("missed", "missed", "missed", "missed"),
    "spurious": ("spurious", "spurious", "spurious", "spurious"),
}


def _kind(gold: Stretch | None, predicted: Stretch | None) -> str:
    """The kind of a pair."""
    if predicted is None:
        return "missed"
    if gold is None:
        return "spurious"
    same_boundaries, same_type = gold[:2] == predicted[:2], gold[2] == predicted[2]
    if same_boundaries:
        return "same" if same_type else "other type"
    return "other boundaries" if same_type else "both other"


def _scores(counts: Counter[str]) -> dict[str, Match]:
    """The scores of each measure.

    Args:
        counts: number of pairs of each kind.
    """
    found = {}
    for place, name in enumerate(MEASURES):
        outcomes: Counter[str] = Counter()
        for kind, outcome in _OUTCOMES.items():
            outcomes[outcome[place]] += counts[kind]
        found[name] = _score(outcomes)
    return found


def _score(outcomes: Counter[str]) -> Match:
    correct, incorrect, partial, missed, spurious = (
        outcomes[each] for each in ("correct", "incorrect", "partial", "missed", "spurious")
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
        forms = {(sentence.text(span), span[2]) for span in sentence.gold}
        gold |= forms
        if sentence.predicted != sentence.gold:
            forms = {(sentence.text(span), span[2]) for span in sentence.predicted}
        predicted |= forms
    correct, both = len(gold & predicted), len(gold) + len(predicted)
    return SurfaceScore(
        correct / len(predicted) if predicted else 0.0,
        correct / len(gold) if gold else 0.0,
        2 * correct / both if correct else 0.0,
        len(gold),
    )
