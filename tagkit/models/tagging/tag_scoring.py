"""Predicted tags against gold ones, each in the scheme that it is written in."""

from collections.abc import Sequence

from tagkit.config import Config, parse_span_scheme, training_scheme
from tagkit.corpus.records.dataset import Split
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.models.base.task_records import ModelContext
from tagkit.text.records import Prediction
from tagkit.text.schemes import IO, OUTSIDE, PLAIN, from_spans, has_spans, split_tag


def known_labels(context: ModelContext) -> frozenset[str]:
    """Types of spans, or plain labels, that the model can predict; "" of a bare prefix."""
    tags = context.vocabulary.tags
    if not has_spans(training_scheme(context.config)):
        return frozenset(tags)
    return frozenset(split_tag(tag)[1] for tag in tags if tag != OUTSIDE)


def tags_in(config: Config, prediction: Prediction, scheme: str) -> tuple[str, ...]:
    """A prediction's tags in a scheme, which may differ from that of the training corpus.

    Raises:
        ConfigError: there is no such scheme.
    """
    if scheme not in (PLAIN, IO):
        scheme = parse_span_scheme(str(scheme)) or PLAIN
    if not prediction.tags:  # of a model of classes alone
        return ()
    if scheme in (PLAIN, config.data.scheme):
        return prediction.tags
    # Spans are the same in every scheme; tags are their spelling.
    return from_spans(prediction.spans, len(prediction.words), scheme)


def score_tags(
    context: ModelContext, split: Split, predictions: Sequence[Prediction], *, strict: bool
) -> TagReport:
    """A report of predicted tags, in the scheme of the corpus that they are scored on."""
    # Gold tags stay as the file has them: conversion could repair what should count as an error.
    scheme = split.scheme or PLAIN
    return make_tag_report(
        [sentence.tags or () for sentence in split.sentences],
        [tags_in(context.config, prediction, scheme) for prediction in predictions],
        scheme,
        strict=strict,
        known=known_labels(context),
    )


def tag_kind(config: Config) -> Kind:
    """What the tags of a resolved configuration are scored as."""
    return Kind.SPANS if has_spans(training_scheme(config)) else Kind.TOKENS
