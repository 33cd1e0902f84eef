"""Inputs and outputs of a model in prediction, and the confidence of its paths."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.errors import BundleError
from tagkit.nn.crf.chain import Chain, forward_backward, step_log_probs
from tagkit.nn.inference import RowReader


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure the model is of best paths.

    Attributes:
        probs: (batch, time) marginal probability of each token's tag.
        step_log_probs: (batch, time) log P(tag | tag before, sentence), the first column
            log P(tag | sentence): summed over a stretch behind its first token's `probs`, the
            probability of just these tags there.
        goes_on: (batch, time) probability that the next token continues this token's span, given
            this tag; 0 at the last token and where the tag itself says where its span ends.
    """

    probs: Tensor
    step_log_probs: Tensor
    goes_on: Tensor


@dataclass(frozen=True, slots=True)
class Table:
    """Distinct words as a model sees them.

    Attributes:
        vectors: (words, features).
        readers: of the encoder's layers, as `Encoder.readers` gives them; none where rows are not
            to be read (on a GPU).
        projected: (words, outputs of the first reader), empty without one.
        features: tables of the feature columns, projected likewise.
    """

    vectors: Tensor
    readers: Sequence[RowReader]
    projected: Tensor
    features: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Predictions of a model for a batch, on the CPU.

    Attributes:
        tag_ids: (batch, time) int64 best paths, 0 on padding; None from a model without tags.
        certainty: of these paths; None unless it was asked for.
        class_probs: (batch, classes), 0 to 1; None from a model without classes.
        attention: (batch, time) weight of each token in the text's vector, 0 on padding; sums to 1
            over a text. None if the pooling is not attention.
    """

    # One record for all tasks: what a task does not predict stays None.
    tag_ids: Tensor | None = None
    certainty: Certainty | None = None
    class_probs: Tensor | None = None
    attention: Tensor | None = None


def certainty_of(chain: Chain, tag_ids: Tensor, continuation: Tensor) -> Certainty:
    """How sure paths are.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64 paths.
        continuation: (tags,) id of the tag that continues each tag's span, or -1.
    """
    messages = forward_backward(chain)
    chosen = tag_ids.unsqueeze(2)
    log_probs = (messages.alpha.gather(2, chosen) + messages.beta.gather(2, chosen)).squeeze(
        2
    ) - messages.log_partition.unsqueeze(1)
    steps = step_log_probs(chain, messages, tag_ids)  # (batch, time - 1, next tag)
    taken = steps.gather(2, tag_ids[:, 1:].unsqueeze(2)).squeeze(2)
    next_id = continuation[tag_ids[:, :-1]]
    going = steps.gather(2, next_id.clamp(min=0).unsqueeze(2)).squeeze(2).exp()
    within = chain.mask[:, 1:] & (next_id >= 0)
    nothing = torch.zeros_like(log_probs[:, :1])
    return Certainty(
        probs=log_probs.exp().clamp(max=1),
        step_log_probs=torch.cat((log_probs[:, :1], taken), dim=1),
        goes_on=torch.cat((going.masked_fill(~within, 0), nothing), dim=1).clamp(max=1),
    )


def require_number(value: float) -> None:
    """Raise unless a probability, or a sum of some, is a finite number.

    Raises:
        BundleError: it is not. Every weight was finite on loading, but products of very large
            ones overflow.
    """
    # Called with sums, so that a batch needs one check for each sentence, not for each token.
    if not math.isfinite(value):
        raise BundleError(
            "the model's probabilities are not numbers: its weights are damaged or far out of "
            "range; train it again"
        )
