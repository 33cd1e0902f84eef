"""Paths of tag ids -> tags and spans with their probabilities, and the n best paths.

A model predicts in the training scheme; a prediction's tags are in the scheme of the corpus that
it learnt from, and its spans are the same in both.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from tagkit.config import training_scheme
from tagkit.models.output import ModelOutput, require_number
from tagkit.models.task import ModelContext
from tagkit.nn.crf.confidence import SpanConfidence
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.heads.tagging import Head
from tagkit.text.records import Alternative, Prediction, Sentence, Span
from tagkit.text.schemes import from_spans, has_spans, to_spans

# Its exponential is still a number; log probabilities are above 0 only where weights are far out
# of range.
_LARGEST_LOG = 700.0


def tag_predictions(
    context: ModelContext, output: ModelOutput, sentences: Sequence[Sentence]
) -> list[Prediction]:
    """Tags and spans of a batch's sentences, with probabilities where the output has them."""
    assert output.tag_ids is not None
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
    """A path of tag ids as tags in the scheme of the training corpus, and the spans they mean."""
    tags = tuple(context.vocabulary.tags[number] for number in path)
    if not has_spans(training_scheme(context.config)):
        return tags, ()
    # The model predicts in the training scheme, users read their own.
    spans = to_spans(tags)
    return from_spans(spans, len(tags), context.config.data.scheme), spans


def with_probabilities(prediction: Prediction, confidence: SpanConfidence, row: int) -> Prediction:
    """The prediction with the probabilities of its tags and spans.

    Raises:
        BundleError: one is not a number.
    """
    length = len(prediction.words)
    probs = confidence.probs[row, :length].tolist()
    steps = confidence.step_log_probs[row, :length].tolist()
    continued = confidence.continuation_prob[row, :length].tolist()
    require_number(sum(probs))

    def with_probability(span: Span) -> Span:
        # p(first tag) x p(each further tag | the one before) x p(the span ends here)
        within = math.exp(min(sum(steps[span.start + 1 : span.end]), _LARGEST_LOG))
        probability = float(probs[span.start] * within * (1 - continued[span.end - 1]))
        require_number(probability)
        return replace(span, probability=probability)

    spans = tuple(with_probability(span) for span in prediction.spans)
    return replace(prediction, spans=spans, probabilities=tuple(probs))


def tag_alternatives(
    context: ModelContext,
    head: Head,
    states: Tensor,
    mask: Tensor,
    lengths: Sequence[int],
    count: int,
) -> list[list[Alternative]]:
    """The likeliest sequences of tags of each sentence with their probabilities.

    Args:
        context: the model.
        head: of its tags.
        states: (batch, time, hidden).
        mask: (batch, time) bool, True on real tokens.
        lengths: words of each sentence.
        count: of sequences; a short sentence may have fewer.
    """
    scores = head.chain(states, mask).cpu()
    paths, path_scores = n_best(scores, count)  # (batch, count, time), (batch, count)
    # A path's log probability is its score minus the log partition; absent paths score -inf.
    probs = (path_scores - log_partition(scores).double().unsqueeze(1)).exp().tolist()
    found = []
    for row, length in enumerate(lengths):
        require_number(sum(probs[row]))
        found.append(
            [
                Alternative(*tags_and_spans(context, path[:length]), probability)
                for path, probability in zip(paths[row].tolist(), probs[row], strict=True)
                if probability > 0
            ]
        )
    return found
