"""The softmax head: each token's tag by itself.

    p(y | x) = product over t of p(y[t] | x),  p(. | x) at t = softmax(W h[t] + b)

Jurafsky and Martin, "RNNs and LSTMs", section on sequence labeling. The loss is the cross-entropy
of each token (Goodfellow et al. 2016, section 6.2.2.3).
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain
from tagkit.nn.heads.tagging import ChainHead, StepScores


class SoftmaxHead(ChainHead):
    """Each token's tag by itself."""

    name: ClassVar[str] = "softmax"
    constrained_by_default: ClassVar[bool] = False

    def _chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Log probabilities of each token, and steps that are free or forbidden."""
        # (batch, time, inputs) -> (batch, time, tags). Normalised already: without constraints the
        # chain's log-partition is 0, and its marginals are the softmax.
        log_probs = torch.log_softmax(self.linear(states), dim=2)
        # A single 0 for all: it broadcasts to (tags, tags) and (tags,) where steps are forbidden.
        free = log_probs.new_zeros(())
        return self._constrained(log_probs, mask, StepScores(free, free, free))

    def _loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy, summed over tokens, and their number."""
        # (batch, time, inputs) -> (tokens, inputs) -> (tokens, tags): padding costs no product, and
        # no NaN there reaches a gradient.
        scores = self.linear(states[mask])
        # - sum over tokens of w[y] log p(y | x)
        total = nn.functional.cross_entropy(
            scores, targets[mask], weight=self.tag_weights, reduction="sum"
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
        best: Tensor = self.linear(states).argmax(2)
        return best.masked_fill(~mask, 0)
