"""Predictions without what is less probable than a minimum.

    spans          they are left out, and their tags become O
    plain labels   "_", which means no value in column formats and in CoNLL-U
    classes        they are not among the text's labels; `scores` still has all

Of several tag columns the first with spans has probabilities of these; a span of any other such
column is left out where one of its tags is less probable than the minimum.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tagkit.features.column_labels import ColumnLabels
from tagkit.models.answers.kind import Removed
from tagkit.text.records import Prediction, Span, TagColumn
from tagkit.text.schemes import from_spans, has_spans, to_spans

NO_LABEL = "_"


def without_unlikely(
    predictions: Sequence[Prediction],
    minimum: float,
    scheme: str,
    columns: Sequence[ColumnLabels],
    on_removed: Callable[[Removed], None],
) -> list[Prediction]:
    """Predictions without what is less probable.

    Args:
        predictions: with probabilities.
        minimum: probability from which on a span, a label or a class is kept.
        scheme: of the tags.
        columns: labels of each tag column of a model of several.
        on_removed: called with the counts of what was removed.
    """
    removed = Removed()
    found = [_likely(each, minimum, scheme, columns, removed) for each in predictions]
    on_removed(removed)
    return found


def _likely(
    prediction: Prediction,
    minimum: float,
    scheme: str,
    columns: Sequence[ColumnLabels],
    removed: Removed,
) -> Prediction:
    if prediction.scores:
        prediction = _likely_classes(prediction, minimum, removed)
    if prediction.columns:
        return _likely_columns(prediction, minimum, columns, removed)
    if not prediction.tags:
        return prediction
    if has_spans(scheme):
        spans = _likely_spans(prediction.spans, minimum, removed)
        tags = prediction.tags
        if len(spans) < len(prediction.spans):  # else the tags stay, to the letter
            tags = from_spans(spans, len(tags), scheme)
        return replace(prediction, tags=tags, spans=spans)
    tags = _likely_labels(prediction.tags, prediction.probabilities, minimum, removed)
    return replace(prediction, tags=tags)


def without_probabilities(prediction: Prediction) -> Prediction:
    """The prediction as it is where no probabilities of tags were asked for."""
    return replace(
        prediction,
        probabilities=None,
        spans=tuple(replace(span, probability=None) for span in prediction.spans),
        columns=tuple(replace(column, probabilities=None) for column in prediction.columns),
    )


def _likely_classes(prediction: Prediction, minimum: float, removed: Removed) -> Prediction:
    likely = {score.label for score in prediction.scores if score.probability >= minimum}
    labels = tuple(label for label in prediction.labels if label in likely)
    removed.add("class", len(prediction.labels) - len(labels), len(prediction.labels))
    return replace(prediction, labels=labels)


def _likely_spans(spans: Sequence[Span], minimum: float, removed: Removed) -> tuple[Span, ...]:
    found = tuple(span for span in spans if (span.probability or 0) >= minimum)
    removed.add("span", len(spans) - len(found), len(spans))
    return found


def _likely_labels(
    labels: Sequence[str], probs: Sequence[float] | None, minimum: float, removed: Removed
) -> tuple[str, ...]:
    found = tuple(
        label if prob >= minimum else NO_LABEL
        for label, prob in zip(labels, probs or (), strict=True)
    )
    unlikely = sum(prob < minimum for prob in probs or ())
    removed.add("label", unlikely, len(labels))
    return found


def _likely_columns(
    prediction: Prediction, minimum: float, columns: Sequence[ColumnLabels], removed: Removed
) -> Prediction:
    kept: list[TagColumn] = []
    spans: tuple[Span, ...] | None = None  # of the first column that has some
    for labels, column in zip(columns, prediction.columns, strict=True):
        if not has_spans(labels.scheme):
            values = _likely_labels(column.values, column.probabilities, minimum, removed)
        else:
            if spans is None:
                found = spans = _likely_spans(prediction.spans, minimum, removed)
            else:
                weighed = _with_least(to_spans(column.values), column.probabilities or ())
                found = _likely_spans(weighed, minimum, removed)
            values = from_spans(found, len(column.values), labels.scheme)
        kept.append(replace(column, values=values))
    return replace(prediction, tags=kept[0].values, spans=spans or (), columns=tuple(kept))


def _with_least(spans: Sequence[Span], probs: Sequence[float]) -> list[Span]:
    """Spans with the probability of the least probable of their tags."""
    return [replace(span, probability=min(probs[span.start : span.end])) for span in spans]
