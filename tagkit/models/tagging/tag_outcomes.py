"""Predictions of a model beside gold labels, each with its probability and right or wrong."""

from collections.abc import Sequence
from functools import partial

from tagkit.corpus.records.dataset import Split
from tagkit.evaluation.scores.outcomes import (
    Outcomes,
    class_outcomes,
    span_outcomes,
    token_outcomes,
    with_places,
)
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.records import Prediction
from tagkit.text.schemes import PLAIN, has_spans, span_tuples


def judged_tags(split: Split, predictions: Sequence[Prediction], *, strict: bool) -> Outcomes:
    """Spans, or plain labels of tokens.

    Args:
        split: the corpus.
        predictions: for its sentences, in order, with probabilities.
        strict: whether only well-formed gold spans count; predicted ones always are.
    """
    gold = [sentence.tags or () for sentence in split.sentences]
    scheme = split.scheme or PLAIN
    if not has_spans(scheme):
        return _judged_values(gold, predictions)
    return _judged_spans(gold, predictions, scheme, strict=strict)


def judged_column(
    split: Split,
    predictions: Sequence[Prediction],
    place: int,
    *,
    scheme: str,
    strict: bool,
) -> Outcomes:
    """One of several tag columns: spans or values, as of `judged_tags`.

    Args:
        split: the corpus.
        predictions: for its sentences, as for `judged_tags`.
        place: of the column.
        scheme: of its spans, where predictions have these; PLAIN for its values.
        strict: as for `judged_tags`.
    """
    gold = [sentence.columns[place].values for sentence in split.sentences]
    if has_spans(scheme):
        return _judged_spans(gold, predictions, scheme, strict=strict)
    return token_outcomes(
        gold,
        [each.columns[place].values for each in predictions],
        [each.columns[place].probabilities or () for each in predictions],
    )


def judged_classes(split: Split, predictions: Sequence[Prediction], *, several: bool) -> Outcomes:
    """Classes of texts; `several` says whether a text may have more than one."""
    gold = [sentence.labels for sentence in split.sentences]
    return class_outcomes(gold, (each.scores for each in predictions), several=several)


def _judged_spans(
    gold: Sequence[Sequence[str]], predictions: Sequence[Prediction], scheme: str, *, strict: bool
) -> Outcomes:
    spans_of = partial(well_formed_spans, scheme=scheme) if strict else span_tuples
    return span_outcomes(
        (spans_of(tags) for tags in gold), (with_places(each.spans) for each in predictions)
    )


def _judged_values(gold: Sequence[Sequence[str]], predictions: Sequence[Prediction]) -> Outcomes:
    return token_outcomes(
        gold,
        [each.tags for each in predictions],
        [each.probabilities or () for each in predictions],
    )
