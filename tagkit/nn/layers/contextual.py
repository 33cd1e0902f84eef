"""Inputs of each token that depend on the sentence around it: states of language models."""

from torch import Tensor, nn


class ContextualInput(nn.Module):
    """States of language models as inputs of the encoder: as they are, or projected.

    Attributes:
        outputs: features of each token.
    """

    def __init__(self, *, inputs: int, dim: int) -> None:
        """`inputs`: values of each token; `dim` to project them to, 0 for none."""
        super().__init__()
        # No bias: padding stays zero, and the encoder's own bias serves.
        self.projection = nn.Linear(inputs, dim, bias=False) if dim else None
        self.outputs = dim or inputs

    def forward(self, states: Tensor) -> Tensor:
        """(batch, time, inputs) -> (batch, time, outputs); zero stays zero."""
        if self.projection is None:
            return states
        projected: Tensor = self.projection(states)
        return projected
