"""What a model answers in prediction, and how probable that is."""

import math
from dataclasses import dataclass, replace

from torch import Tensor

from tagkit.errors import BundleError
from tagkit.nn.crf.confidence import SpanConfidence
from tagkit.text.records import Prediction, Span

_LARGEST_LOG = (
    700.0  # whose exponential is a number; above 0 only where weights are far out of range
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says of a batch, on the CPU.

    Attributes:
        tag_ids: (batch, time) int64 best paths, 0 on padding; None of a model without tags.
        certainty: of these; None where it was not asked for.
        class_probs: (batch, classes); None of a model without classes.
        attention: (batch, time) share of each token in a text's vector, 0 on padding; None where
            the pooling is another.
    """

    tag_ids: Tensor | None
    certainty: SpanConfidence | None
    class_probs: Tensor | None
    attention: Tensor | None


def with_certainty(prediction: Prediction, certainty: SpanConfidence, row: int) -> Prediction:
    """The prediction with the probabilities of its tags and spans."""
    length = len(prediction.words)
    probs = certainty.probs[row, :length].tolist()
    steps = certainty.step_log_probs[row, :length].tolist()
    continued = certainty.continuation_prob[row, :length].tolist()

    require_number(sum(probs))

    def sure(span: Span) -> Span:
        within = math.exp(min(sum(steps[span.start + 1 : span.end]), _LARGEST_LOG))
        probability = float(probs[span.start] * within * (1 - continued[span.end - 1]))
        require_number(probability)
        return replace(span, probability=probability)

    spans = tuple(sure(span) for span in prediction.spans)
    return replace(prediction, spans=spans, probabilities=tuple(probs))


def require_number(value: float) -> None:
    """Raise where what a model says is not a finite number.

    Raises:
        BundleError: it is not; finite weights far out of range do that.
    """
    if not math.isfinite(value):
        raise BundleError(
            "the model's probabilities are not numbers: its weights are damaged or far out of "
            "range; train it again"
        )
