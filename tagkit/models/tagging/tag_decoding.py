"""Paths of tag ids -> tags and spans with their probabilities, and the n best paths.

A model predicts in the training scheme; the tags of a prediction are in the scheme of the training
corpus. The spans are the same in both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from tagkit.config import training_scheme
from tagkit.models.base.output import ModelOutput, require_number
from tagkit.models.base.task_records import ModelContext
from tagkit.nn.crf.confidence import PathConfidence
from tagkit.text.records import Alternative, Prediction, Sentence, Span
from tagkit.text.schemes import convert, from_span_tuples, has_spans, span_tuples


def tag_predictions(
    context: ModelContext, output: ModelOutput, sentences: Sequence[Sentence]
) -> list[Prediction]:
    """Tags and spans of a batch's sentences, with probabilities if the output has them."""
    assert output.tag_ids is not None
    # One tolist() for the batch: reading a tensor number by number is a call of torch for each.
    predictions = []
    for row, (sentence, path) in enumerate(zip(sentences, output.tag_ids.tolist(), strict=True)):
        tags, spans = tags_and_spans(context, path[: len(sentence)])
        prediction = Prediction(sentence.words, tags, spans)
        if output.confidence is not None:
            prediction = with_probabilities(prediction, output.confidence, row)
        predictions.append(prediction)
    return predictions


def tags_and_spans(
    context: ModelContext, path: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """A path of tag ids as tags in the scheme of the training corpus, and its spans."""
    return spelled(context.vocabulary.tags, context.config.data.scheme, path)


def spelled(
    labels: Sequence[str], scheme: str, path: Sequence[int]
) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """A path of tag ids as tags in a scheme, and its spans.

    Args:
        labels: tags in the order of their ids, in a training scheme.
        scheme: of the training corpus; `PLAIN` for plain labels, which mean no spans.
        path: of ids.
    """
    tags = tuple(labels[number] for number in path)
    if not has_spans(scheme):
        return tags, ()
    # The model predicts in the training scheme; users see the scheme of their own corpus.
    found = span_tuples(tags)
    return from_span_tuples(found, len(tags), scheme), tuple(Span(*place) for place in found)


def with_probabilities(prediction: Prediction, confidence: PathConfidence, row: int) -> Prediction:
    """The prediction with the probabilities of its tags and spans.

    A span's probability is that of all sequences of tags that have exactly this span.

    Raises:
        BundleError: a probability is not a number.
    """
    probs = confidence.probs[row, : len(prediction.words)].tolist()
    require_number(sum(probs))  # the sum is NaN or infinite if one of them is
    bounds = [(span.start, span.end) for span in prediction.spans]
    of_spans = confidence.span_probs(row, bounds)
    require_number(sum(of_spans))
    spans = tuple(
        replace(span, probability=probability)
        for span, probability in zip(prediction.spans, of_spans, strict=True)
    )
    return replace(prediction, spans=spans, probabilities=tuple(probs))


def gold_paths(
    context: ModelContext, sentences: Sequence[Sentence], mask: Tensor
) -> tuple[Tensor, list[list[bool]]]:
    """Gold tags of sentences as a path each, in the training scheme, and which of them exist.

    Args:
        context: the model.
        sentences: with tags, in the scheme of their corpus.
        mask: (batch, time) bool, True on their tokens.

    Returns:
        (batch, time) int64 on the mask's device, and for each token whether the model knows its
        tag: where it does not, the path has another one.
    """
    ids = {tag: number for number, tag in enumerate(context.vocabulary.tags)}
    learnt = training_scheme(context.config)
    rows = [convert(sentence.tags or (), learnt) for sentence in sentences]
    paths = torch.zeros(mask.shape, dtype=torch.int64)
    for row, tags in enumerate(rows):
        paths[row, : len(tags)] = torch.tensor([ids.get(tag, 0) for tag in tags])
    return paths.to(mask.device), [[tag in ids for tag in tags] for tags in rows]


def stretch_probabilities(
    confidence: PathConfidence,
    known: Sequence[Sequence[bool]],
    stretches: Sequence[Sequence[tuple[int, int]]],
) -> list[list[float]]:
    """How probable the tags of paths are in some stretches; 0 of tags that the model lacks.

    Args:
        confidence: of the paths.
        known: as `gold_paths` returns it.
        stretches: of each sentence: first token, and the token after the last one.

    Raises:
        BundleError: a probability is not a number.
    """
    found = []
    for row, (of_sentence, has) in enumerate(zip(stretches, known, strict=True)):
        probs = confidence.span_probs(row, of_sentence)
        require_number(sum(probs))
        found.append(
            [
                probability if all(has[start:end]) else 0.0
                for (start, end), probability in zip(of_sentence, probs, strict=True)
            ]
        )
    return found


def tag_alternatives(
    context: ModelContext, paths: Tensor, log_probs: Tensor, lengths: Sequence[int]
) -> list[list[Alternative]]:
    """The most probable sequences of tags of each sentence, with their probabilities.

    Args:
        context: the model.
        paths: (batch, count, time) tag ids, from `Head.n_best`.
        log_probs: (batch, count) of these; minus infinity of those that do not exist.
        lengths: number of words in each sentence.
    """
    return alternatives(partial(tags_and_spans, context), paths, log_probs, lengths)


def alternatives(
    read: Callable[[Sequence[int]], tuple[tuple[str, ...], tuple[Span, ...]]],
    paths: Tensor,
    log_probs: Tensor,
    lengths: Sequence[int],
) -> list[list[Alternative]]:
    """As `tag_alternatives`; `read` gives the tags and spans of a path."""
    found = []
    probs = log_probs.exp().tolist()
    for row, length in enumerate(lengths):
        require_number(sum(probs[row]))
        found.append(
            [
                Alternative(*read(path[:length]), probability, log_probability=log_prob)
                for path, log_prob, probability in zip(
                    paths[row].tolist(), log_probs[row].tolist(), probs[row], strict=True
                )
                if log_prob > -math.inf
            ]
        )
    return found
