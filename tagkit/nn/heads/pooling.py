"""From the states of a text's tokens to one vector: what a classifier looks at.

    last       the state behind the last token of each direction: the last forward and the first
               backward one (Jurafsky and Martin, "RNNs and LSTMs", section on RNNs for sequence
               classification; Goodfellow, Bengio and Courville, section 10.2, fig. 10.5)
    mean       the mean of the states (Jurafsky and Martin, eq. 13.15)
    max        the largest value of each feature (the same section)
    mean+max   both, side by side
    attention  sum of a[t] h[t], a = softmax over t of q . tanh(W h[t] + b), q one learned query
               (Yang et al. 2016, eqs. 5-7)

What stands on padding has no part in any of them.
"""

import torch
from torch import Tensor, nn

POOLINGS = ("last", "mean", "max", "mean+max", "attention")


class Pooling(nn.Module):
    """States of a text as one vector."""

    def __init__(self, *, kind: str, inputs: int) -> None:
        """`kind` is one of `POOLINGS`; `inputs` features of each state."""
        super().__init__()
        if kind not in POOLINGS:
            raise ValueError(f"pooling {kind!r}: expected one of {', '.join(POOLINGS)}")
        self.kind = kind
        self.outputs = 2 * inputs if kind == "mean+max" else inputs
        if kind == "attention":
            self.keys = nn.Linear(inputs, inputs)
            self.query = nn.Linear(inputs, 1, bias=False)

    def forward(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """One vector a text, and what share of it each token has where that is attention.

        Args:
            states: (batch, time, inputs); what stands on padding has no effect.
            final: (batch, inputs) the last states of the directions, merged.
            mask: (batch, time) bool, True on real tokens; True throughout column 0.

        Returns:
            (batch, outputs), and (batch, time) with 0 on padding, or None.
        """
        match self.kind:
            case "last":
                return final, None
            case "mean":
                return _mean(states, mask), None
            case "max":
                return _max(states, mask), None
            case "mean+max":
                return torch.cat((_mean(states, mask), _max(states, mask)), dim=1), None
        blanked = _blank(states, mask)
        scores: Tensor = self.query(torch.tanh(self.keys(blanked))).squeeze(2)
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
        return (weights.unsqueeze(1) @ blanked).squeeze(1), weights


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    return _blank(states, mask).sum(1) / mask.sum(1, keepdim=True)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(1)


def _blank(states: Tensor, mask: Tensor) -> Tensor:
    return states.masked_fill(~mask.unsqueeze(2), 0)
