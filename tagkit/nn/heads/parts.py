"""The head of values with several parts: a softmax over the labels of each part, side by side.

    p(y | x) = product over tokens t and parts k of p(y[t, k] | x)
    p(. | x) at t, k = softmax(W_k h[t] + b_k)

FEATS of Universal Dependencies is such a value: each attribute, as Number or Case, is a part, and
one of its labels is that the word has no such attribute. A value with one part is the softmax head
of a tagger (Jurafsky and Martin, "RNNs and LSTMs", section on sequence labeling).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.heads.softmax import weighted_cross_entropy
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.padding import check_states, weight_of_tokens
from tagkit.nn.recurrence.weights import fresh_linear


class PartsHead(nn.Module):
    """A softmax over the labels of each part, by one linear layer for all of them.

    Attributes:
        temperature: as of `Head`.
    """

    temperature: float = UNCALIBRATED

    def __init__(self, inputs: int, sizes: Sequence[int]) -> None:
        """`inputs` features of a hidden state; `sizes`: number of labels of each part."""
        super().__init__()
        self.sizes = list(sizes)
        # One product for all parts, (batch, time, inputs) -> (batch, time, labels of all parts):
        # a treebank has up to fifty attributes of a few values each.
        self.linear = fresh_linear(inputs, sum(self.sizes))

    def forward(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy in nats, summed over parts and tokens, and the number of tokens.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens, padding on the right.
            targets: (batch, time, parts) int64 label ids; any valid id on padding.
            weights: (batch,) factor of each sentence's loss; None where all weigh the same.
        """
        # Only real tokens: padding costs no product, and no NaN there reaches a gradient.
        # (tokens, inputs) -> (tokens, labels of all parts) -> (tokens, size) of each part
        scores = torch.split(self.linear(states[mask]), self.sizes, dim=1)
        gold = targets[mask]  # (tokens, parts)
        of_tokens = None if weights is None else weight_of_tokens(weights, mask)
        losses = [
            weighted_cross_entropy(each, gold[:, part], None, of_tokens)
            for part, each in enumerate(scores)
        ]
        return torch.stack(losses).sum(), mask.sum()

    def scores(self, states: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Scores of the labels of each part, (batch, time, size), unnormalised; 0 on padding.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens, padding on the right.

        Raises:
            ValueError: `states` or `mask` has another shape or dtype, or the mask a hole.
        """
        check_states(states, mask, self.linear.in_features)
        # (batch, time, inputs) -> (batch, time, labels of all parts). Filled, as padding may hold
        # NaN.
        scores: Tensor = self.linear(states).masked_fill(~mask.unsqueeze(2), 0)
        return torch.split(scores, self.sizes, dim=2)
