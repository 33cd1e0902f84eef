"""Predictions of a file with their probabilities, beside the gold labels of another one.

Spans are compared by their characters, as `compare.py` compares files of which one has no tokens.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from tagkit.config import DataConfig
from tagkit.corpus.source.options import Item
from tagkit.evaluation.compare.characters import characters_of_both
from tagkit.evaluation.reports.class_report import ClassReport, JointReport
from tagkit.evaluation.reports.tag_report import STRICT, TagReport
from tagkit.evaluation.scores.judged import Judged, judge_classes, judge_spans, judge_tokens
from tagkit.evaluation.scores.labelled import Labelled
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.pairing import in_gold_order, paired_texts
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.records import Document, LabelScore
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import stretches

# Of a record of JSON Lines, beside its classes; `inference.render` writes it.
PROBABILITIES = "probabilities"


def judged_labels(
    gold: Labelled,
    predicted: Labelled,
    data: DataConfig,
    report: TagReport | ClassReport | JointReport,
) -> dict[str, Judged]:
    """What calibration is measured on, of "tags" and of "classes"; without what has none.

    Args:
        gold: the gold file.
        predicted: the predictions, read with their probabilities.
        data: how the files are read.
        report: on them, which says what was compared.
    """
    found: dict[str, Judged | None] = {}
    match report:
        case TagReport():
            found["tags"] = _tags(gold, predicted, data, report, by_record=False)
        case ClassReport():
            found["classes"] = _classes(gold, predicted, report)
        case JointReport():
            found["tags"] = _tags(gold, predicted, data, report.tags, by_record=True)
            found["classes"] = _classes(gold, predicted, report.classes)
    return {name: judged for name, judged in found.items() if judged is not None}


def _tags(
    gold: Labelled, predicted: Labelled, data: DataConfig, report: TagReport, *, by_record: bool
) -> Judged | None:
    if report.comparison.kind is Kind.TOKENS:
        return _tokens(gold, predicted)
    predicted = in_gold_order(gold, predicted)
    probabilities = _span_probabilities(predicted.items)
    if probabilities is None:
        return None
    spans_of = stretches
    if report.mode == STRICT:
        own = gold.sentences
        scheme = "iob2" if own is None else scheme_of(own, gold.name, data.scheme).scheme
        spans_of = partial(well_formed_spans, scheme=scheme)
    ours, theirs = characters_of_both(
        (gold.items, gold.name), (predicted.items, predicted.name), data.tokenizer, spans_of,
        whole=by_record,
    )  # fmt: skip
    return judge_spans([ours.spans], [list(zip(theirs.spans, probabilities, strict=True))])


def _span_probabilities(items: Sequence[Item]) -> list[float] | None:
    """The probability of each span, in order; None unless all have one."""
    found: list[float] = []
    for item in items:
        if not isinstance(item, Document):
            return None
        for span in item.spans or ():
            if span.probability is None:
                return None
            found.append(span.probability)
    return found or None


def _tokens(gold: Labelled, predicted: Labelled) -> Judged | None:
    ours, theirs = gold.sentences, predicted.sentences
    if ours is None or theirs is None:
        return None
    columns = [sentence.columns[0] for sentence in theirs if sentence.columns]
    probabilities = [each.probabilities for each in columns if each.probabilities is not None]
    if len(probabilities) < len(theirs):
        return None
    return judge_tokens(
        [sentence.tags or () for sentence in ours],
        [sentence.tags or () for sentence in theirs],
        probabilities,
    )


def _classes(gold: Labelled, predicted: Labelled, report: ClassReport) -> Judged | None:
    texts, found = paired_texts(gold, predicted)
    scores = [_scores(item) for item in found]
    if not all(scores):
        return None
    return judge_classes([item.labels for item in texts], scores, several=report.several)


def _scores(item: Item) -> list[LabelScore]:
    """The classes of a record with their probabilities, the most probable first."""
    found = dict(item.extra).get(PROBABILITIES)
    if not isinstance(found, Mapping):
        return []
    scores = [LabelScore(str(label), float(p)) for label, p in found.items() if _is_probability(p)]
    if len(scores) < len(found):
        return []
    return sorted(scores, key=lambda score: -score.probability)


def _is_probability(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1
