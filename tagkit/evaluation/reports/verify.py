"""Verification of a report: seqeval scores the same spans again, in both of its modes.

seqeval is the library that papers on sequence tagging quote. It takes some thirty times as long as
our scorer, so it runs only on request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import ClassReport, label_reports
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import (
    CONLLEVAL,
    STRICT,
    TagReport,
    make_tag_report,
    name_of_bare,
)
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.scores import Counts, Labels, Score, ScoreTable
from tagkit.text.schemes import (
    DISPLAY,
    OUTSIDE,
    PREFIXES,
    join_tag,
    normalize,
    own_inside,
    split_tag,
)
from tagkit.wording import listed, plural

_TOLERANCE = 1e-9  # seqeval rounds P and R before it makes F1 of them; we round once
_SCHEMES = {shown: scheme for scheme, shown in DISPLAY.items()}
_OF_SEQEVAL = {"bmes": "IOBES", "io": "IOB1"}  # the schemes that it has under another name
_MODES = {CONLLEVAL: "conlleval mode", STRICT: "strict mode"}  # as they are called in a sentence


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number for which seqeval has another value.

    Attributes:
        mode: `CONLLEVAL` or `STRICT`.
        label: a type, the name of an average, or "all tokens".
        measure: "precision", "recall", "f1", "support" or "accuracy".
        ours: None where we have no such type.
        theirs: None where seqeval has none.
    """

    mode: str
    label: str
    measure: str
    ours: float | None
    theirs: float | None

    def __str__(self) -> str:
        """For example 'strict mode, LOC: recall 0.5, seqeval has 0.25'."""
        ours, theirs = (
            "none" if value is None else f"{value:.10g}" for value in (self.ours, self.theirs)
        )
        return f"{_MODES[self.mode]}, {self.label}: {self.measure} {ours}, seqeval has {theirs}"


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of a comparison with seqeval.

    Attributes:
        disagreements: none where all numbers agree.
        respelled: tags of the corpus that seqeval would read by other rules, in alphabetical
            order; it was given other names in their place.
        classes_left_out: whether the report has classes too, which seqeval cannot score.
    """

    disagreements: tuple[Disagreement, ...]
    respelled: tuple[str, ...]
    classes_left_out: bool

    def lines(self) -> list[str]:
        """Sentences for a person: that the numbers agree, or each one that does not."""
        if self.disagreements:
            count = plural(len(self.disagreements), "number")
            return [f"not verified: seqeval disagrees on {count}", *map(str, self.disagreements)]
        notes = [f"verified: seqeval's numbers agree ({' and '.join(_MODES.values())})"]
        if self.respelled:
            notes.append(
                "seqeval reads these tags by other rules, so it was given other names for them: "
                f"{listed(self.respelled)}"
            )
        if self.classes_left_out:
            notes.append("seqeval scores no classes of texts: theirs are not verified")
        return notes


def verify_report(report: Report, name: str) -> Verification:
    """Score the spans of a report again with seqeval, in its default and in its strict mode.

    Args:
        report: of spans, or of spans and classes.
        name: of the file with the gold tags, for messages.

    Raises:
        DataError: the report is of classes alone or of plain labels.
    """
    # Of several columns the first one of spans; classes beside tags are left out, and `lines` says
    # so.
    kinds = {each.comparison.kind: each for each in reversed(label_reports(report).values())}
    tags = kinds.get(Kind.SPANS)
    if not isinstance(tags, TagReport):
        found = "classes of texts" if isinstance(report, ClassReport) else "plain labels"
        raise DataError(
            f"{name}: expected tags of spans, found {found}: seqeval verifies scores of spans only"
        )
    gold, predicted = tags.comparison.gold, tags.comparison.predicted
    if len(gold) != tags.sentences:
        raise ValueError("expected a report with its labels: compare_files(..., keep_labels=True)")
    scheme = _SCHEMES[tags.scheme]
    found_in: list[Disagreement] = []
    for mode in (CONLLEVAL, STRICT):
        # The numbers that the user is shown are verified, not numbers like them.
        strict = mode == STRICT
        ours = (
            tags if tags.mode == mode else make_tag_report(gold, predicted, scheme, strict=strict)
        )
        found_in += _compare(ours, seqeval_table(gold, predicted, scheme, strict=strict))
    return Verification(
        disagreements=(*found_in, *_compare_accuracy(tags)),
        respelled=tuple(sorted(tag for tag in _tags(gold, predicted) if _is_odd(tag, scheme))),
        classes_left_out=any(kind.of_texts for kind in kinds),
    )


def _compare(ours: TagReport, table: ScoreTable) -> Iterator[Disagreement]:
    # The report has a name for the label of a bare prefix; seqeval's side must get the same one.
    bare = name_of_bare(table.types)
    theirs = {label or bare: score for label, score in table.types.items()}
    pairs: list[tuple[str, Score | None, Score | None]] = [
        (label, ours.types.get(label), theirs.get(label))
        for label in sorted(ours.types.keys() | theirs.keys())
    ]
    for average in ("micro", "macro", "weighted"):
        pairs.append((f"{average} avg", getattr(ours, average), getattr(table, average)))
    for label, left, right in pairs:
        if left is None or right is None:  # one line for a type that only one of the two found
            supports = (score.support if score else None for score in (left, right))
            yield Disagreement(ours.mode, label, "support", *supports)
            continue
        for measure, value in asdict(left).items():
            if abs(value - getattr(right, measure)) > _TOLERANCE:
                yield Disagreement(ours.mode, label, measure, value, getattr(right, measure))


def _compare_accuracy(ours: TagReport) -> Iterator[Disagreement]:
    from seqeval.metrics import accuracy_score

    if ours.tokens:  # seqeval divides by their number
        gold, predicted = (
            [[own_inside(tag, _SCHEMES[ours.scheme]) for tag in tags] for tags in side]
            for side in (ours.comparison.gold, ours.comparison.predicted)
        )
        theirs = float(accuracy_score(gold, predicted))
        if abs(theirs - ours.accuracy) > _TOLERANCE:
            yield Disagreement(ours.mode, "all tokens", "accuracy", ours.accuracy, theirs)


def seqeval_table(gold: Labels, predicted: Labels, scheme: str, *, strict: bool) -> ScoreTable:
    """Scores by label as seqeval has them, "" the label of a bare prefix.

    Args:
        gold: one sequence of tags a sentence.
        predicted: as long as `gold`, each sequence too.
        scheme: of both, one of `schemes.SPAN_SCHEMES`.
        strict: in seqeval's strict mode.
    """
    # Imported here: seqeval brings scikit-learn, which takes most of a second to import.
    from seqeval import scheme as seqeval_schemes
    from seqeval.metrics import classification_report

    # seqeval fails on a corpus without spans. The tags are searched here rather than with our own
    # search for spans, which is what is being verified.
    if all(split_tag(tag)[0] == OUTSIDE for tag in _tags(gold, predicted)):
        return Counts().table()
    # seqeval takes a bare prefix for the label "_", and in strict mode "-X" for "X". Under other
    # names, in the same order, labels stay apart as in conlleval.
    found_labels = {split_tag(tag)[1] for tag in _tags(gold, predicted)}
    labels = sorted(found_labels, key=lambda label: (label or "_", label))
    width = len(str(len(labels)))
    names = {label: f"{number:0{width}}" for number, label in enumerate(labels)}
    options: dict[str, Any] = {"output_dict": True, "zero_division": 0}
    if strict:
        kind = getattr(seqeval_schemes, _OF_SEQEVAL.get(scheme, scheme.upper()))
        gold, predicted = _spelled(gold, scheme, names), _spelled(predicted, scheme, names)
        if not any(seqeval_schemes.Entities(tags, kind).unique_tags for tags in (gold, predicted)):
            return Counts().table()
        options |= {"mode": "strict", "scheme": kind}
    else:
        gold, predicted = (
            [[_renamed(normalize(tag), names) for tag in tags] for tags in side]
            for side in (gold, predicted)
        )
    table = classification_report(gold, predicted, **options)
    # A label is a number here, so none can be taken for an average.
    scores = {label: _score(row) for label, row in table.items()}
    micro, macro, weighted = (scores.pop(f"{name} avg") for name in ("micro", "macro", "weighted"))
    types = {labels[int(name)]: score for name, score in scores.items()}
    return ScoreTable(types, micro, macro, weighted)


def _tags(gold: Labels, predicted: Labels) -> set[str]:
    return {tag for tags in (*gold, *predicted) for tag in tags}


def _is_odd(tag: str, scheme: str) -> bool:
    """Whether seqeval, given the tag itself, would not read its prefix and label as we do."""
    prefix, label = split_tag(tag)
    if tag == OUTSIDE:
        return False
    # In its default mode it knows the letters of IOBES alone; in strict mode those of the scheme.
    foreign = prefix not in "BIES" or prefix not in PREFIXES[scheme]
    return foreign or not label or label != label.strip("-") or set(label) == {"_"}


def _renamed(tag: str, names: Mapping[str, str]) -> str:
    prefix, label = split_tag(tag)
    return tag if tag == OUTSIDE else join_tag(prefix, names[label])


def _spelled(sequences: Labels, scheme: str, names: Mapping[str, str]) -> list[list[str]]:
    """Tags with the scheme's own prefixes and other labels: M of BMES as I, O for foreign ones.

    seqeval's strict mode stops at a prefix that is foreign to the scheme; it is in no span.
    """

    def spell(tag: str) -> str:
        prefix, label = split_tag(own_inside(tag, scheme))
        if prefix not in PREFIXES[scheme]:
            return OUTSIDE
        return join_tag("I" if prefix == "M" else prefix, names[label])

    return [[spell(tag) for tag in tags] for tags in sequences]


def _score(row: Mapping[str, Any]) -> Score:
    # numpy's numbers, which JSON does not know.
    return Score(
        float(row["precision"]), float(row["recall"]), float(row["f1-score"]), int(row["support"])
    )
