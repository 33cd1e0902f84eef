"""Paths of tag ids -> tags and spans with their probabilities, and the n best paths.

A model predicts in the training scheme; the tags of a prediction are in the scheme of the training
corpus. The spans are the same in both.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from tagkit.models.output import ModelOutput, require_number
from tagkit.models.task import ModelContext
from tagkit.nn.crf.confidence import PathConfidence
from tagkit.text.records import Alternative, Prediction, Sentence, Span
from tagkit.text.schemes import from_spans, has_spans, to_spans


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
    spans = to_spans(tags)
    return from_spans(spans, len(tags), scheme), spans


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
    of_rows = zip(paths.tolist(), log_probs.exp().tolist(), lengths, strict=True)
    for row, probs, length in of_rows:
        require_number(sum(probs))
        found.append(
            [
                Alternative(*read(path[:length]), probability)
                for path, probability in zip(row, probs, strict=True)
                if probability > 0
            ]
        )
    return found
