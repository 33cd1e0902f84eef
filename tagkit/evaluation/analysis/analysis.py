"""What lies behind a headline: measures, errors, slices, an interval, and calibration.

Each analysis is a function, most of them in a module of their own; `analyse` runs those that are
asked for on a report that has kept its tags, and returns a record, which `tagkit eval` prints.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError
from tagkit.evaluation.analysis.by_sentence import (
    Scored,
    aligned_sentences,
    scored_parts,
    sentence_counts,
)
from tagkit.evaluation.analysis.error_kinds import ErrorReport, error_report
from tagkit.evaluation.analysis.slices import (
    SeenSpans,
    Slices,
    WordAccuracy,
    slice_scores,
    word_accuracy,
)
from tagkit.evaluation.reports.class_report import label_reports
from tagkit.evaluation.reports.column_report import ColumnsReport
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.string_report import STRINGS, StringReport
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.calibration import Calibration, calibration
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.evaluation.scores.scores import Score, score_of
from tagkit.evaluation.scores.significance import certainty
from tagkit.evaluation.scores.spans import Aligned, overlap, overlapping
from tagkit.text.json_text import Record, plain
from tagkit.text.schemes import SpanTuple, has_spans, span_tuples

ANALYSES = ("measures", "errors", "slices", "interval", "calibration")
_OF_COLUMNS = {"calibration"}  # those that a report on several columns has a place for
_EXAMPLES = 3  # of each kind of error

MEASURES = ("strict", "exact", "partial", "ent_type")
# Gold and predicted; None where one has no partner.
Pair = tuple[SpanTuple | None, SpanTuple | None]
# What each kind of pair is by each of the `MEASURES`.
_OUTCOMES = {
    "same": ("correct", "correct", "correct", "correct"),
    "other type": ("incorrect", "correct", "correct", "incorrect"),
    "other boundaries": ("incorrect", "incorrect", "partial", "correct"),
    "both other": ("incorrect", "incorrect", "partial", "incorrect"),
    "missed": ("missed", "missed", "missed", "missed"),
    "spurious": ("spurious", "spurious", "spurious", "spurious"),
}


# Strict, exact, partial and type scores of spans: the four of SemEval-2013, task 9.1.
#
# Segura-Bedmar, Martinez and Herrero-Zazo 2013, after MUC-5 (Chinchor and Sundheim 1993). Each gold
# span is paired with one predicted span at most. Then a pair is, by the measure,
#
#     strict    correct with the same boundaries and type, else incorrect
#     exact     correct with the same boundaries, else incorrect
#     partial   correct with the same boundaries, else partial: half a point
#     ent_type  correct with the same type, else incorrect
#
# A gold span without a partner is missed, a predicted one spurious, and
#
#     precision = (correct + partial / 2) / predicted spans
#     recall    = (correct + partial / 2) / gold spans
#
# The names are nervaluate's. The definitions do not say which spans are a pair where several
# overlap: here spans with the same boundaries are, then those that share most tokens, the first
# ones first. nervaluate lets one prediction count for several gold spans, and does not find a span
# of one token inside a longer one; where neither occurs the numbers are the same.
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
                counts[(ours or theirs or (0, 0, ""))[2], _kind_of_pair(ours, theirs)] += 1
            gold = [*both]
        for _, _, label in gold:
            counts[label, "same"] += 1
    labels = sorted({label for label, _ in counts})
    types = {label: Counter({kind: counts[label, kind] for kind in _OUTCOMES}) for label in labels}
    total: Counter[str] = Counter()
    for each in types.values():
        total.update(each)
    return Matches(_by_measure(total), {label: _by_measure(each) for label, each in types.items()})


def pairs(gold: Sequence[SpanTuple], predicted: Sequence[SpanTuple]) -> list[Pair]:
    """Which gold span is paired with which predicted one, each span once, in order of the text."""
    shared = [
        # Largest first: same boundaries, then most tokens in common, then the first in the text.
        ((gold[i][:2] == predicted[j][:2], overlap(gold[i], predicted[j])), gold[i], predicted[j])
        for i, j in overlapping(gold, predicted)
    ]
    shared.sort(key=lambda each: each[0], reverse=True)  # stable
    partner: dict[SpanTuple, SpanTuple] = {}
    taken: set[SpanTuple] = set()
    for _, ours, theirs in shared:
        if ours not in partner and theirs not in taken:
            partner[ours] = theirs
            taken.add(theirs)
    found: list[Pair] = [(ours, partner.get(ours)) for ours in gold]
    found += [(None, theirs) for theirs in predicted if theirs not in taken]
    return sorted(found, key=lambda pair: (pair[0] or pair[1] or (0, 0, ""))[:2])


def _kind_of_pair(gold: SpanTuple | None, predicted: SpanTuple | None) -> str:
    """The kind of a pair."""
    if predicted is None:
        return "missed"
    if gold is None:
        return "spurious"
    same_boundaries, same_type = gold[:2] == predicted[:2], gold[2] == predicted[2]
    if same_boundaries:
        return "same" if same_type else "other type"
    return "other boundaries" if same_type else "both other"


def _by_measure(counts: Counter[str]) -> dict[str, Match]:
    """The scores of each measure.

    Args:
        counts: number of pairs of each kind.
    """
    found = {}
    for place, name in enumerate(MEASURES):
        outcomes: Counter[str] = Counter()
        for kind, outcome in _OUTCOMES.items():
            outcomes[outcome[place]] += counts[kind]
        found[name] = _match_score(outcomes)
    return found


def _match_score(outcomes: Counter[str]) -> Match:
    correct, incorrect, partial, missed, spurious = (
        outcomes[each] for each in ("correct", "incorrect", "partial", "missed", "spurious")
    )
    paired = correct + incorrect + partial
    found = score_of(correct + partial / 2, paired + spurious, paired + missed)
    scores = found.precision, found.recall, found.f1
    return Match(correct, incorrect, partial, missed, spurious, *scores)


def surface_score(sentences: Iterable[Aligned]) -> Score:
    """Scores of surface forms: each pair of a text and a type counts once, however often it occurs.

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
    return score_of(len(gold & predicted), len(predicted), len(gold))


