"""The softmax head: each token's tag by itself.

    p(y | x) = product over t of p(y[t] | x),  p(. | x) at t = softmax(W h[t] + b)

Jurafsky and Martin, "RNNs and LSTMs", section on sequence labeling. The loss is the cross-entropy
of each token (Goodfellow et al. 2016, section 6.2.2.3).
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain
from tagkit.nn.heads.tag_space import StepScores
from tagkit.nn.heads.tagging import ChainHead
from tagkit.nn.padding import weight_of_tokens


class SoftmaxHead(ChainHead):
    """Each token's tag by itself."""

    constrained_by_default: ClassVar[bool] = False

    def _chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Log probabilities of each token, and steps that are free or forbidden."""
        # (batch, time, inputs) -> (batch, time, tags). Normalised already: without constraints the
        # chain's log-partition is 0, and its marginals are the softmax.
        log_probs = torch.log_softmax(self.emissions(states), dim=2)
        # A single 0 for all: it broadcasts to (tags, tags) and (tags,) where steps are forbidden.
        free = log_probs.new_zeros(())
        return self._constrained(log_probs, mask, StepScores(free, free, free))

    def _loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy, summed over tokens, and their number."""
        # (batch, time, inputs) -> (tokens, inputs) -> (tokens, tags): padding costs no product, and
        # no NaN there reaches a gradient.
        scores = self.emissions(states[mask])
        # - sum over tokens of w[y] log p(y | x)
        total = weighted_cross_entropy(
            scores,
            targets[mask],
            self.tag_weights,
            None if weights is None else weight_of_tokens(weights, mask),
        )
        return total, mask.sum()

    def _decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best tag of each token; a best path only where steps are forbidden."""
        # All three: with the tags B and I alone every transition is legal, but no sentence begins
        # with I.
        steps = (self.illegal_transitions, self.illegal_start, self.illegal_end)
        if any(bool(torch.isinf(scores).any()) for scores in steps):
            return super()._decode(states, mask)
        # (batch, time, tags) -> (batch, time). No softmax: it changes no order.
        best = self.emissions(states).argmax(2)
        return best.masked_fill(~mask, 0)


def weighted_cross_entropy(
    scores: Tensor, targets: Tensor, class_weights: Tensor | None, weights: Tensor | None
) -> Tensor:
    """Cross-entropy in nats, summed over rows.

    Args:
        scores: (rows, classes) unnormalised.
        targets: (rows,) int64 gold classes, or (rows, classes) shares of them.
        class_weights: (classes,) of the gold classes; None where all weigh the same.
        weights: (rows,) of the rows; None where all weigh the same.
    """
    entropy = nn.functional.cross_entropy
    if weights is None:
        return entropy(scores, targets, class_weights, reduction="sum")
    # (rows,) * (rows,), summed
    return (entropy(scores, targets, class_weights, reduction="none") * weights).sum()
