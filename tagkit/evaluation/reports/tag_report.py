"""A report on predicted tags: scores by type, with their averages.

The default mode counts spans as conlleval does, strict mode only spans that are well-formed in the
scheme; a report always says which. Plain labels are scored token by token. The numbers are equal to
seqeval's in both modes (`evaluation.verify` compares them).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tagkit.evaluation.reports.report import LabelScores
from tagkit.evaluation.scores.metrics import Comparison, Kind
from tagkit.evaluation.scores.scores import (
    Counts,
    Labels,
    Score,
    count_spans,
    count_tokens,
    token_accuracy,
)
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.json_text import INTERNAL
from tagkit.text.records import Sentence
from tagkit.text.schemes import DISPLAY, INSIDE, has_spans, own_inside, span_tuples

# As reports show them, and as metadata.json has them: never to be renamed.
CONLLEVAL = "conlleval-compatible"
STRICT = "strict"
TOKENS = "per token"


@dataclass(frozen=True, slots=True)
class TagReport(LabelScores):
    """Scores of predicted tags against gold.

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
        comparison: what was scored; not part of the JSON.
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
    comparison: Comparison = field(compare=False, repr=False, metadata={INTERNAL: True})


def make_tag_report(
    gold: Labels,
    predicted: Labels,
    scheme: str,
    *,
    strict: bool = False,
    known: Collection[str] | None = None,
) -> TagReport:
    """Scores by type and their averages.

    Args:
        gold: one sequence of tags a sentence.
        predicted: as long as `gold`, each sequence too.
        scheme: of both, one of `schemes.SCHEMES`.
        strict: only spans that are well-formed in the scheme count.
        known: labels that the model can predict, "" of a bare prefix; None where that is not
            known.
    """
    mode = mode_of(scheme, strict=strict)
    counts = counts_of(gold, predicted, scheme, mode)
    # Of plain labels it is their micro recall, which has been counted already.
    alike = with_own_inside(gold, scheme), with_own_inside(predicted, scheme)
    accuracy = None if mode == TOKENS else token_accuracy(*alike)
    tokens = sum(map(len, gold))
    return report_of(scheme, mode, counts, len(gold), tokens, accuracy, known, gold, predicted)


def with_own_inside(sequences: Labels, scheme: str) -> Labels:
    """Tags of BMES and IOBES in the letters of one, as which a tag is right in either."""
    if scheme not in INSIDE:
        return sequences
    return [tuple(own_inside(tag, scheme) for tag in tags) for tags in sequences]


def with_sentences(report: TagReport, sentences: Sequence[Sentence], name: str) -> TagReport:
    """The report with the words of its tags, which analyses need.

    Args:
        report: with all tags.
        sentences: that it is on, in order.
        name: of the corpus.
    """
    comparison = replace(report.comparison, sentences=sentences, name=name)
    return replace(report, comparison=comparison)


def mode_of(scheme: str, *, strict: bool) -> str:
    """How the tags of a scheme are counted: `CONLLEVAL`, `STRICT` or `TOKENS`."""
    if not has_spans(scheme):
        return TOKENS
    return STRICT if strict else CONLLEVAL


def report_of(
    scheme: str,
    mode: str,
    counts: Counts,
    sentences: int,
    tokens: int,
    accuracy: float | None,
    known: Collection[str] | None = None,
    gold: Labels = (),
    predicted: Labels = (),
) -> TagReport:
    """The report that follows from counts; an `accuracy` of None is the micro recall."""
    kind = Kind.TOKENS if mode == TOKENS else Kind.SPANS
    table = counts.table()
    accuracy = table.micro.recall if accuracy is None else accuracy
    # Of plain labels "" is no bare prefix; a tag is never empty.
    bare = name_of_bare(table.types) if kind is Kind.SPANS else ""
    unknown = {label or bare: support for label, support in table.unknown(known).items()}
    return TagReport(
        scheme=DISPLAY[scheme],
        mode=mode,
        sentences=sentences,
        tokens=tokens,
        accuracy=accuracy,
        # Sorted again: "" came first, and its name "_" need not.
        types=dict(sorted((label or bare, score) for label, score in table.types.items())),
        unknown=dict(sorted(unknown.items())),
        micro=table.micro,
        macro=table.macro,
        weighted=table.weighted,
        comparison=Comparison(kind, gold, predicted, accuracy, table),
    )


def name_of_bare(labels: Collection[str]) -> str:
    """What the label of a bare prefix is called in a report: a name that no other label has."""
    name = "_"
    while name in labels:
        name += "_"
    return name


def counts_of(gold: Labels, predicted: Labels, scheme: str, mode: str) -> Counts:
    """The decisions of tags by label, counted in a mode."""
    if mode == TOKENS:
        return count_tokens(gold, predicted)
    # Strict mode drops the ill-formed spans of a sentence and keeps its others.
    spans_of = partial(well_formed_spans, scheme=scheme) if mode == STRICT else span_tuples
    return count_spans(gold, predicted, spans_of)