@dataclass(frozen=True, slots=True)
class Measures(Record):
    """Scores of spans by other measures than the report's.

    Attributes:
        spans: strict, exact, partial and ent_type, over all spans and by type.
        surface: of distinct surface forms.
    """

    spans: Matches
    surface: Score


@dataclass(frozen=True, slots=True)
class HeadlineInterval(Record):
    """A headline with its bootstrap interval, all 0 to 1.

    Attributes:
        measure: name of the headline.
        score: its value.
        low: lower end of the interval.
        high: upper end.
        level: share of such intervals that hold the true value.
    """

    measure: str
    score: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analyses of a report; those that were not asked for are None.

    Attributes:
        name: of the corpus.
        measures: other measures of spans.
        errors: what goes wrong, of spans.
        slices: F1 of spans, or accuracy of plain labels, by what training has seen and by length.
        interval: of the headline, under "", or of those of "tags" and "classes".
        calibration: how far probabilities can be trusted, by the same names, or by those of
            several columns.
    """

    name: str
    measures: Measures | None
    errors: ErrorReport | None
    slices: Slices | WordAccuracy | None
    interval: Mapping[str, HeadlineInterval] | None
    calibration: Mapping[str, Calibration] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values of the analyses that were asked for, for JSON."""
        found = {name: getattr(self, name) for name in ANALYSES}
        for name in ("interval", "calibration"):  # one that is of the whole has no name
            if found[name] is not None:
                found[name] = found[name].get("", found[name])
        return {name: plain(each) for name, each in found.items() if each is not None}


def analyse(report: Report, names: Collection[str], train: Split | None = None) -> Analysis:
    """The analyses of a report that has kept its tags.

    Args:
        report: on one tag column, on classes, or on both; analyses of spans are those of the tags.
            Of several columns there is "calibration" alone.
        names: which of `ANALYSES`.
        train: the training corpus, for "slices".

    Raises:
        DataError: an analysis has no meaning for these labels.
    """
    of_columns = isinstance(report, ColumnsReport) and {*names} <= _OF_COLUMNS
    parts = {} if of_columns else scored_parts(report)
    tags = _tags_of(parts)
    for name in ANALYSES:
        if name in names and (obstacle := _obstacle(name, report, tags, train)):
            raise DataError(obstacle)
    if train is not None and tags is not None:
        kinds = "tags of spans", "plain labels"
        wanted, found = tags.comparison.kind is Kind.TOKENS, not has_spans(train.scheme)
        if wanted != found:
            name = tags.comparison.name
            raise DataError(
                f"{train.path}: expected {kinds[wanted]} as in {name}, found {kinds[found]}"
            )
    of_spans = tags is not None and tags.comparison.kind is Kind.SPANS
    sentences: list[Aligned] = []
    if tags is not None and of_spans and {*names} & {"measures", "errors", "slices"}:
        sentences = aligned_sentences(tags)
    return Analysis(
        name=tags.comparison.name if tags is not None else "",
        measures=Measures(match(sentences), surface_score(sentences))
        if "measures" in names
        else None,
        errors=error_report(sentences, _EXAMPLES) if "errors" in names else None,
        slices=_slices(tags, sentences, train) if tags is not None and "slices" in names else None,
        interval={name: headline_interval(part) for name, part in parts.items()}
        if "interval" in names
        else None,
        calibration={name: calibration(judged) for name, judged in _judged(report).items()}
        if "calibration" in names
        else None,
    )


