"""Paths of tag ids -> tags and spans with their probabilities, and the n best paths.

A model predicts in the training scheme; the tags of a prediction are in the scheme of the training
corpus. The spans are the same in both.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from tagkit.models.output import ModelOutput, require_number
from tagkit.models.task import ModelContext
from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.confidence import SpanConfidence
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.text.records import Alternative, Prediction, Sentence, Span
from tagkit.text.schemes import from_spans, has_spans, to_spans

# exp(700) is about 1e304, still a float64; math.exp raises OverflowError from 710 on. Only weights
# far out of range give log probabilities above 0, and `require_number` reports those.
_MAX_LOG_PROB = 700.0


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


def with_probabilities(prediction: Prediction, confidence: SpanConfidence, row: int) -> Prediction:
    """The prediction with the probabilities of its tags and spans.

    A span's probability is that of all sequences of tags that have exactly this span.

    Raises:
        BundleError: a probability is not a number.
    """
    length = len(prediction.words)
    probs = confidence.probs[row, :length].tolist()
    steps = confidence.step_log_probs[row, :length].tolist()
    continued = confidence.continuation_prob[row, :length].tolist()
    require_number(sum(probs))  # the sum is NaN or infinite if one of them is

    def with_probability(span: Span) -> Span:
        # P(first tag) x P(each further tag | the tag before) x P(the span ends here): given the
        # sentence, the tags of a linear chain are a Markov chain.
        within = math.exp(min(sum(steps[span.start + 1 : span.end]), _MAX_LOG_PROB))
        probability = float(probs[span.start] * within * (1 - continued[span.end - 1]))
        require_number(probability)
        return replace(span, probability=probability)

    spans = tuple(with_probability(span) for span in prediction.spans)
    return replace(prediction, spans=spans, probabilities=tuple(probs))


def tag_alternatives(
    context: ModelContext,
    scores: Chain,
    lengths: Sequence[int],
    count: int,
    temperature: float = UNCALIBRATED,
) -> list[list[Alternative]]:
    """The most probable sequences of tags of each sentence, with their probabilities.

    Args:
        context: the model.
        scores: of all paths, on the CPU.
        lengths: number of words in each sentence.
        count: number of sequences; a short sentence may have fewer.
        temperature: of the head, for the probabilities; the order is that of the scores.
    """
    return alternatives(partial(tags_and_spans, context), scores, lengths, count, temperature)


def alternatives(
    read: Callable[[Sequence[int]], tuple[tuple[str, ...], tuple[Span, ...]]],
    scores: Chain,
    lengths: Sequence[int],
    count: int,
    temperature: float = UNCALIBRATED,
) -> list[list[Alternative]]:
    """As `tag_alternatives`; `read` gives the tags and spans of a path."""
    paths, path_scores = n_best(scores, count)  # (batch, count, time), (batch, count)
    raw = calibrated = _path_probs(scores, path_scores)
    if temperature != UNCALIBRATED:
        calibrated = _path_probs(scores.at_temperature(temperature), path_scores / temperature)
    probs, exists = calibrated.tolist(), (raw > 0).tolist()
    found = []
    for row, length in enumerate(lengths):
        require_number(sum(probs[row]))
        found.append(
            [
                Alternative(*read(path[:length]), probability)
                for path, probability, is_path in zip(
                    paths[row].tolist(), probs[row], exists[row], strict=True
                )
                if is_path
            ]
        )
    return found


def _path_probs(scores: Chain, path_scores: Tensor) -> Tensor:
    """(batch, count) probabilities of paths with these scores; 0 of paths that do not exist."""
    # log P(path) = score - log Z; paths that do not exist score -inf. In float64, as the difference
    # of two large numbers loses digits.
    return (path_scores - log_partition(scores).double().unsqueeze(1)).exp()
