"""What a model says of a batch in prediction."""

import math
from dataclasses import dataclass

from torch import Tensor

from tagkit.errors import BundleError
from tagkit.nn.crf.confidence import SpanConfidence


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """What a model says of a batch, on the CPU.

    Attributes:
        tag_ids: (batch, time) int64 best paths, 0 on padding; None of a model without tags.
        confidence: probabilities of these paths; None where they were not asked for.
        class_probs: (batch, classes); None of a model without classes.
        attention: (batch, time) share of each token in a text's vector, 0 on padding; None where
            the pooling is another.
    """

    tag_ids: Tensor | None = None
    confidence: SpanConfidence | None = None
    class_probs: Tensor | None = None
    attention: Tensor | None = None


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
