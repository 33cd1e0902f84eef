"""Recursive neural tensor network: children's states multiply each other (Socher et al. 2013).

    h = tanh(c^T V c + W c + b)      c = [h_l; h_r]

V has a matrix of 2 hidden x 2 hidden for each value of h (section 4.3 there; Goodfellow, Bengio
and Courville, section 10.6). Leaves are those of `TreeRnn`.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.trees.tree_rnn import TreeRnn


class Rntn(TreeRnn):
    """h = tanh(c^T V c + W c + b)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        """`inputs` values of a word's vector, `hidden` ones of a state."""
        super().__init__(inputs, hidden)
        # Small: the sums are of (2 hidden)^2 products, and it begins nearly as `TreeRnn`.
        bound = 1 / (4 * hidden)
        self.tensor = nn.Parameter(torch.empty(hidden, 2 * hidden, 2 * hidden))
        nn.init.uniform_(self.tensor, -bound, bound)

    def scores(self, both: Tensor) -> Tensor:
        """As described in `TreeRnn`."""
        hidden, values, _ = self.tensor.shape
        # c^T V[k] for all k at once: (nodes, values) @ (values, hidden x values)
        left = both @ self.tensor.permute(1, 0, 2).reshape(values, hidden * values)
        # (nodes, hidden, values) * (nodes, 1, values), summed over values
        products = (left.view(-1, hidden, values) * both.unsqueeze(1)).sum(2)
        return products + super().scores(both)
