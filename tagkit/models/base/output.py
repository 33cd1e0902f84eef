"""The output of a model for a batch, in prediction."""

import math
from dataclasses import dataclass

from torch import Tensor

from tagkit.errors import BundleError
from tagkit.nn.crf.confidence import PathConfidence


@dataclass(frozen=True, slots=True)
class ColumnOutput:
    """Predictions for one of several tag columns, on the CPU.

    Attributes:
        ids: (batch, time) int64 labels, or (batch, time, parts) of values with several parts; 0 on
            padding.
        confidence: of paths of tags; None of other values, and unless it was requested.
        scores: (batch, time, labels) of each label, where the best one may not fit the word; None
            elsewhere.
        label_probs: (batch, time, labels) probabilities of the same; None unless it was requested.
        probs: (batch, time) probability of the ids; None unless it was requested, and of tags.
    """

    ids: Tensor
    confidence: PathConfidence | None = None
    scores: Tensor | None = None
    label_probs: Tensor | None = None
    probs: Tensor | None = None


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Predictions of a model for a batch, on the CPU.

    Attributes:
        tag_ids: (batch, time) int64 best paths, 0 on padding; None from a model without tags.
        confidence: of these paths; None unless it was requested.
        class_probs: (batch, classes), 0 to 1, as they are shown; None from a model without
            classes.
        raw_class_probs: the same without a temperature, by which classes are chosen.
        attention: (batch, time) weight of each token in the text's vector, 0 on padding; sums to 1
            over a text. None unless the pooling is attention.
        node_probs: (batch, nodes, classes) of a tree's nodes, as `nn/trees/encoder.py` orders them;
            None of models that read no trees.
        columns: of each tag column, of a model of several.
    """

    # One record for all tasks: what a task does not predict stays None.
    tag_ids: Tensor | None = None
    confidence: PathConfidence | None = None
    class_probs: Tensor | None = None
    raw_class_probs: Tensor | None = None
    attention: Tensor | None = None
    columns: tuple[ColumnOutput, ...] = ()
    node_probs: Tensor | None = None


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