def read_training(path: str, data: DataConfig, note: Callable[[str], None]) -> Split:
    """The training corpus of a system, for its scores on what that has and lacks.

    Args:
        path: of the file, in any format.
        data: how the gold file is read; the training corpus is read likewise.
        note: called with each remark on the corpus, a sentence.

    Raises:
        DataError: it cannot be read, or has no tags.
    """
    split = read_split(path, data, LabelKinds(tags=True, classes=False), None)
    for text in split.notes:
        note(text)
    return split


def possible(report: Report, train: Split | None = None) -> list[str]:
    """The analyses that have a meaning for a report."""
    of_columns = isinstance(report, ColumnsReport)
    tags = None if of_columns else _tags_of(scored_parts(report))
    names = _OF_COLUMNS if of_columns else ANALYSES
    return [name for name in names if not _obstacle(name, report, tags, train)]


def _tags_of(parts: Mapping[str, Scored]) -> TagReport | None:
    return next((each for each in parts.values() if isinstance(each, TagReport)), None)


def headline_interval(report: Scored) -> HeadlineInterval:
    """The headline with its 95 % bootstrap interval."""
    found = certainty([sentence_counts(report)]).interval
    return HeadlineInterval(report.measure, report.headline, found.low, found.high, found.level)


def _obstacle(name: str, report: Report, tags: TagReport | None, train: Split | None) -> str:
    """Why an analysis has no meaning for a report; empty where it has one.

    Args:
        name: one of `ANALYSES`.
        report: as for `analyse`.
        tags: its part on tags; None where it has none.
        train: the training corpus, perhaps.
    """
    if name == "calibration":
        if not _judged(report):
            return (
                f"there are no probabilities to look at: the analysis {name} needs a model, or a "
                "file of predictions in JSON Lines (jsonl) with their probabilities (confidence)"
            )
        return ""
    if name == "interval":
        return ""
    needed = "tags" if name == "slices" else "spans"
    if tags is None:
        held = STRINGS if isinstance(report, StringReport) else "classes of texts"
        return f"the corpus holds {held}: {name}=... is for {needed}"
    corpus, is_plain = tags.comparison.name, tags.comparison.kind is Kind.TOKENS
    if is_plain and needed == "spans":
        return f"{corpus}: holds plain labels: {name}=... is for spans"
    if is_plain and train is None:
        needs = f"{name}=... of these needs train=..., the training corpus"
        return f"{corpus}: holds plain labels: {needs}"
    return ""


def _judged(report: Report) -> dict[str, Outcomes]:
    """The predictions with their probabilities, by the names of parts or of columns."""
    if isinstance(report, ColumnsReport):
        return {**report.judged}
    found = {name: part.comparison.judged for name, part in label_reports(report).items()}
    return {name: judged for name, judged in found.items() if judged is not None}


def _slices(
    tags: TagReport, sentences: list[Aligned], train: Split | None
) -> Slices | WordAccuracy:
    if tags.comparison.kind is Kind.SPANS:
        return slice_scores(sentences, None if train is None else _seen(train))
    assert train is not None  # `_obstacle` has seen to it
    comparison = tags.comparison
    return word_accuracy(
        [sentence.words for sentence in comparison.sentences],
        comparison.gold,
        comparison.predicted,
        {word for sentence in train.sentences for word in sentence.words},
    )


def _seen(train: Split) -> SeenSpans:
    seen = SeenSpans()
    for sentence in train.sentences:
        seen.add(sentence.words, span_tuples(sentence.tags or ()))
    return seen
