"""A report of scores by type, with its averages, from seqeval.

The default mode counts spans as conlleval does, strict mode only spans that are well-formed in the
scheme; a report always says which. Plain labels are scored token by token.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tagkit.evaluation.metrics import Averages, Score, Tags, accuracy, averages, label_scores
from tagkit.text.schemes import (
    DISPLAY,
    OUTSIDE,
    PREFIXES,
    has_spans,
    join_tag,
    normalize,
    split_tag,
    to_spans,
)

CONLLEVAL = "conlleval-compatible"
STRICT = "strict"
TOKENS = "per token"


@dataclass(frozen=True, slots=True)
class Report:
    """Scores of predictions against gold.

    Attributes:
        scheme: as `schemes.DISPLAY` names it.
        mode: `CONLLEVAL`, `STRICT` or `TOKENS`.
        sentences: how many.
        tokens: how many.
        accuracy: share of tokens whose tag is right.
        micro: over all spans, or tokens.
        macro: mean over types.
        weighted: mean over types, weighted by support.
        types: by label, in alphabetical order; "_" is that of a bare prefix, as seqeval calls it
            ("__", and so on, where "_" is a label).
        unknown: gold labels that the model does not know, each with its support; they count as
            errors.
    """

    scheme: str
    mode: str
    sentences: int
    tokens: int
    accuracy: float
    micro: Score
    macro: Score
    weighted: Score
    types: Mapping[str, Score]
    unknown: Mapping[str, int]

    @property
    def headline(self) -> float:
        """The one number: micro F1 of spans, accuracy of plain labels; 0 to 1."""
        return self.accuracy if self.mode == TOKENS else self.micro.f1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def make_report(
    gold: Tags,
    predicted: Tags,
    scheme: str,
    *,
    strict: bool = False,
    known: Collection[str] | None = None,
) -> Report:
    """Scores by type and their averages.

    Args:
        gold: one sequence of tags a sentence.
        predicted: as long as `gold`, each sequence too.
        scheme: of both, one of `schemes.SCHEMES`.
        strict: only spans that are well-formed in the scheme count.
        known: labels that the model can predict, "" of a bare prefix; None where that is not
            known.
    """
    bare = ""
    if not has_spans(scheme):
        tokens = ([(tag,) for sequence in tags for tag in sequence] for tags in (gold, predicted))
        types, found = label_scores(*tokens)
        mode = TOKENS
    else:
        types, found = _span_scores(gold, predicted, scheme, strict)
        mode = STRICT if strict else CONLLEVAL
        bare = _name_of_bare(types)
    unknown = {
        label or bare: score.support
        for label, score in types.items()
        if known is not None and label not in known and score.support
    }
    return Report(
        scheme=DISPLAY[scheme],
        mode=mode,
        sentences=len(gold),
        tokens=sum(len(tags) for tags in gold),
        accuracy=accuracy(gold, predicted),
        types=dict(sorted((label or bare, score) for label, score in types.items())),
        unknown=dict(sorted(unknown.items())),
        micro=found.micro,
        macro=found.macro,
        weighted=found.weighted,
    )


def _span_scores(
    gold: Tags, predicted: Tags, scheme: str, strict: bool
) -> tuple[dict[str, Score], Averages]:
    # Imported here: seqeval brings scikit-learn, most of a second.
    from seqeval import scheme as seqeval_schemes
    from seqeval.metrics import classification_report

    if not any(to_spans(tags) for tags in (*gold, *predicted)):
        return {}, averages(
            {}, Score(0.0, 0.0, 0.0, 0)
        )  # seqeval has no answer for a corpus without spans
    # seqeval takes a bare prefix for the label "_", and in strict mode "-X" for "X". Under other
    # names, in the same order, labels stay apart as in conlleval.
    found_labels = {split_tag(tag)[1] for tags in (*gold, *predicted) for tag in tags}
    labels = sorted(found_labels, key=lambda label: (label or "_", label))
    width = len(str(len(labels)))
    names = {label: f"{number:0{width}}" for number, label in enumerate(labels)}
    if strict:
        kind = getattr(seqeval_schemes, scheme.upper())
        gold, predicted = _spelled(gold, scheme, names), _spelled(predicted, scheme, names)
        if not any(seqeval_schemes.Entities(tags, kind).unique_tags for tags in (gold, predicted)):
            return {}, averages({}, Score(0.0, 0.0, 0.0, 0))
        table = classification_report(
            gold,
            predicted,
            mode="strict",
            scheme=kind,
            output_dict=True,
            zero_division=0,
        )
    else:
        table = classification_report(
            [[_renamed(normalize(tag), names) for tag in tags] for tags in gold],
            [[_renamed(normalize(tag), names) for tag in tags] for tags in predicted],
            output_dict=True,
            zero_division=0,
        )
    scores = {label: _score(row) for label, row in table.items()}
    found = Averages(*(scores.pop(f"{name} avg") for name in ("micro", "macro", "weighted")))
    return {labels[int(name)]: score for name, score in scores.items()}, found


def _name_of_bare(labels: Collection[str]) -> str:
    """What the label of a bare prefix is called in a report: a name that no other label has."""
    name = "_"
    while name in labels:
        name += "_"
    return name


def _renamed(tag: str, names: Mapping[str, str]) -> str:
    prefix, label = split_tag(tag)
    return tag if tag == OUTSIDE else join_tag(prefix, names[label])


def _spelled(sequences: Tags, scheme: str, names: Mapping[str, str]) -> list[list[str]]:
    """Tags with the scheme's own prefixes and other labels: M of BMES as I, O for foreign ones.

    seqeval's strict mode stops at a prefix that is foreign to the scheme; it is in no span.
    """

    def spell(tag: str) -> str:
        prefix, label = split_tag(tag)
        if prefix == "M" and scheme == "iobes":
            prefix = "I"
        return join_tag(prefix, names[label]) if prefix in PREFIXES[scheme] else OUTSIDE

    return [[spell(tag) for tag in tags] for tags in sequences]


def _score(row: Mapping[str, Any]) -> Score:
    return Score(
        float(row["precision"]), float(row["recall"]), float(row["f1-score"]), int(row["support"])
    )
