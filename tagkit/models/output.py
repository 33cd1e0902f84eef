"""The output of a model for a batch, in prediction."""

import math
from dataclasses import dataclass

from torch import Tensor

from tagkit.errors import BundleError
from tagkit.nn.crf.confidence import SpanConfidence


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Predictions of a model for a batch, on the CPU.

    Attributes:
        tag_ids: (batch, time) int64 best paths, 0 on padding; None from a model without tags.
        confidence: of these paths; None unless it was requested.
        class_probs: (batch, classes), 0 to 1; None from a model without classes.
        attention: (batch, time) weight of each token in the text's vector, 0 on padding; sums to 1
            over a text. None unless the pooling is attention.
    """

    # One record for all tasks: what a task does not predict stays None.
    tag_ids: Tensor | None = None
    confidence: SpanConfidence | None = None
    class_probs: Tensor | None = None
    attention: Tensor | None = None


def require_number(value: float) -> None:
    """Raise unless a probability, or a sum of probabilities, is a finite number.

    Raises:
        BundleError: it is not. Every weight was finite when it was loaded, but products of very
            large ones overflow.
    """
    # Called with sums, so that a batch needs one check for each sentence, not for each token.
    if not math.isfinite(value):
        raise BundleError(
            "the model's probabilities are not numbers: its weights are damaged or far out of "
            "range; train it again"
        )
